"""Curves of rates pass through the tables' values, and the floor is the one that is certified."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from memfoil import figures
from memfoil.figures import style
from memfoil.figures.rates import certifiable

HELD_OUT, POST_CUTOFF = (style.CONTROLS[name][0] for name in ("held-out", "post-cutoff"))
PLANTED = style.CANDIDATES[0]


def curves(axes, color):
    """(x, y) of every line of one colour that has points."""
    lines = [line for line in axes.lines if to_hex(line.get_color()).upper() == color]
    return [np.array(line.get_data(), dtype=float) for line in lines if len(line.get_xdata())]


def passes_through(axes, color, x, y):
    """Whether some line of this colour has a vertex at (x, y)."""
    return any(
        (np.isclose(xs, x, rtol=1e-9) & np.isclose(ys, y, rtol=1e-9, atol=1e-12)).any()
        for xs, ys in curves(axes, color)
    )


def greedy_tables(matches: dict[str, dict[int, int]], n: int):
    """SCORES and SEQUENCES of n passages per pool, the first few of which match."""
    scores, sequences = [], []
    for pool, by_length in matches.items():
        names = [f"{pool} {i}" for i in range(n)]
        role = "candidate" if pool == "wikipedia 2021" else "control"
        sequences.append(pd.DataFrame({"sequence_id": names, "pool": pool, "role": role}))
        for length, count in by_length.items():
            values = np.where(np.arange(n) < count, 0.0, -np.inf)
            columns = {"sequence_id": names, "suffix_tokens": length, "log_score": values}
            scores.append(pd.DataFrame(columns).assign(procedure="greedy"))
    return pd.concat(scores, ignore_index=True), pd.concat(sequences, ignore_index=True)


def test_greedy_rates_and_floor_of_the_published_wikipedia_pools():
    # 10 tokens: 377 of 5000 members, 91 controls match, floor 92/5001; 50 tokens: 37, 1, 2/5001.
    scores, sequences = greedy_tables(
        {"wikipedia 2021": {10: 377, 50: 37}, "wikipedia 2024": {10: 91, 50: 1}}, 5000
    )
    panel = figures.greedy_rates(scores, sequences).axes[0]
    control = style.OTHER_CONTROLS[0][0]
    assert passes_through(panel, PLANTED, 10, 0.0754)
    assert passes_through(panel, PLANTED, 50, 0.0074)
    assert passes_through(panel, control, 10, 0.0182)
    assert passes_through(panel, control, 10, 92 / 5001)
    assert passes_through(panel, control, 50, 2 / 5001)
    assert any("floor 0.04%" in text.get_text() for text in panel.texts)


def test_greedy_floor_falls_when_matching_controls_are_found_in_the_training_text():
    scores, sequences = greedy_tables({"wikipedia 2021": {10: 9}, "held-out": {10: 4}}, 100)
    members = pd.DataFrame({"sequence_id": ["held-out 0", "held-out 1"], "member": True})
    drawn = figures.greedy_rates(scores, sequences).axes[0]
    clean = figures.greedy_rates(scores, sequences, members).axes[0]
    assert passes_through(drawn, HELD_OUT, 10, 5 / 101)
    assert passes_through(clean, HELD_OUT, 10, 3 / 99)
    assert not passes_through(clean, HELD_OUT, 10, 5 / 101)


def test_a_candidate_is_never_taken_out_by_the_contamination_table():
    scores, sequences = greedy_tables({"wikipedia 2021": {10: 9}, "held-out": {10: 4}}, 100)
    members = pd.DataFrame({"sequence_id": ["wikipedia 2021 0"], "member": True})
    assert passes_through(
        figures.greedy_rates(scores, sequences, members).axes[0], PLANTED, 10, 0.09
    )


@pytest.mark.parametrize("pool", ["held-out", "post-cutoff"])
def test_operating_points_pass_through_every_certifiable_row(run, pool):
    figure = figures.operating_points(
        run.operating_points, procedure="base", suffix_tokens=(10, 50), decontaminated=True
    )
    rows = run.operating_points.query(
        "procedure == 'base' and decontaminated and stratum == 'seen once'"
        " and suffix_tokens == 50 and control_pool == @pool"
    )
    assert len(rows) > 15
    panel = figure.axes[3]  # second row: seen once; second column: 50 tokens
    for row in rows.itertuples():
        assert passes_through(panel, style.CONTROLS[pool][0], row.alpha_n, row.calibrated_rate)


def test_certifiable_rows_end_where_the_threshold_reaches_zero():
    # K = 0; a control scores 1; two thresholds; then the atom, from which more K change nothing.
    rows = pd.DataFrame(
        {
            "alpha_n": [0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06],
            "log_tau": [np.inf, 0.0, -1.5, -9.0, -np.inf, -np.inf, -np.inf],
        }
    )
    assert list(certifiable(rows)["alpha_n"]) == [0.02, 0.03, 0.04]


def test_greedy_has_one_operating_point_and_it_is_the_floor(run):
    rows = run.operating_points.query(
        "procedure == 'greedy' and suffix_tokens == 50 and stratum == 'planted'"
        " and control_pool == 'post-cutoff' and not decontaminated"
    )
    matching = run.scores.merge(run.sequences).query(
        "procedure == 'greedy' and suffix_tokens == 50 and pool == 'post-cutoff' and log_score == 0"
    )
    kept = certifiable(rows)
    assert len(kept) == 1
    n = kept["n_controls"].iloc[0]
    assert kept["alpha_n"].iloc[0] == pytest.approx((1 + len(matching)) / (n + 1))


def test_suffix_sweep_shows_raw_and_calibrated_rates_of_both_pools(run):
    figure = figures.suffix_sweep(
        run.rates, procedure="base", alphas=(0.01, 0.1), decontaminated=True
    )
    rows = run.rates.query(
        "procedure == 'base' and decontaminated and alpha == 0.1 and stratum == 'planted'"
    )
    panel = figure.axes[1]
    for row in rows.itertuples():
        color = style.CONTROLS[row.control_pool][0]
        assert passes_through(panel, color, row.suffix_tokens, row.generation_rate)
        assert passes_through(panel, color, row.suffix_tokens, row.calibrated_rate)
    assert {HELD_OUT, POST_CUTOFF} == {style.CONTROLS[name][0] for name in rows["control_pool"]}


def test_a_rate_that_too_few_controls_cannot_certify_is_put_in_words(small_run):
    figure = figures.suffix_sweep(
        small_run.rates, procedure="base", alphas=(0.001, 0.1), decontaminated=False
    )
    assert not curves(figure.axes[0], HELD_OUT)
    words = " ".join(text.get_text() for text in figure.axes[0].texts)
    assert "60 controls certify\n1.639% at the least" in words  # 1/61


def test_repetitions_show_claims_with_clopper_pearson_intervals(run):
    figure = figures.repetitions(run.rates, suffix_tokens=(50,), alpha=0.01, decontaminated=True)
    rows = run.rates.query(
        "decontaminated and alpha == 0.01 and suffix_tokens == 50 and procedure == 'base'"
        " and control_pool == 'held-out' and stratum.str.startswith('repetitions')"
    )
    panel = figure.axes[0]
    assert [label.get_text().split("\n")[0] for label in figure.axes[-1].get_xticklabels()] == [
        "1", "2", "4", "8", "16", "32", "64",
    ]  # fmt: skip
    bars = next(
        box for box in panel.containers
        if to_hex(box.lines[0].get_color()).upper() == style.BASE[0]
    )  # fmt: skip
    ordered = rows.assign(n=rows["stratum"].str.split().str[-1].astype(int)).sort_values("n")
    assert np.allclose(bars.lines[0].get_ydata(), ordered["generation_rate"])
    ends = np.array([segment[:, 1] for segment in bars.lines[2][0].get_segments()])
    assert np.allclose(ends, ordered[["generation_low", "generation_high"]])


def test_repetitions_say_when_greedy_cannot_be_certified(run):
    # Where a control matches greedily and K = 1, no score exceeds the threshold.
    rates = run.rates.copy()
    greedy = rates["procedure"] == "greedy"
    rates.loc[greedy, "log_tau"] = 0.0
    rates.loc[greedy, ["n_claims", "generation_rate"]] = 0
    figure = figures.repetitions(rates, suffix_tokens=(50,), alpha=0.01, decontaminated=True)
    assert any("greedy: nothing can be claimed" in text.get_text() for text in figure.axes[0].texts)
    assert not curves(figure.axes[0], style.GREEDY[0])
