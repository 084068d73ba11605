"""The checks show measured rates against the law they must follow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, betabinom

from memfoil import figures
from memfoil.figures.checks import mean_ratios


def law_panel(run, alpha=0.02):
    return figures.validity(run.validity, procedure="base", suffix_tokens=50, alpha=alpha).axes[1]


def test_mean_realized_over_certified_is_one_for_distinct_scores(run):
    base = run.validity[run.validity["procedure"] == "base"]
    for pool in ("held-out", "post-cutoff"):
        ratios = mean_ratios(base[base["control_pool"] == pool])
        assert len(ratios) >= 9
        assert (np.abs(ratios["ratio"] - 1) < 4 * ratios["error"]).all()


def test_bars_are_shares_of_the_resplits(run):
    rows = run.validity.query(
        "procedure == 'base' and control_pool == 'held-out' and alpha == 0.02"
    )
    panel = law_panel(run)
    counts = np.rint(rows["realized_fpr"] * rows["n_fresh"]).astype(int)
    shares = np.bincount(counts) / len(counts)
    heights = np.array([bar.get_height() for bar in panel.patches])
    assert heights.sum() == pytest.approx(1)
    assert np.allclose(heights[: len(shares)], shares)


def test_the_exact_law_is_beta_binomial_and_the_threshold_s_own_is_beta(run):
    row = run.validity.query(
        "procedure == 'base' and control_pool == 'held-out' and alpha == 0.02"
    ).iloc[0]
    n, k, fresh = int(row["n_controls"]), int(row["k"]), int(row["n_fresh"])
    exact, limit = law_panel(run).lines[:2]
    count = np.rint(np.asarray(exact.get_xdata()) * fresh)
    assert np.allclose(exact.get_ydata(), betabinom.pmf(count, fresh, k, n - k + 1))
    x = np.asarray(limit.get_xdata())
    assert np.allclose(limit.get_ydata(), beta.pdf(x, k, n - k + 1) / fresh)


def test_wide_bins_keep_the_mass_of_the_law(run):
    panel = law_panel(run, alpha=0.5)
    heights = np.array([bar.get_height() for bar in panel.patches])
    assert len(heights) < 100
    assert heights.sum() == pytest.approx(1)
    assert panel.lines[0].get_ydata().sum() == pytest.approx(1, abs=2e-3)


def test_levels_without_a_threshold_are_named(small_run):
    figure = figures.validity(small_run.validity, procedure="base", suffix_tokens=50, alpha=0.02)
    words = " ".join(text.get_text() for axes in figure.axes for text in axes.texts)
    assert "29 controls certify\n3.333% at the least" in words
    assert "held-out: too few for" in words


def test_the_match_check_shows_both_pools_against_one_half(run):
    panel = figures.match_check(run.match).axes[0]
    assert list(panel.lines[0].get_xdata()) == [0.5, 0.5]
    ends = [tuple(line.get_xdata()) for line in panel.lines]
    assert (0.481, 0.533) in ends
    assert (0.842, 0.879) in ends
    assert (0.507,) in ends
    assert (0.861,) in ends
    assert [label.get_text() for label in panel.get_yticklabels()] == ["held-out", "post-cutoff"]


def test_an_auc_without_interval_and_a_pool_without_auc():
    match = pd.DataFrame(
        [("held-out", "blind AUC", 0.62, 0.5), ("post-cutoff", "mean words", 70.0, 71.0)],
        columns=["control_pool", "quantity", "candidates", "controls"],
    ).assign(low=np.nan, high=np.nan)
    panel = figures.match_check(match).axes[0]
    words = [text.get_text() for text in panel.texts]
    assert "0.62" in words
    assert "not measured" in words
