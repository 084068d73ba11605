"""The conformal test: p-values, thresholds, and the law of the false-positive rate they realize.

Scores are numbers of which more means more memorized; log-scores are natural logs.

Source: Cooper et al. 2026, section 3 and appendix C.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from memfoil.errors import InvalidConfiguration, InvalidScores


@dataclass(frozen=True)
class Threshold:
    """A score threshold and the false-positive rate that it certifies."""

    k: int
    alpha_n: float
    log_tau: float
    n_controls: int
    in_sample_fpr: float


@dataclass(frozen=True)
class RealizedFPR:
    """The law of alpha*, the true false-positive rate of one realized threshold."""

    mean: float
    q025: float
    q90: float
    q95: float
    q975: float
    exceedance: float


def p_values(candidates: ArrayLike, controls: ArrayLike) -> NDArray[np.float64]:
    """Conformal p-values: (1 + number of controls that score at least as high) / (N + 1).

    Parameters
    ----------
    candidates : (m,) array of float
    controls : (N,) array of float
        Scores of matched non-members; -inf is allowed, NaN is not.

    Returns
    -------
    (m,) float64
        Multiples of 1 / (N + 1). A claim at level alpha is `p <= alpha`, the same as a score
        above `threshold(controls, alpha).log_tau`.

    Raises
    ------
    InvalidScores
        If a score is NaN or there is no control.

    Source: Cooper et al. 2026, section 3.
    """
    scores, ordered = _scores(candidates, "candidate"), np.sort(_controls(controls))
    at_least = len(ordered) - np.searchsorted(ordered, scores, side="left")
    return (1 + at_least) / (len(ordered) + 1)


def randomized_p_values(
    candidates: ArrayLike, controls: ArrayLike, items: Sequence[str], seed: int
) -> NDArray[np.float64]:
    """Conformal p-values with ties broken at random: uniform on (0, 1) under the null.

    A candidate tied with T of the controls, and below H of them, gets (H + U (1 + T)) / (N + 1)
    with U uniform. U depends on the seed and the item's name alone, so the order of the rows
    changes nothing. Never above the p-value without randomization.

    Parameters
    ----------
    candidates : (m,) array of float
    controls : (N,) array of float
    items : m names
        One per candidate, distinct where independent U are wanted.

    Raises
    ------
    InvalidScores
        If a score is NaN or there is no control.

    Source: Vovk, Gammerman, Shafer 2005, Algorithmic Learning in a Random World, section 2.2
    (smoothed p-values); for atoms, Cooper et al. 2026, appendix C.5.
    """
    scores, ordered = _scores(candidates, "candidate"), np.sort(_controls(controls))
    above = len(ordered) - np.searchsorted(ordered, scores, side="right")
    at_least = len(ordered) - np.searchsorted(ordered, scores, side="left")
    return (above + _uniforms(items, seed) * (1 + at_least - above)) / (len(ordered) + 1)


def certified_k(n_controls: int, alpha: Fraction | float) -> int:
    """K = floor(alpha (N + 1)), exactly; 0 means that N controls cannot certify alpha.

    A float alpha that is the nearest one to some k/(N + 1) is taken as that fraction: division
    rounds correctly, so only the next multiple can be hidden by the rounding of alpha.

    Raises
    ------
    InvalidConfiguration
        If alpha is not between 0 and 1.
    InvalidScores
        If there is no control.
    """
    _refuse_no_controls(n_controls)
    if not 0 < alpha < 1:
        raise InvalidConfiguration(f"alpha {alpha}: a false-positive rate is between 0 and 1")
    k = math.floor(Fraction(alpha) * (n_controls + 1))
    if not isinstance(alpha, Fraction) and (k + 1) / (n_controls + 1) == alpha:
        return k + 1
    return k


def confident_k(n_controls: int, alpha: float, confidence: float) -> int:
    """Largest K with P(Beta(K, N - K + 1) <= alpha) >= confidence; 0 if there is none.

    Thresholds at this rank have a realized false-positive rate of at most alpha in a share
    `confidence` of all draws of the controls, not merely on average.

    Raises
    ------
    InvalidConfiguration
        If alpha or the confidence is not between 0 and 1.
    InvalidScores
        If there is no control.

    Source: Cooper et al. 2026, appendix C.4.3; P(Beta(K, N-K+1) <= a) = P(Binomial(N, a) >= K).
    """
    _refuse_no_controls(n_controls)
    _check_confidence(confidence)
    if not 0 < alpha < 1:
        raise InvalidConfiguration(f"alpha {alpha}: a false-positive rate is between 0 and 1")
    k = int(stats.binom.isf(confidence, n_controls, alpha))
    attained = k < n_controls and stats.beta.cdf(alpha, k + 1, n_controls - k) >= confidence
    return k + 1 if attained else k


def smallest_level(n_controls: int, confidence: float | None = None) -> float:
    """The smallest false-positive rate that N controls certify: 1 / (N + 1).

    With a confidence, the smallest rate that the realized one keeps to with that confidence.
    """
    if confidence is None:
        return 1 / (n_controls + 1)
    return float(stats.beta.ppf(confidence, 1, n_controls))


def threshold(control_scores: ArrayLike, alpha: Fraction | float) -> Threshold:
    """Score above which a candidate is claimed at level alpha.

    Parameters
    ----------
    control_scores : (N,) array of float
        Scores of matched non-members, natural log; -inf is allowed, NaN is not.
    alpha : float or Fraction in (0, 1)
        Requested false-positive rate. A float equal to k/(N+1) is taken as that fraction.

    Returns
    -------
    Threshold
        `k`, `alpha_n` = k/(N+1) <= alpha, `log_tau`, the k-th largest score (+inf when k = 0:
        nothing can be claimed with so few controls), and the share of the controls above it,
        which carries no guarantee.

    Raises
    ------
    InvalidScores
        If a score is NaN or there is no control.
    InvalidConfiguration
        If alpha is not between 0 and 1.

    Source: Cooper et al. 2026, section 3 and appendix C.1.
    """
    controls = _controls(control_scores)
    return threshold_at(controls, certified_k(len(controls), alpha))


def threshold_at(control_scores: ArrayLike, k: int) -> Threshold:
    """The threshold at a given rank: the k-th largest of N control scores, +inf for k = 0.

    Raises
    ------
    InvalidScores
        If a score is NaN, there is no control, or k is not among 0..N.
    """
    controls = _controls(control_scores)
    n = len(controls)
    if not 0 <= k <= n:
        raise InvalidScores(f"rank {k}: {n} controls have ranks 1 to {n}")
    tau = float(np.partition(controls, n - k)[n - k]) if k else math.inf
    return Threshold(
        k=k,
        alpha_n=k / (n + 1),
        log_tau=tau,
        n_controls=n,
        in_sample_fpr=float(np.mean(controls > tau)),
    )


def alpha_dagger(control_scores: ArrayLike) -> float:
    """Share of the controls above the atom; 1 when there is none. It caps what can be certified.

    The atom is the lowest score where it is -inf (what the policy cannot generate) or shared by
    several controls. A threshold at the atom claims all that lies above it and no more, so no
    rank realizes a larger false-positive rate. Below alpha_dagger `realized_fpr` is exact for
    scores that are continuous above the atom, and on the safe side where they tie. For binary
    scores, such as greedy matches, it is the share of controls that match.

    Raises
    ------
    InvalidScores
        If a score is NaN or there is no control.

    Source: Cooper et al. 2026, appendix C.4.2.
    """
    controls = _controls(control_scores)
    lowest = controls.min()
    above = int(np.count_nonzero(controls > lowest))
    if lowest == -math.inf or len(controls) - above > 1:
        return above / len(controls)
    return 1.0


@lru_cache(maxsize=4096)
def realized_fpr(k: int, n_controls: int) -> RealizedFPR:
    """Law of the true false-positive rate at rank k: Beta(k, N - k + 1) over draws of controls.

    Exact for continuous scores; with ties the rate is stochastically smaller. For k = 0 nothing
    is claimed and the rate is 0.

    Returns
    -------
    RealizedFPR
        Mean (= k/(N+1)), quantiles, and `exceedance`, the probability that the realized rate is
        above the certified one.

    Source: Cooper et al. 2026, appendix C.4.1 and C.4.3.
    """
    if k == 0:
        return RealizedFPR(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    law = stats.beta(k, n_controls - k + 1)
    q025, q90, q95, q975 = (float(q) for q in law.ppf([0.025, 0.9, 0.95, 0.975]))
    alpha_n = k / (n_controls + 1)
    return RealizedFPR(alpha_n, q025, q90, q95, q975, float(law.sf(alpha_n)))


def relative_excess(k: int, n_controls: int, confidence: float) -> float:
    """rho: by which share of the certified rate the realized one may exceed it, with confidence.

    The quantile of Beta(k, N - k + 1) over k/(N + 1), minus 1, for k from 1 to N.

    Raises
    ------
    InvalidConfiguration
        If the confidence is not between 0 and 1.

    Source: Cooper et al. 2026, appendix C.4.3.
    """
    _check_confidence(confidence)
    return float(stats.beta.ppf(confidence, k, n_controls - k + 1)) * (n_controls + 1) / k - 1


def _uniforms(items: Sequence[str], seed: int) -> NDArray[np.float64]:
    """One number in (0, 1) per item, from the seed and the item's name."""
    digests = (hashlib.blake2b(f"{seed}\0{item}".encode(), digest_size=8) for item in items)
    words = np.array([int.from_bytes(digest.digest()) >> 12 for digest in digests], dtype=float)
    return (words + 0.5) / 2.0**52


def _scores(values: ArrayLike, role: str) -> NDArray[np.float64]:
    scores = np.asarray(values, dtype=np.float64)
    if np.isnan(scores).any():
        row = int(np.argmax(np.isnan(scores)))
        raise InvalidScores(f"{role} scores, position {row}: NaN is not a score")
    return scores


def _controls(values: ArrayLike) -> NDArray[np.float64]:
    scores = _scores(values, "control")
    _refuse_no_controls(len(scores))
    return scores


def _refuse_no_controls(n_controls: int) -> None:
    if n_controls < 1:
        raise InvalidScores("no control: a threshold needs scores of matched non-members")


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InvalidConfiguration(f"confidence {confidence}: it is between 0 and 1")
