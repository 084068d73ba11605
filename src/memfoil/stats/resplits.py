"""Validity, measured: known non-members split again and again into calibration and fresh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from memfoil.errors import InvalidScores
from memfoil.stats.conformal import certified_k


@dataclass(frozen=True)
class Resplits:
    """Realized false-positive rates: `realized_fpr` is (splits, levels), `k` is (levels,)."""

    n_controls: int
    n_fresh: int
    k: NDArray[np.int64]
    alpha_n: NDArray[np.float64]
    realized_fpr: NDArray[np.float64]


def calibration_halves(n_items: int, splits: int, seed: int) -> NDArray[np.bool_]:
    """Which items calibrate in each split, half of them (rounded down): (splits, n_items).

    Split i depends on the seed, i and n_items alone: more splits keep the earlier ones.
    """
    halves = np.zeros((splits, n_items), dtype=bool)
    for split, half in enumerate(halves):
        order = np.random.default_rng([seed, split]).permutation(n_items)
        half[order[: n_items // 2]] = True
    return halves


def resplit(scores: ArrayLike, calibration: NDArray[np.bool_], alphas: Sequence[float]) -> Resplits:
    """Calibrate a threshold on one part of each split and judge the other part with it.

    Parameters
    ----------
    scores : (n,) array of float
        Scores of known non-members.
    calibration : (splits, n) bool
        The calibrating part of each split, of the same size in all: `calibration_halves`.
    alphas : levels in (0, 1)

    Returns
    -------
    Resplits
        The share of the fresh non-members above the threshold, per split and level. Its mean
        over splits is at most K/(N+1); for distinct scores the number is distributed as
        `fresh_claims`.

    Raises
    ------
    InvalidScores
        If a score is NaN, or there are fewer than two.

    Source: the guarantee of Cooper et al. 2026, section 3 and appendix C.2.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if np.isnan(scores).any() or len(scores) < 2:
        raise InvalidScores("re-splits need at least two scores of non-members, none of them NaN")
    n_controls = int(calibration[0].sum())
    n_fresh = len(scores) - n_controls
    k = np.array([certified_k(n_controls, alpha) for alpha in alphas])
    descending = np.argsort(-scores, kind="stable")
    # calibrating[s, r]: how many of the r highest scores calibrate in split s
    calibrating = np.zeros((len(calibration), len(scores) + 1), dtype=np.int32)
    np.cumsum(calibration[:, descending], axis=1, out=calibrating[:, 1:])
    ordered = scores[descending]
    first_of_tie = np.searchsorted(-ordered, -ordered, side="left")
    claims = np.zeros((len(calibration), len(k)), dtype=np.int64)
    rows = np.arange(len(calibration))
    for level, rank in enumerate(k):
        if rank:
            tau_position = (calibrating[:, 1:] >= rank).argmax(axis=1)
            above = first_of_tie[tau_position]
            claims[:, level] = above - calibrating[rows, above]
    return Resplits(n_controls, n_fresh, k, k / (n_controls + 1), claims / n_fresh)


def fresh_claims(k: int, n_controls: int, n_fresh: int) -> NDArray[np.float64]:
    """P(0), P(1), ... P(n_fresh) of the fresh non-members above the K-th largest control.

    The Beta law of the realized rate, seen through a finite number of fresh non-members:
    BetaBinomial(n_fresh, K, N - K + 1), exact for distinct exchangeable scores and K >= 1.
    """
    return np.asarray(stats.betabinom.pmf(np.arange(n_fresh + 1), n_fresh, k, n_controls - k + 1))
