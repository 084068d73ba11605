"""Intervals against published examples and against their definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from memfoil.stats.proportions import clopper_pearson, newcombe_paired

COUNTS = st.tuples(*[st.integers(0, 60)] * 4).filter(any)


@pytest.mark.parametrize(("successes", "low", "high"), [(58, 0.88, 1.50), (137, 2.31, 3.23)])
def test_published_generation_rates_of_5000(successes, low, high):
    """Cooper et al. 2026, section 4: 1.16% and 2.74% of 5,000 candidates."""
    interval = clopper_pearson(successes, 5000)
    assert [round(100 * float(limit), 2) for limit in interval] == [low, high]


@given(st.integers(1, 400), st.data())
def test_clopper_pearson_limits_leave_half_the_error_in_each_tail(trials, data):
    successes = data.draw(st.integers(0, trials))
    low, high = clopper_pearson(successes, trials)
    assert (
        low == 0
        if successes == 0
        else stats.binom.sf(successes - 1, trials, low) == pytest.approx(0.025, rel=1e-6)
    )
    assert (
        high == 1
        if successes == trials
        else stats.binom.cdf(successes, trials, high) == pytest.approx(0.025, rel=1e-6)
    )


def test_clopper_pearson_is_elementwise():
    low, high = clopper_pearson([0, 5, 9], [10, 10, 9])
    assert (low[0], high[2]) == (0, 1)
    alone = clopper_pearson(5, 10)
    assert (low[1], high[1]) == (alone[0], alone[1])


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [
        # Newcombe 1998, Statistics in Medicine 17:2635, table II, method 10
        ((36, 12, 2, 0), 0.0569, 0.3404),
        ((20, 12, 2, 16), 0.0562, 0.3292),
        ((36, 14, 0, 0), 0.1528, 0.4167),
        # Bentur et al. 2009 and Cavo et al. 2012, in Fagerland, Lydersen, Laake 2017, chapter 8
        ((1, 1, 7, 12), -0.5069, -0.0256),
        ((59, 6, 16, 80), -0.1186, -0.0046),
    ],
)
def test_newcombe_published_examples(table, low, high):
    assert newcombe_paired(*table) == pytest.approx((low, high), abs=5e-5)


@given(COUNTS)
def test_newcombe_turns_around_with_the_outcomes(table):
    both, first, second, neither = table
    low, high = newcombe_paired(both, first, second, neither)
    assert newcombe_paired(both, second, first, neither) == pytest.approx((-high, -low))
    assert low - 1e-12 <= (first - second) / sum(table) <= high + 1e-12
    assert low >= -1 - 1e-12
    assert high <= 1 + 1e-12


@pytest.mark.parametrize("overlap", np.linspace(0, 1, 5))
def test_model_scale_on_the_same_5000_candidates(overlap):
    """Cooper et al. 2026, appendix D.4, alpha = 0.1%: claims of 7B, 13B and 32B, 50 tokens.

    However much the models' claims overlap, 13B is above 7B and 32B is not above 13B.
    """

    def difference(more, fewer):
        both = round(overlap * fewer)
        return newcombe_paired(both, more - both, fewer - both, 5000 - more - fewer + both)

    low, _ = difference(188, 141)
    assert low > 0
    low, high = difference(189, 188)
    assert low < 0 < high
