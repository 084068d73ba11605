"""Query budgets against published values and exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfoil.stats.budgets import chance, log10_queries, smallest_log_p


def test_published_budget_of_an_improbable_sequence():
    """Cooper et al. 2026, section 6: p = 1e-21 needs about 3e21 queries."""
    assert 10 ** log10_queries(math.log(1e-21), 0.95) == pytest.approx(2.996e21, rel=1e-3)


def test_published_reach_of_a_hundred_thousand_queries():
    assert math.exp(smallest_log_p(1e5, 0.95)) == pytest.approx(2.996e-5, rel=1e-3)


@given(st.floats(-2000, -10))
def test_95_percent_success_costs_about_three_over_p(log_p):
    ratio = log10_queries(log_p, 0.95) - (math.log10(3) - log_p / math.log(10))
    assert 10**ratio == pytest.approx(1, abs=0.005)


@given(st.integers(1, 400), st.integers(2, 400), st.integers(1, 99))
def test_queries_are_the_fewest_that_succeed(numerator, denominator, percent):
    """Against exact rational arithmetic, with c a hair's breadth off any attained chance."""
    p = Fraction(min(numerator, denominator - 1), denominator)
    n = round(10 ** float(log10_queries(math.log(p), percent / 100)))
    wanted = Fraction(percent, 100)
    assert 1 - (1 - p) ** n >= wanted * (1 - Fraction(1, 10**11))
    assert n == 1 or 1 - (1 - p) ** (n - 1) < wanted


@pytest.mark.parametrize(
    ("p", "success", "queries"), [(0.5, 0.75, 2), (0.5, 0.5, 1), (0.1, 0.19, 2)]
)
def test_a_whole_number_of_queries_is_not_rounded_up(p, success, queries):
    assert 10 ** log10_queries(math.log(p), success) == pytest.approx(queries)


def test_certain_and_impossible_sequences():
    assert log10_queries([0.0, -math.inf], 0.95).tolist() == [0.0, math.inf]
    assert chance([0.0, -math.inf], 10).tolist() == [1.0, 0.0]
    assert log10_queries(math.log(0.999), 0.95) == 0.0


@given(st.floats(-90, -0.01), st.floats(0.01, 0.99))
def test_chance_and_queries_are_inverse(log_p, success):
    queries = 10 ** float(log10_queries(log_p, success))
    assert chance(log_p, queries) >= success * (1 - 1e-9)
    assert smallest_log_p(queries, success) <= log_p + 1e-9


@pytest.mark.parametrize("exponent", [-5, -16, -17, -21, -40, -300])
def test_improbable_sequences_keep_their_chance(exponent):
    assert chance(exponent * math.log(10), 10.0**-exponent) == pytest.approx(
        -math.expm1(-1), rel=1e-5
    )


@given(st.floats(-800, 0), st.floats(-800, 0))
def test_a_more_probable_sequence_never_costs_more(first, second):
    low, high = sorted([first, second])
    costs = log10_queries(np.array([low, high]), 0.95)
    assert costs[0] >= costs[1]
