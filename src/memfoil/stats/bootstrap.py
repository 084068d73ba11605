"""Percentile bootstrap of rates over groups of observations that belong together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

DRAWS_AT_ONCE = 2**21


def resampled_sums(
    totals: ArrayLike, *, resamples: int, seed: int | Sequence[int]
) -> NDArray[np.float64]:
    """Column sums over rows drawn with replacement, as many as there are.

    A row holds what one group (a prompt with all its generations) adds to each sum. Columns of
    one call share their draws: so quantities of the same groups are paired, and those of two
    calls with different seeds are independent.

    Parameters
    ----------
    totals : (n, m)
    seed : int or ints
        As `numpy.random.default_rng` takes it.

    Returns
    -------
    (resamples, m) float64
    """
    rows = np.asarray(totals, dtype=np.float64)
    n = len(rows)
    generator = np.random.default_rng(seed)
    sums = np.zeros((resamples, rows.shape[1]))
    at_once = max(1, DRAWS_AT_ONCE // max(n, 1))
    for first in range(0, resamples if n else 0, at_once):
        part = sums[first : first + at_once]
        drawn = generator.integers(n, size=(len(part), n))
        drawn += n * np.arange(len(part))[:, None]
        times = np.bincount(drawn.ravel(), minlength=len(part) * n).reshape(len(part), n)
        part[:] = times @ rows
    return sums


def ratio(numerators: ArrayLike, denominators: ArrayLike) -> NDArray[np.float64]:
    """Elementwise quotient, 0 where the denominator is 0: nothing was there to count."""
    top, bottom = np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)
    result: NDArray[np.float64] = np.divide(top, bottom, out=np.zeros_like(top), where=bottom != 0)
    return result


def interval(
    resampled: ArrayLike, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Percentile interval along the first axis: the two ends."""
    tail = (1 - level) / 2
    low, high = np.quantile(np.asarray(resampled, np.float64), [tail, 1 - tail], axis=0)
    return low, high


def rule_of_three(n: ArrayLike) -> NDArray[np.float64]:
    """Upper 95% bound on a share of which nothing was seen in n independent trials: 3 / n."""
    bound: NDArray[np.float64] = np.minimum(1.0, ratio(3.0 * np.ones_like(n, np.float64), n))
    return np.where(np.asarray(n) > 0, bound, 1.0)
