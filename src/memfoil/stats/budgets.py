"""Query budgets: how many samples it takes to see a sequence, from its log-probability.

Probabilities go down to 1e-40 and far below, so they stay natural logs, and numbers of queries
are log10.

Source: Cooper et al. 2026, section 6 and appendix F.1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray


def chance(log_p: ArrayLike, queries: float) -> NDArray[np.float64]:
    """P(at least once in n independent queries) = 1 - (1 - p)^n.

    Parameters
    ----------
    log_p : array of float
        Natural logs of the per-query probability, at most 0; -inf is impossible.
    queries : float
        n, at least 1.
    """
    with np.errstate(over="ignore"):
        return -np.expm1(-np.exp(math.log(queries) + _log_hazard(log_p)))


def log10_queries(log_p: ArrayLike, success: float) -> NDArray[np.float64]:
    """log10 of n(p; c) = ceil(ln(1 - c) / ln(1 - p)), the fewest queries with success >= c.

    About 3/p at c = 95%. +inf where the sequence is impossible.

    Parameters
    ----------
    log_p : array of float
        Natural logs of the per-query probability, at most 0.
    success : float in (0, 1)
        c, the probability of seeing the sequence at least once.
    """
    exact = math.log10(-math.log1p(-success)) - _log_hazard(log_p) / math.log(10)
    countable = exact < 15
    # A quotient that should be whole may come out a rounding error above it.
    whole = np.ceil(10 ** np.where(countable, exact, 0.0) * (1 - 1e-12))
    return np.where(countable, np.log10(np.maximum(whole, 1.0)), exact)


def smallest_log_p(queries: float, success: float) -> float:
    """Natural log of the smallest p that n queries show with probability c: 1 - (1-c)^(1/n)."""
    return math.log(-math.expm1(math.log1p(-success) / queries))


def _log_hazard(log_p: ArrayLike) -> NDArray[np.float64]:
    """ln(-ln(1 - p)); it is ln p as soon as p/2 is below float64's resolution."""
    log_p = np.asarray(log_p, dtype=np.float64)
    with np.errstate(divide="ignore"):
        likely = np.log(-np.log(-np.expm1(np.minimum(log_p, 0.0))))
        unlikely = np.log(-np.log1p(-np.exp(np.minimum(log_p, -math.log(2)))))
    return np.where(log_p < -37, log_p, np.where(log_p < -math.log(2), unlikely, likely))
