"""Distributions are complete, and thresholds stand where the table says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from memfoil import figures
from memfoil.figures import style
from memfoil.figures.thresholds import realized_rates, tail_curve

HELD_OUT, POST_CUTOFF = (style.CONTROLS[name][0] for name in ("held-out", "post-cutoff"))
LN_10 = np.log(10)
log_scores = st.lists(
    st.one_of(st.just(-np.inf), st.sampled_from([-1.0, -2.0, -40.0]), st.floats(-300, 0)),
    min_size=1,
    max_size=40,
).map(lambda values: np.sort(np.array(values)))


def of_color(axes, color):
    return [line for line in axes.lines if to_hex(line.get_color()).upper() == color]


def tail(run, procedure="base", alpha=0.01, contamination=None):
    return figures.tail_distribution(
        run.scores, run.sequences, run.thresholds, procedure=procedure, suffix_tokens=(10, 50),
        alpha=alpha, contamination=contamination,
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(scores=log_scores, at=st.floats(-310, 0))
def test_the_curve_is_the_share_that_scores_at_least_x(scores, at):
    axes = Figure().subplots()
    tail_curve(axes, scores, {})
    x, y = axes.lines[0].get_data()
    assert axes.lines[0].get_drawstyle() == "steps-pre"
    # Steps before: between two scores the curve has the height of the right one.
    beyond = np.flatnonzero(x * LN_10 >= at - 1e-12)
    drawn = y[beyond[0]] if len(beyond) else 0.0
    assert drawn == pytest.approx(np.mean(scores >= at - 1e-12))


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("pool", ["held-out", "post-cutoff"])
def test_tau_crosses_its_controls_curve_at_k_of_n(run, pool, clean):
    panel = tail(run, contamination=run.contamination if clean else None).axes[1]
    row = run.thresholds.query(
        "control_pool == @pool and decontaminated == @clean and procedure == 'base'"
        " and suffix_tokens == 50 and alpha == 0.01"
    ).iloc[0]
    curve, upright = of_color(panel, style.CONTROLS[pool][0])
    assert upright.get_xdata()[0] == pytest.approx(row["log_tau"] / LN_10)
    x, y = curve.get_data()
    assert y[np.argmin(np.abs(x - row["log_tau"] / LN_10))] == pytest.approx(
        row["k"] / row["n_controls"]
    )


def test_scores_of_zero_are_counted_in_words_and_in_the_share(run):
    panel = tail(run, procedure="top-40").axes[0]
    scores = run.scores.merge(run.sequences).query(
        "procedure == 'top-40' and suffix_tokens == 10 and pool == 'held-out'"
    )["log_score"]
    zero = float(np.isneginf(scores).mean())
    assert zero > 0.5
    words = " ".join(text.get_text() for text in panel.texts).replace("\n", " ")
    assert f"held-out {style.percent(zero)}" in words
    curve = of_color(panel, HELD_OUT)[0]
    assert max(curve.get_ydata()) == pytest.approx(1 - zero)


def test_a_pool_of_zeros_has_no_curve_but_its_words(run):
    panel = tail(run, procedure="top-40").axes[1]
    words = " ".join(text.get_text() for text in panel.texts).replace("\n", " ")
    assert "post-cutoff: 0" in words  # its threshold
    assert "post-cutoff 9" in words or "post-cutoff 100%" in words  # its share of zeros


def test_too_few_controls_have_no_threshold_line(small_run):
    panel = tail(small_run, alpha=0.001).axes[0]
    assert len(of_color(panel, HELD_OUT)) == 1
    assert any("held-out: none, too few controls" in t.get_text() for t in panel.texts)


@settings(max_examples=60, deadline=None)
@given(reference=log_scores, looser=log_scores)
def test_realized_rates_are_counts_above_the_looser_thresholds(reference, looser):
    certified, realized = realized_rates(reference, looser)
    n = len(looser)
    for k in range(1, n + 1):
        tau = sorted(looser, reverse=True)[k - 1]
        assert certified[k - 1] == k / (n + 1)
        assert realized[k - 1] == np.mean([score > tau for score in reference])


def test_looser_controls_show_their_excess_of_false_positives(run):
    figure = figures.control_pools(
        run.scores, run.sequences, run.thresholds, procedure="base", suffix_tokens=(10, 50),
        reference="held-out", looser="post-cutoff", contamination=run.contamination,
    )  # fmt: skip
    reference = (
        run.scores.merge(run.sequences)
        .merge(run.contamination, on="sequence_id")
        .query("procedure == 'base' and suffix_tokens == 50 and pool == 'held-out' and not member")[
            "log_score"
        ]
    )
    row = run.thresholds.query(
        "control_pool == 'post-cutoff' and decontaminated and procedure == 'base'"
        " and suffix_tokens == 50 and alpha == 0.01"
    ).iloc[0]
    rate = float((reference > row["log_tau"]).mean())
    assert rate > row["alpha_n"]  # post-cutoff passages are harder, so their threshold is too low
    above, below = figure.axes[1], figure.axes[3]
    points = [box.lines[0].get_data() for box in below.containers]
    assert any(x[0] == row["alpha_n"] and y[0] == rate for x, y in points)
    assert of_color(above, HELD_OUT)
    assert of_color(above, POST_CUTOFF)


def test_decontamination_shows_each_threshold_before_and_after(run):
    panel = figures.decontamination(run.thresholds, procedure="base", suffix_tokens=(10, 50)).axes[
        1
    ]
    rows = run.thresholds.query("procedure == 'base' and suffix_tokens == 50 and k > 0")
    drawn = {
        (line.get_fillstyle() != "none", round(float(line.get_xdata()[0]), 9))
        for line in panel.lines
        if line.get_marker() == "o" and len(line.get_xdata())
    }
    assert drawn == {
        (bool(row.decontaminated), round(row.log_tau / LN_10, 9)) for row in rows.itertuples()
    }
    before, after = (
        rows.query(f"decontaminated == {clean} and control_pool == 'held-out' and alpha == 0.001")
        for clean in (False, True)
    )
    assert before["log_tau"].iloc[0] > after["log_tau"].iloc[0]


def test_decontamination_names_thresholds_that_are_no_probability(run):
    panel = figures.decontamination(run.thresholds, procedure="greedy", suffix_tokens=(50,)).axes[0]
    words = [text.get_text() for text in panel.texts]
    assert "zero" in words
    assert "none, too few controls" in words  # 840 post-cutoff controls at 0.1%


def test_only_one_pool_of_controls(run):
    only = run.thresholds.query("control_pool == 'held-out'")
    sequences = run.sequences.query("pool != 'post-cutoff'")
    figure = figures.control_pools(
        run.scores, sequences, only, procedure="base", suffix_tokens=(50,),
        reference="held-out", looser="post-cutoff",
    )  # fmt: skip
    assert any("needs scores of both pools" in text.get_text() for text in figure.axes[1].texts)


def test_no_ring_is_cut_off_where_all_thresholds_lie_close(run):
    close = run.thresholds.assign(log_tau=-30 + 1e-5 * np.arange(len(run.thresholds)))
    figure = figures.decontamination(close, procedure="base", suffix_tokens=(10, 50))
    figure.draw_without_rendering()
    for panel in figure.axes:
        rings = [line for line in panel.lines if line.get_marker() == "o"]
        assert rings
        for ring in rings:
            assert ring.get_window_extent().x1 <= panel.get_window_extent().x1
