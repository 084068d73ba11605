"""Re-splits against plain calibration of each split, and against their exact law."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from memfoil.errors import InvalidScores
from memfoil.stats.conformal import threshold
from memfoil.stats.resplits import calibration_halves, fresh_claims, resplit

SCORE = st.sampled_from([-math.inf, -2.0, -1.0, 0.0]) | st.floats(-9, 0)


@given(st.lists(SCORE, min_size=2, max_size=40), st.integers(0, 99))
def test_each_split_is_calibrated_like_any_other_controls(scores, seed):
    halves = calibration_halves(len(scores), 4, seed)
    alphas = [0.02, 0.1, 0.5, 0.9]
    result = resplit(scores, halves, alphas)
    values = np.array(scores)
    for split, half in enumerate(halves):
        for level, alpha in enumerate(alphas):
            judged = threshold(values[half], alpha)
            assert (result.k[level], result.alpha_n[level]) == (judged.k, judged.alpha_n)
            fresh = values[~half]
            assert result.realized_fpr[split, level] == np.mean(fresh > judged.log_tau)


def test_more_splits_keep_the_earlier_ones():
    assert (calibration_halves(31, 50, 7)[:20] == calibration_halves(31, 20, 7)).all()
    assert calibration_halves(31, 50, 7).sum(axis=1).tolist() == [15] * 50
    assert (calibration_halves(31, 20, 8) != calibration_halves(31, 20, 7)).any()


def test_realized_rates_follow_the_exact_law_and_keep_the_certified_mean():
    scores = np.random.default_rng(0).normal(size=120)
    alphas = [0.02, 0.05, 0.1, 0.3]
    result = resplit(scores, calibration_halves(120, 5000, 1), alphas)
    for level, k in enumerate(result.k):
        rates = result.realized_fpr[:, level]
        error = 4 * rates.std() / math.sqrt(len(rates))
        assert rates.mean() == pytest.approx(result.alpha_n[level], abs=error)
        counts = np.bincount(np.rint(rates * 60).astype(int), minlength=61)
        expected = 5000 * fresh_claims(int(k), 60, 60)
        common = expected >= 5
        observed = [*counts[common], counts[~common].sum()]
        wanted = [*expected[common], expected[~common].sum()]
        assert stats.chisquare(observed, wanted).pvalue > 0.001


def test_the_law_of_fresh_claims_has_the_certified_mean_and_sums_to_one():
    law = fresh_claims(5, 5000, 300)
    assert law.sum() == pytest.approx(1)
    assert (law * np.arange(301)).sum() / 300 == pytest.approx(5 / 5001)


def test_atoms_never_raise_the_mean_above_the_certified_rate():
    scores = np.where(np.arange(200) < 150, -np.inf, -np.arange(200.0))
    result = resplit(scores, calibration_halves(200, 3000, 2), [0.05, 0.2, 0.4, 0.8])
    error = 4 * result.realized_fpr.std(axis=0) / math.sqrt(3000)
    assert (result.realized_fpr.mean(axis=0) <= result.alpha_n + error).all()
    assert result.realized_fpr[:, -1].mean() == pytest.approx(0.25, abs=error[-1])


@pytest.mark.parametrize("scores", [[], [-1.0], [-1.0, math.nan]])
def test_nan_and_fewer_than_two_scores_are_refused(scores):
    with pytest.raises(InvalidScores):
        resplit(scores, calibration_halves(len(scores), 3, 0), [0.1])
