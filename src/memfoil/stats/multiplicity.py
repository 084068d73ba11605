"""Many candidates judged by one control sample.

Each conformal claim has its own marginal guarantee; sharing the controls makes the claims
dependent, and nothing bounds the errors of all together unless one of these is used.

Source: Cooper et al. 2026, appendix C.5.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control

from memfoil.stats.conformal import certified_k

# Conformal p-values and levels are ratios of whole numbers that often meet exactly; the slack
# keeps an equality that rounding would break and lies far below any step between p-values.
_SLACK = 1 + 1e-12


def bonferroni(p: ArrayLike, alpha: float) -> NDArray[np.bool_]:
    """Claims with a family-wise error rate of at most alpha, whatever the dependence.

    Parameters
    ----------
    p : (m,) array of float
        One p-value per candidate.
    """
    p = np.asarray(p, dtype=np.float64)
    return p * len(p) <= alpha * _SLACK


def benjamini_hochberg(p: ArrayLike, q: float) -> NDArray[np.bool_]:
    """Claims with a false discovery rate of at most pi0 q <= q, on a condition.

    The condition is that the p-values of the true nulls are positively regression dependent
    (PRDS). Conformal p-values that share their controls are, for continuous scores (Bates et
    al. 2023, Annals of Statistics 51:149). Greedy and top-k scores have atoms; use
    `conformal.randomized_p_values` for them.

    Parameters
    ----------
    p : (m,) array of float
        One p-value per candidate.
    """
    p = np.asarray(p, dtype=np.float64)
    return false_discovery_control(p, method="bh") <= q * _SLACK if len(p) else p <= q


def most_candidates(n_controls: int, fwer: float) -> int:
    """Largest number of candidates at which Bonferroni can still claim anything.

    alpha/m must not fall below 1/(N + 1), the smallest p-value there is.
    """
    return certified_k(n_controls, fwer)


def controls_needed(candidates: int, fwer: float) -> int:
    """Fewest controls with which Bonferroni over so many candidates can claim anything."""
    enough = math.ceil(candidates / Fraction(fwer)) - 1
    return enough - 1 if candidates / enough <= fwer else enough
