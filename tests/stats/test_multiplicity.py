"""Corrections for many candidates against published numbers, their definitions, and simulation."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfoil.stats.conformal import p_values
from memfoil.stats.multiplicity import (
    benjamini_hochberg,
    bonferroni,
    controls_needed,
    most_candidates,
)

# Ranks of conformal p-values c/(N + 1), and rates in thousandths that can meet them exactly.
RANKS = st.integers(1, 2000).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.integers(1, n + 1), min_size=1, max_size=60))
)
RATE = st.integers(1, 999).map(lambda thousandths: Fraction(thousandths, 1000))


def test_published_numbers_of_candidates_for_5000_controls():
    """Cooper et al. 2026, appendix C.5."""
    assert most_candidates(5000, 0.05) == 250
    assert most_candidates(5000, 0.001) == 5
    assert controls_needed(5000, 0.001) == pytest.approx(5_000_000, rel=1e-3)


def test_at_the_largest_number_of_candidates_one_claim_is_still_possible():
    smallest_p = 1 / 5001
    assert bonferroni([smallest_p] + [1.0] * 249, 0.05)[0]
    assert not bonferroni([smallest_p] + [1.0] * 250, 0.05)[0]


@given(st.integers(1, 500), RATE)
def test_controls_needed_is_the_fewest(candidates, rate):
    n = controls_needed(candidates, float(rate))
    assert Fraction(candidates, n + 1) <= rate
    assert Fraction(candidates, n) > rate


@given(RANKS, RATE)
def test_bonferroni_is_exact_on_the_grid_of_p_values(n_ranks, rate):
    n, ranks = n_ranks
    claimed = bonferroni(np.array(ranks) / (n + 1), float(rate))
    exact = [Fraction(rank, n + 1) <= rate / len(ranks) for rank in ranks]
    assert claimed.tolist() == exact


@given(RANKS, RATE)
def test_benjamini_hochberg_is_its_step_up_rule_in_exact_arithmetic(n_ranks, rate):
    n, ranks = n_ranks
    m = len(ranks)
    passing = [
        i for i, rank in enumerate(sorted(ranks), 1) if Fraction(rank, n + 1) <= rate * i / m
    ]
    largest = sorted(ranks)[passing[-1] - 1] if passing else 0
    claimed = benjamini_hochberg(np.array(ranks) / (n + 1), float(rate))
    assert claimed.tolist() == [rank <= largest for rank in ranks]


@given(RANKS, RATE)
def test_bonferroni_claims_are_among_benjamini_hochbergs(n_ranks, rate):
    n, ranks = n_ranks
    p = np.array(ranks) / (n + 1)
    assert not (bonferroni(p, float(rate)) & ~benjamini_hochberg(p, float(rate))).any()


def test_false_discovery_rate_with_shared_controls():
    """40 candidates, 30 of them nulls, continuous scores: FDR at most 0.75 x 0.2."""
    generator = np.random.default_rng(4)
    shares = []
    for _ in range(1500):
        controls, nulls = generator.normal(size=200), generator.normal(size=30)
        members = generator.normal(3, 1, size=10)
        claimed = benjamini_hochberg(p_values([*nulls, *members], controls), 0.2)
        shares.append(claimed[:30].sum() / max(claimed.sum(), 1))
    error = 4 * np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) <= 0.75 * 0.2 + error
    assert np.mean(shares) > 0.05
