"""The conformal test against its published values, brute force, and its own guarantee."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from memfoil.errors import InvalidConfiguration, InvalidScores
from memfoil.stats.conformal import (
    alpha_dagger,
    certified_k,
    confident_k,
    p_values,
    randomized_p_values,
    realized_fpr,
    relative_excess,
    smallest_level,
    threshold,
    threshold_at,
)
from memfoil.stats.proportions import clopper_pearson

# A few values, so that ties are common, among arbitrary ones.
SCORE = st.sampled_from([-math.inf, -5.0, -1.0, 0.0]) | st.floats(-50, 0)
CONTROLS = st.lists(SCORE, min_size=1, max_size=40)
CANDIDATES = st.lists(SCORE, min_size=1, max_size=10)


@st.composite
def controls_and_alpha(draw):
    controls = draw(CONTROLS)
    step = st.integers(1, len(controls)).map(lambda k: k / (len(controls) + 1))
    return controls, draw(st.floats(1e-6, 1 - 1e-6) | step)


def distinct(n):
    return -np.arange(1.0, n + 1)


def binary(matches, n):
    """Greedy scores: log 1 for a match, log 0 for none."""
    return np.where(np.arange(n) < matches, 0.0, -np.inf)


# Published values: Cooper et al. 2026, sections 3 and 4, appendices C and D.


def test_five_thousand_controls_at_a_thousandth():
    result = threshold(distinct(5000), 0.001)
    assert (result.k, result.n_controls) == (5, 5000)
    assert result.alpha_n == 5 / 5001
    assert round(100 * result.alpha_n, 5) == 0.09998
    assert result.in_sample_fpr == 4 / 5000
    assert result.log_tau == -5.0


@pytest.mark.parametrize("alpha", [5 / 5001, 0.0009999, 0.001, 0.0011, np.nextafter(6 / 5001, 0)])
def test_a_range_of_rates_shares_one_threshold(alpha):
    assert certified_k(5000, alpha) == 5


def test_the_range_ends_where_the_next_rank_begins():
    assert certified_k(5000, np.nextafter(5 / 5001, 0)) == 4
    assert certified_k(5000, 6 / 5001) == 6
    assert [round(100 * k / 5001, 5) for k in (5, 6)] == [0.09998, 0.11998]


def test_beta_law_at_the_published_rank():
    law = realized_fpr(5, 5000)
    percent = [100 * value for value in (law.mean, law.q025, law.q975, law.q90, law.q95)]
    assert percent == pytest.approx([0.09998, 0.0325, 0.205, 0.160, 0.183], abs=5e-4)
    assert law.exceedance == pytest.approx(0.441, abs=5e-4)


def test_beta_law_at_the_first_rank():
    assert stats.beta.cdf(0.0002, 1, 5000) == pytest.approx(0.632, abs=5e-4)
    assert 1 - realized_fpr(1, 5000).exceedance == pytest.approx(0.632, abs=5e-4)
    assert 100 * realized_fpr(1, 5000).q90 == pytest.approx(0.046, abs=5e-4)
    assert relative_excess(1, 5000, 0.9) == pytest.approx(1.30, abs=5e-3)


def test_decontaminated_pool_loses_a_rank():
    result = threshold(distinct(4988), 0.001)
    assert result.k == 4
    assert result.alpha_n == 4 / 4989
    assert 100 * result.alpha_n == pytest.approx(0.0802, abs=5e-5)


@pytest.mark.parametrize(
    ("controls", "members", "in_sample", "floor", "generated"),
    [(91, 377, 1.82, 1.84, 7.54), (1, 37, 0.02, 0.04, 0.74)],
)
def test_greedy_has_a_floor(controls, members, in_sample, floor, generated):
    scores, candidates = binary(controls, 5000), binary(members, 5000)
    p = p_values([0.0], scores)[0]
    assert p == (1 + controls) / 5001
    assert 100 * p == pytest.approx(floor, abs=5e-3)
    at_the_floor = threshold(scores, p)
    assert 100 * at_the_floor.in_sample_fpr == pytest.approx(in_sample, abs=5e-3)
    claimed = np.mean(candidates > at_the_floor.log_tau)
    assert 100 * claimed == pytest.approx(generated, abs=5e-3)
    below = threshold(scores, np.nextafter(p, 0))
    assert not (candidates > below.log_tau).any()


def test_a_quarter_of_short_greedy_matches_is_chance():
    assert p_values([0.0], binary(91, 5000))[0] / 0.0754 == pytest.approx(0.24, abs=5e-3)


@pytest.mark.parametrize(
    ("tau", "zeros", "claims", "rate", "interval", "calibrated"),
    [
        (0.95, 0.411, 58, 1.16, (0.88, 1.50), 1.06),
        (8.9e-6, 0.896, 137, 2.74, (2.31, 3.23), 2.64),
    ],
)
def test_top_40_rates(tau, zeros, claims, rate, interval, calibrated):
    n_zero = round(5000 * zeros)
    top = math.log(tau) + np.linspace(0.01, 0, 5)
    rest = np.linspace(math.log(tau) - 1, math.log(tau) - 90, 5000 - n_zero - 5)
    controls = np.concatenate([top, rest, np.full(n_zero, -np.inf)])
    candidates = np.where(np.arange(5000) < claims, math.log(tau) + 0.005, math.log(tau) - 3)
    result = threshold(controls, 0.001)
    assert math.exp(result.log_tau) == pytest.approx(tau)
    n_claims = int((candidates > result.log_tau).sum())
    low, high = clopper_pearson(n_claims, 5000)
    assert n_claims == claims
    assert 100 * n_claims / 5000 == pytest.approx(rate)
    assert (round(100 * float(low), 2), round(100 * float(high), 2)) == interval
    assert 100 * (n_claims / 5000 - result.alpha_n) == pytest.approx(calibrated, abs=5e-3)


@pytest.mark.parametrize(("zeros", "dagger"), [(0.411, 0.589), (0.896, 0.104)])
def test_zero_scores_cap_what_can_be_certified(zeros, dagger):
    n_zero = round(5000 * zeros)
    controls = np.concatenate([np.full(n_zero, -np.inf), distinct(5000 - n_zero)])
    assert alpha_dagger(controls) == pytest.approx(dagger)


def test_parrot_prompts_are_no_evidence():
    controls, candidates = binary(2118, 3000), binary(2103, 3000)
    assert (2118 / 3000, 2103 / 3000) == (0.706, 0.701)
    for alpha in (0.001, 0.01, 0.1, 0.5):
        assert not (candidates > threshold(controls, alpha).log_tau).any()
    floor = threshold(controls, 2119 / 3001)
    low, high = clopper_pearson((candidates > floor.log_tau).sum(), 3000)
    assert low - floor.alpha_n < 0 < high - floor.alpha_n


@pytest.mark.parametrize(
    ("alpha", "claims", "calibrated"),
    [
        (0.001, (141, 188, 189), (2.74, 3.68, 3.70)),
        (0.001, (62, 91, 63), (1.16, 1.74, 1.18)),
        (0.1, (1288, 1490, 1660), (15.78, 19.82, 23.22)),
    ],
)
def test_model_scale(alpha, claims, calibrated):
    result = threshold(distinct(4988), alpha)
    for n_claims, rate in zip(claims, calibrated, strict=True):
        candidates = result.log_tau + np.where(np.arange(5000) < n_claims, 0.5, -0.5)
        measured = np.mean(candidates > result.log_tau) - result.alpha_n
        assert 100 * measured == pytest.approx(rate, abs=5e-3)


# Exactness of K.


@pytest.mark.slow
def test_k_over_n_plus_one_is_k_for_every_n_up_to_20000():
    """Every k for small N; for larger N some, first those a float product would get wrong."""
    wrong = 0
    for n in range(1, 20_001):
        k = np.arange(1, n + 1)
        naive = np.floor(k / (n + 1) * (n + 1)).astype(int)
        off = k[naive != k]
        wrong += len(off)
        some = {1, n // 3 + 1, n, *off[:3].tolist(), *off[-3:].tolist()}
        for rank in range(1, n + 1) if n <= 300 else some:
            assert certified_k(n, rank / (n + 1)) == rank
    assert wrong > 0


@given(st.integers(1, 20_000), st.data())
def test_k_is_the_largest_rank_whose_rate_is_at_most_alpha(n, data):
    alpha = data.draw(st.floats(1e-9, 1, exclude_max=True))
    k = certified_k(n, alpha)
    assert k / (n + 1) <= alpha < (k + 1) / (n + 1)
    fraction = data.draw(st.fractions(Fraction(1, 10**9), 1).filter(lambda f: f < 1))
    k = certified_k(n, fraction)
    assert Fraction(k, n + 1) <= fraction < Fraction(k + 1, n + 1)


@given(st.integers(1, 3000), st.floats(1e-4, 0.999), st.floats(0.01, 0.999))
def test_confident_k_is_the_largest_that_keeps_its_promise(n, alpha, confidence):
    k = confident_k(n, alpha, confidence)
    assert k == 0 or stats.beta.cdf(alpha, k, n - k + 1) >= confidence - 1e-9
    assert k == n or stats.beta.cdf(alpha, k + 1, n - k) < confidence + 1e-9


def test_smallest_levels_are_reached_by_the_first_rank():
    assert certified_k(5000, smallest_level(5000)) == 1
    least = smallest_level(5000, 0.9)
    assert confident_k(5000, least * 1.0001, 0.9) == 1
    assert confident_k(5000, least * 0.9999, 0.9) == 0


# p-values and thresholds say the same, whatever the scores.


@given(CANDIDATES, controls_and_alpha())
def test_claims_by_p_value_and_by_threshold_agree(candidates, controls_alpha):
    controls, alpha = controls_alpha
    by_p = p_values(candidates, controls) <= alpha
    by_threshold = np.array(candidates) > threshold(controls, alpha).log_tau
    assert by_p.tolist() == by_threshold.tolist()


@given(CANDIDATES, CONTROLS)
def test_p_values_count_controls(candidates, controls):
    counted = [(1 + sum(w >= s for w in controls)) / (len(controls) + 1) for s in candidates]
    assert p_values(candidates, controls).tolist() == counted


@given(controls_and_alpha(), st.floats(1e-6, 1 - 1e-6))
def test_a_larger_rate_never_claims_less(controls_alpha, other):
    controls, alpha = controls_alpha
    low, high = sorted([alpha, other])
    assert threshold(controls, low).log_tau >= threshold(controls, high).log_tau
    assert threshold(controls, low).alpha_n <= threshold(controls, high).alpha_n


@given(CANDIDATES, controls_and_alpha(), st.randoms(use_true_random=False))
def test_order_never_matters(candidates, controls_alpha, random):
    controls, alpha = controls_alpha
    items = [f"item {i}" for i in range(len(candidates))]
    order = random.sample(range(len(candidates)), len(candidates))
    shuffled = random.sample(controls, len(controls))
    assert threshold(controls, alpha) == threshold(shuffled, alpha)
    assert alpha_dagger(controls) == alpha_dagger(shuffled)
    moved = [candidates[i] for i in order]
    assert p_values(moved, shuffled).tolist() == p_values(candidates, controls)[order].tolist()
    before = randomized_p_values(candidates, controls, items, seed=3)
    after = randomized_p_values(moved, shuffled, [items[i] for i in order], seed=3)
    assert after.tolist() == before[order].tolist()


@given(controls_and_alpha())
def test_a_threshold_is_a_control_score_and_certifies_at_most_alpha(controls_alpha):
    controls, alpha = controls_alpha
    result = threshold(controls, alpha)
    assert result.alpha_n <= alpha
    assert result.log_tau in controls if result.k else result.log_tau == math.inf
    assert result.in_sample_fpr <= max(result.k - 1, 0) / len(controls)


def test_too_few_controls_claim_nothing():
    result = threshold([-1.0, -2.0], 0.1)
    assert (result.k, result.alpha_n, result.log_tau) == (0, 0.0, math.inf)
    assert realized_fpr(0, 2).q975 == 0.0


# Atoms and ties.


@pytest.mark.parametrize(
    ("controls", "dagger"),
    [
        ([-math.inf] * 4, 0.0),
        ([-math.inf, -3.0, -2.0, -1.0], 0.75),
        ([-math.inf, -math.inf, -2.0, -1.0], 0.5),
        ([-4.0, -3.0, -2.0, -1.0], 1.0),
        ([-4.0, -1.0, -1.0, -1.0], 1.0),
        ([0.0, 0.0, 1.0, 2.0], 0.5),
        ([0.0, -math.inf, -math.inf, -math.inf], 0.25),
    ],
)
def test_alpha_dagger_is_the_share_above_the_lowest_tied_score(controls, dagger):
    assert alpha_dagger(controls) == dagger


@given(CONTROLS)
def test_no_rank_claims_more_controls_than_alpha_dagger(controls):
    most = threshold_at(controls, len(controls)).in_sample_fpr
    assert most <= alpha_dagger(controls)


@given(CANDIDATES, CONTROLS, st.integers())
def test_randomized_p_values_stay_between_their_ties(candidates, controls, seed):
    items = [str(i) for i in range(len(candidates))]
    randomized = randomized_p_values(candidates, controls, items, seed)
    above = [sum(w > s for w in controls) / (len(controls) + 1) for s in candidates]
    assert (randomized > above).all()
    assert (randomized <= p_values(candidates, controls)).all()


def test_randomized_p_values_are_uniform_under_the_null_even_for_binary_scores():
    generator = np.random.default_rng(5)
    draws = np.where(generator.random((4000, 21)) < 0.3, 0.0, -np.inf)
    p = [
        randomized_p_values(row[:1], row[1:], [f"item {i}"], seed=11)[0]
        for i, row in enumerate(draws)
    ]
    assert stats.kstest(p, "uniform").pvalue > 0.01


# The guarantee, measured on distributions whose tail is known.


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_mean_realized_rate_is_the_certified_one(alpha):
    generator = np.random.default_rng(1)
    realized = [
        -np.expm1(threshold(np.log(generator.random(199)), alpha).log_tau) for _ in range(3000)
    ]
    k = certified_k(199, alpha)
    error = 4 * np.std(realized) / math.sqrt(len(realized))
    assert np.mean(realized) == pytest.approx(k / 200, abs=error)
    assert stats.kstest(realized, stats.beta(k, 200 - k).cdf).pvalue > 0.01


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_ties_only_make_the_realized_rate_smaller(alpha):
    """Scores rounded to ten values: the share above tau is exact."""
    generator = np.random.default_rng(2)
    realized = []
    for _ in range(2000):
        tau = threshold(np.floor(10 * generator.random(99)), alpha).log_tau
        realized.append(1 - (tau + 1) / 10 if math.isfinite(tau) else 0.0)
    error = 4 * np.std(realized) / math.sqrt(len(realized))
    assert np.mean(realized) <= certified_k(99, alpha) / 100 + error


def test_confident_thresholds_keep_their_rate_as_often_as_promised():
    generator = np.random.default_rng(3)
    k = confident_k(300, 0.05, 0.9)
    realized = np.array([1 - threshold_at(generator.random(300), k).log_tau for _ in range(3000)])
    kept = np.mean(realized <= 0.05)
    assert kept >= 0.9 - 4 * math.sqrt(0.09 / 3000)
    assert np.mean(realized) < certified_k(300, 0.05) / 301


# What is refused.


@pytest.mark.parametrize("function", [p_values, lambda s, w: threshold(w, 0.1)])
@pytest.mark.parametrize(
    ("candidates", "controls"), [([-1.0], [-1.0, math.nan]), ([-1.0], []), ([math.nan], [math.nan])]
)
def test_nan_and_no_control_are_refused(function, candidates, controls):
    with pytest.raises(InvalidScores):
        function(candidates, controls)


def test_a_nan_candidate_is_named_by_its_position():
    with pytest.raises(InvalidScores, match="position 1: NaN"):
        p_values([-1.0, math.nan], [-2.0])


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf, Fraction(2)])
def test_rates_outside_zero_and_one_are_refused(alpha):
    with pytest.raises(InvalidConfiguration, match="alpha"):
        certified_k(10, alpha)


@pytest.mark.parametrize("confidence", [0.0, 1.0, math.nan])
def test_confidences_outside_zero_and_one_are_refused(confidence):
    with pytest.raises(InvalidConfiguration, match="confidence"):
        confident_k(10, 0.1, confidence)
