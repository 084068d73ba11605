"""Margins and budgets count what the claims table says."""

from __future__ import annotations

import itertools

import matplotlib.style
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex

from memfoil import figures
from memfoil.figures import style
from memfoil.figures.claims import coverage, margin_curve
from memfoil.stats.budgets import chance

LN_10 = np.log(10)


@settings(max_examples=60, deadline=None)
@given(
    scores=st.lists(st.one_of(st.just(-np.inf), st.floats(-200, 0)), min_size=1, max_size=40),
    log_tau=st.floats(-200, 0),
    delta=st.floats(0, 50),
)
def test_the_margin_curve_counts_claims_under_a_raised_threshold(scores, log_tau, delta):
    scores = np.array(scores)
    margin = np.where(np.isfinite(scores), (scores - log_tau) / LN_10, np.nan)
    x, y = margin_curve(pd.DataFrame({"margin": margin}))
    drawn = y[np.searchsorted(x, delta, side="right") - 1]
    assert drawn == pytest.approx(np.mean(np.nan_to_num(margin, nan=-1.0) > delta))


def test_at_no_margin_the_curve_is_the_share_claimed(run):
    figure = figures.margin(
        run.claims, run.sequences, procedure="base", suffix_tokens=(10, 50), alpha=0.01,
        decontaminated=True,
    )  # fmt: skip
    rates = run.rates.query(
        "procedure == 'base' and decontaminated and alpha == 0.01 and suffix_tokens == 50"
    )
    for panel, stratum in ((figure.axes[1], "planted"), (figure.axes[3], "seen once")):
        for pool in ("held-out", "post-cutoff"):
            row = rates[(rates["stratum"] == stratum) & (rates["control_pool"] == pool)].iloc[0]
            line = next(
                line for line in panel.lines
                if to_hex(line.get_color()).upper() == style.CONTROLS[pool][0]
            )  # fmt: skip
            assert line.get_ydata()[0] == pytest.approx(row["generation_rate"])


@pytest.mark.parametrize("largest", [0.0197, 0.00197, 1.97])
def test_labels_of_small_margins_stand_apart(run, largest):
    claims = run.claims.assign(margin=run.claims["margin"].clip(upper=largest))
    figure = figures.margin(
        claims, run.sequences, procedure="base", suffix_tokens=(10, 50), alpha=0.01,
        decontaminated=True,
    )  # fmt: skip
    with matplotlib.style.context(style.LOOK, after_reset=True):  # as it is saved
        figure.draw_without_rendering()
        for panel in figure.axes[-2:]:
            boxes = [label.get_window_extent() for label in panel.get_xticklabels()]
            for left, right in itertools.pairwise(sorted(boxes, key=lambda box: box.x0)):
                assert left.x1 < right.x0


def test_a_threshold_of_zero_has_no_margin_and_says_so(run):
    figure = figures.margin(
        run.claims, run.sequences, procedure="greedy", suffix_tokens=(50,), alpha=0.01,
        decontaminated=True,
    )  # fmt: skip
    words = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert any("held-out: threshold zero, no margin" in text for text in words)
    assert any("held-out: no claim" in text for text in words)


@settings(max_examples=60, deadline=None)
@given(
    costs=st.lists(st.one_of(st.just(np.inf), st.floats(0, 120)), min_size=1, max_size=40),
    at=st.floats(0, 90),
)
def test_coverage_is_the_share_within_n_queries(costs, at):
    x, y = coverage(np.array(costs), 90.0)
    assert y[np.searchsorted(x, at, side="right") - 1] == pytest.approx(
        np.mean(np.array(costs) <= at)
    )


def budget_figure(run, procedure="base", alpha=0.01):
    return figures.query_budget(
        run.claims, run.scores, run.sequences, procedure=procedure, suffix_tokens=(10, 50),
        alpha=alpha, control_pool="held-out", budget=100_000, success=0.95,
        contamination=run.contamination,
    )  # fmt: skip


def test_the_budget_dot_is_the_tables_verdict(run):
    panel = budget_figure(run).axes[0]
    claims = run.claims.merge(run.sequences[["sequence_id", "pool"]]).query(
        "procedure == 'base' and decontaminated and alpha == 0.01 and suffix_tokens == 10"
        " and control_pool == 'held-out' and pool == 'planted'"
    )
    dot = next(line for line in panel.lines if line.get_marker() == "o")
    assert dot.get_xdata()[0] == 5
    assert dot.get_ydata()[0] == pytest.approx(claims["extractable"].mean())
    # The same from the probabilities: seen at least once in 100,000 samples with 95%.
    again = claims["claimed"] & (chance(claims["log_score"].to_numpy(), 1e5) >= 0.95)
    assert dot.get_ydata()[0] == pytest.approx(again.mean())


def test_controls_within_the_budget_are_counted_without_members(run):
    panel = budget_figure(run).axes[0]
    controls = (
        run.scores.merge(run.sequences)
        .merge(run.contamination, on="sequence_id")
        .query("procedure == 'base' and suffix_tokens == 10 and pool == 'held-out' and not member")[
            "log_score"
        ]
    )
    line = next(
        line for line in panel.lines
        if to_hex(line.get_color()).upper() == style.CONTROLS["held-out"][0]
    )  # fmt: skip
    x, y = line.get_data()
    reached = y[np.searchsorted(x, 8.0, side="right") - 1]
    assert reached == pytest.approx(np.mean(chance(controls.to_numpy(), 1e8) >= 0.95))


def test_a_model_without_claims_says_so(small_run):
    figure = budget_figure(small_run, alpha=0.001)
    assert all(axes.get_title(loc="right") == "no claim" for axes in figure.axes)
    figure = figures.margin(
        small_run.claims, small_run.sequences, procedure="base", suffix_tokens=(50,), alpha=0.001,
        decontaminated=True,
    )  # fmt: skip
    assert all("no claim" in axes.texts[0].get_text() for axes in figure.axes)
