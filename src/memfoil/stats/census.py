"""Thresholds of a census: a measured maximum over a control's windows, not a certified level.

Windows overlap and share paragraphs, so they are not exchangeable, and no false-positive rate
comes with the largest of them.

Source: Cooper et al. 2026, section 5 and appendix E.1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memfoil.errors import InvalidScores

LOG_10 = math.log(10.0)
NEAR_ONE = -1.0  # log10: from a tenth on a threshold says nothing about memorization
ROUNDING = 1e-9  # log10 of a power of ten comes out a rounding error beside the whole number


class Maximum(NamedTuple):
    """The largest score of a control, and what it becomes as a threshold.

    `row` is where it stands, the first of equals; `log_maximum` is a natural log; `log10_tau`
    the power of ten at or above it (-inf where every score is zero).
    """

    row: int
    log_maximum: float
    log10_tau: float

    @property
    def usable(self) -> bool:
        """Is it below a tenth?"""
        return self.log10_tau < NEAR_ONE


def measured_maximum(log_scores: ArrayLike) -> Maximum:
    """tau of a control: its largest score, rounded up to a power of ten.

    Below 1e-20 a mantissa is floating-point noise; rounding up leaves the exponent alone.

    Parameters
    ----------
    log_scores : (N,) float64
        Natural logs of the scores of the control's windows, -inf allowed.

    Raises
    ------
    InvalidScores
        If there is no window, or a score is NaN or positive.
    """
    scores = np.asarray(log_scores, dtype=np.float64)
    if not scores.size:
        raise InvalidScores("no window of the control is left: there is nothing to compare with")
    bad = np.isnan(scores) | (scores > 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise InvalidScores(
            f"row {row}: {scores[row]} is not the natural log of a probability "
            "(at most 0, -inf allowed)"
        )
    row = int(np.argmax(scores))
    return Maximum(row, float(scores[row]), power_of_ten_above(float(scores[row])))


def power_of_ten_above(log_score: float) -> float:
    """The exponent of the smallest power of ten that is at least exp(log_score)."""
    if math.isinf(log_score):
        return log_score
    return float(math.ceil(log_score / LOG_10 - ROUNDING)) + 0.0


def clears(log_scores: ArrayLike, log10_tau: float) -> NDArray[np.bool_]:
    """Which scores are above a threshold; none that equals it but for rounding."""
    above: NDArray[np.bool_] = np.asarray(log_scores) / LOG_10 > log10_tau + ROUNDING
    return above


def margin(log_scores: ArrayLike, log10_tau: float) -> NDArray[np.float64]:
    """Delta = log10(score / tau); +inf over a threshold of zero.

    Source: Cooper et al. 2026, appendix D.5.
    """
    scores = np.asarray(log_scores, dtype=np.float64) / LOG_10
    if log10_tau == -math.inf:
        return np.where(np.isneginf(scores), -np.inf, np.inf)
    return scores - log10_tau
