"""Intervals of proportions, and of the difference of two proportions on the same items."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from statsmodels.stats.proportion import proportion_confint


def clopper_pearson(
    successes: ArrayLike, trials: ArrayLike, confidence: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact two-sided interval of a binomial proportion, elementwise.

    Parameters
    ----------
    successes, trials : arrays of int
        0 <= successes <= trials, trials >= 1.

    Returns
    -------
    low, high : float64 arrays
    """
    low, high = proportion_confint(
        np.asarray(successes), np.asarray(trials), alpha=1 - confidence, method="beta"
    )
    return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)


def newcombe_paired(
    both: int, only_first: int, only_second: int, neither: int, confidence: float = 0.95
) -> tuple[float, float]:
    """Interval of p_first - p_second, two proportions measured on the same items.

    Wilson's limits of each proportion, put together with the correlation phi of the two
    outcomes; a positive phi is corrected for continuity.

    Parameters
    ----------
    both, only_first, only_second, neither : int
        Items by outcome, at least one in all.

    Returns
    -------
    low, high : float

    Source: Newcombe 1998, Statistics in Medicine 17:2635, method 10; used for differences
    between models by Cooper et al. 2026, appendix D.1.
    """
    n = both + only_first + only_second + neither
    first, second = both + only_first, both + only_second
    p1, p2 = first / n, second / n
    low1, high1 = proportion_confint(first, n, alpha=1 - confidence, method="wilson")
    low2, high2 = proportion_confint(second, n, alpha=1 - confidence, method="wilson")
    phi = _phi(both, only_first, only_second, neither)
    return (
        p1 - p2 - _joined(p1 - low1, high2 - p2, phi),
        p1 - p2 + _joined(high1 - p1, p2 - low2, phi),
    )


def _phi(a: int, b: int, c: int, d: int) -> float:
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    if margins == 0:
        return 0.0
    cross = a * d - b * c
    corrected = cross if cross < 0 else max(cross - (a + b + c + d) / 2, 0.0)
    return corrected / math.sqrt(margins)


def _joined(first: float, second: float, phi: float) -> float:
    return math.sqrt(first**2 - 2 * phi * first * second + second**2)
