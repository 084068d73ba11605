"""The bootstrap against a direct computation, resample by resample."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from memfoil.stats import bootstrap
from memfoil.stats.bootstrap import interval, ratio, resampled_sums, rule_of_three

TOTALS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.floats(-5, 5)), min_size=1, max_size=30
)


@settings(max_examples=50, deadline=None)
@given(TOTALS, st.integers(0, 2**40))
def test_sums_are_those_of_the_rows_drawn(totals, seed):
    """One resample at a time, row by row, with the same generator."""
    rows = np.array(totals)
    generator = np.random.default_rng(seed)
    expected = [
        sum(rows[i] for i in generator.integers(len(rows), size=(1, len(rows)))[0])
        for _ in range(20)
    ]
    np.testing.assert_allclose(
        resampled_sums(rows, resamples=20, seed=seed), expected, rtol=1e-12, atol=1e-12
    )


def test_how_many_are_drawn_at_once_changes_nothing(monkeypatch):
    rows = np.random.default_rng(0).random((37, 4))
    whole = resampled_sums(rows, resamples=100, seed=5)
    monkeypatch.setattr(bootstrap, "DRAWS_AT_ONCE", 200)
    np.testing.assert_allclose(resampled_sums(rows, resamples=100, seed=5), whole, rtol=1e-12)


def test_columns_are_paired_and_calls_are_not():
    rows = np.random.default_rng(0).random(50)
    together = resampled_sums(np.column_stack([rows, 1 - rows]), resamples=2000, seed=1)
    np.testing.assert_allclose(together.sum(axis=1), 50)
    apart = resampled_sums(1 - rows[:, None], resamples=2000, seed=2)[:, 0]
    assert abs(np.corrcoef(together[:, 0], apart)[0, 1]) < 0.1


def test_the_interval_of_a_mean_has_the_known_width():
    """The bootstrap's standard error of a mean is s / sqrt(n), s with n below it."""
    values = np.random.default_rng(3).exponential(size=400)
    means = resampled_sums(values[:, None], resamples=10_000, seed=4)[:, 0] / 400
    assert means.std() == pytest.approx(values.std() / 20, rel=0.03)
    low, high = interval(means)
    assert low == pytest.approx(np.sort(means)[250], rel=1e-3)
    assert high == pytest.approx(np.sort(means)[9750], rel=1e-3)


def test_groups_that_agree_within_make_wider_intervals():
    """Ten copies of each observation carry no more than one."""
    values = np.random.default_rng(3).random(100)
    sums = np.column_stack([10 * values, np.full(100, 10.0)])
    drawn = resampled_sums(sums, resamples=4000, seed=0)
    clustered = interval(ratio(drawn[:, 0], drawn[:, 1]))
    one_each = np.column_stack([np.repeat(values, 10), np.ones(1000)])
    drawn = resampled_sums(one_each, resamples=4000, seed=0)
    apart = interval(ratio(drawn[:, 0], drawn[:, 1]))
    assert clustered[1] - clustered[0] > 2.5 * (apart[1] - apart[0])


def test_nothing_over_nothing_is_nothing():
    np.testing.assert_array_equal(ratio([0.0, 1.0, 3.0], [0.0, 0.0, 2.0]), [0.0, 0.0, 1.5])
    assert resampled_sums(np.empty((0, 2)), resamples=3, seed=0).tolist() == [[0, 0]] * 3


@pytest.mark.parametrize("n", [30, 100, 1000, 10_000])
def test_rule_of_three_is_the_rate_that_shows_nothing_once_in_twenty(n):
    assert binom.pmf(0, n, rule_of_three(n)) == pytest.approx(0.05, abs=0.008)


def test_rule_of_three_says_nothing_of_few():
    np.testing.assert_array_equal(rule_of_three([0, 1, 2, 3, 6]), [1, 1, 1, 1, 0.5])
