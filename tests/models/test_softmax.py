import mpmath
import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from memfoil.models.softmax import token_scores

# Whole logits, so that ties are frequent and float32 holds them exactly.
logits_and_target = st.lists(st.integers(-40, 40), min_size=1, max_size=30).flatmap(
    lambda logits: st.tuples(st.just(logits), st.integers(0, len(logits) - 1))
)


def scores(logits, target, top_k=()):
    parts = token_scores(torch.tensor([logits]).float(), torch.tensor([target]), top_k)
    return [part[0].numpy() for part in parts[:3]]


@settings(deadline=None)
@given(logits_and_target)
def test_log_probability_and_masses_are_those_of_exact_arithmetic(case):
    logits, target = case
    top_k = (1, 3, 40)
    log_probability, _, log_mass = scores(logits, target, top_k)
    with mpmath.workdps(60):
        total = mpmath.fsum(map(mpmath.exp, logits))
        exact = mpmath.exp(logits[target]) / total
        assert abs(log_probability - float(mpmath.log(exact))) < 1e-6
        for k, mass in zip(top_k, log_mass, strict=True):
            largest = sorted(logits, reverse=True)[:k]
            exact_mass = mpmath.fsum(map(mpmath.exp, largest)) / total
            assert abs(mass - float(mpmath.log(exact_mass))) < 1e-6


@given(logits_and_target)
def test_rank_counts_ties_against_the_target(case):
    logits, target = case
    _, rank, _ = scores(logits, target)
    assert rank == sum(other >= logits[target] for other in logits)


def test_a_probability_near_one_keeps_its_distance_from_one():
    """log(1 - 5e-16): float32 sums would give 0, and a log of a rounded ratio too."""
    log_probability, rank, log_mass = scores([0.0, -40.0, -36.0], 0, (1, 2))
    assert rank == 1
    exact = -(np.exp(-40.0) + np.exp(-36.0))
    assert abs(log_probability - exact) < 1.2e-16
    assert log_mass[0] == log_probability
    assert -1e-16 < log_mass[1] <= 0


def test_impossible_tokens_have_minus_infinity_and_nothing_is_positive():
    log_probability, rank, log_mass = scores([1.0, -np.inf, 3.0], 1, (2, 3))
    assert log_probability == -np.inf
    assert rank == 3
    assert log_mass.max() <= 0


def test_logits_without_a_distribution_give_nan():
    for logits in ([np.nan, 1.0], [1.0, np.nan], [np.inf, 1.0], [-np.inf, -np.inf]):
        for target in (0, 1):
            log_probability, _, log_mass = scores(logits, target, (1,))
            assert np.isnan(log_probability)
            assert np.isnan(log_mass).all()


def test_a_k_above_the_vocabulary_has_all_the_mass():
    assert scores([1.0, 2.0], 0, (40,))[2] == 0
