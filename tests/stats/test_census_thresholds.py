"""Census thresholds: the published ones, and what rounding up must and must not do."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfoil.errors import InvalidScores
from memfoil.stats.census import clears, margin, measured_maximum, power_of_ten_above

LOG_SCORES = st.floats(-1000, 0) | st.just(-math.inf)


@pytest.mark.parametrize(
    ("largest", "tau"), [(7.3e-22, -21), (1.01e-28, -27), (0.111, 0), (0.795, 0), (0.05, -1)]
)
def test_the_largest_score_is_rounded_up(largest, tau):
    """0.111 to 0.795 are the published maxima at 10-token prefixes: they all become 1."""
    found = measured_maximum(np.log([1e-40, largest, 1e-31]))
    assert (found.row, found.log10_tau) == (1, tau)


@pytest.mark.parametrize("exponent", range(-320, 1))
def test_a_power_of_ten_is_its_own_threshold_whatever_the_last_bit(exponent):
    log_p = exponent * math.log(10)
    for near in (math.nextafter(log_p, -math.inf), log_p, min(math.nextafter(log_p, 1), 0.0)):
        assert power_of_ten_above(near) == exponent
        assert not clears(near, exponent)


@given(st.lists(LOG_SCORES, min_size=1))
def test_no_control_clears_its_own_threshold_and_a_tenth_of_it_is_too_low(log_scores):
    found = measured_maximum(log_scores)
    assert found.log_maximum == max(log_scores) == log_scores[found.row]
    assert not clears(log_scores, found.log10_tau).any()
    if math.isfinite(found.log10_tau):
        assert clears(found.log_maximum, found.log10_tau - 1)


@given(st.lists(LOG_SCORES, min_size=2), st.data())
def test_taking_windows_out_never_raises_the_threshold(log_scores, data):
    kept = data.draw(st.lists(st.sampled_from(log_scores), min_size=1))
    assert measured_maximum(kept).log10_tau <= measured_maximum(log_scores).log10_tau


@given(st.lists(LOG_SCORES, min_size=1), st.floats(-400, 0) | st.just(-math.inf))
def test_what_clears_has_a_positive_margin(log_scores, log10_tau):
    log10_tau = float(np.round(log10_tau))
    above, delta = clears(log_scores, log10_tau), margin(log_scores, log10_tau)
    edge = np.abs(delta) < 1e-8
    assert ((delta > 0) == above)[~edge].all()


def test_all_zero_scores_leave_a_threshold_of_zero_that_zero_does_not_clear():
    found = measured_maximum([-math.inf, -math.inf])
    assert found.log10_tau == -math.inf
    assert clears([-math.inf, -900.0], found.log10_tau).tolist() == [False, True]


@pytest.mark.parametrize(("largest", "usable"), [(0.11, False), (0.1, False), (0.0999e-1, True)])
def test_a_threshold_at_or_near_one_is_not_usable(largest, usable):
    assert measured_maximum([math.log(largest)]).usable is usable


@pytest.mark.parametrize("scores", [[], [math.nan], [0.1, -1.0]])
def test_what_is_no_score_is_refused(scores):
    with pytest.raises(InvalidScores):
        measured_maximum(scores)
