"""Anybody's scores, judged: what `memfoil calibrate` says about a Parquet or CSV file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from memfoil.errors import InvalidScores
from memfoil.nulls import GROUP_KEY, ROLES
from memfoil.score_files import read
from memfoil.stats import conformal
from memfoil.stats.multiplicity import controls_needed
from memfoil.stats.proportions import clopper_pearson


@dataclass(frozen=True)
class Judgement:
    """What one group of scores supports; `group` holds the columns that tell it from others."""

    group: dict[str, Any]
    score: str
    alpha: Fraction | float
    confidence: float | None
    threshold: conformal.Threshold
    alpha_star: conformal.RealizedFPR
    alpha_dagger: float
    n_candidates: int
    n_claims: int
    generation_interval: tuple[float, float]

    @property
    def generation_rate(self) -> float:
        return self.n_claims / self.n_candidates

    @property
    def calibrated_rate(self) -> float:
        return self.generation_rate - self.threshold.alpha_n

    @property
    def calibrated_interval(self) -> tuple[float, float]:
        low, high = self.generation_interval
        return low - self.threshold.alpha_n, high - self.threshold.alpha_n


def judge(
    path: str | Path, alpha: Fraction | float, confidence: float | None = None
) -> list[Judgement]:
    """Judge the candidates of a file by its controls, each procedure and suffix length alone.

    Parameters
    ----------
    path : Parquet file, or CSV if its name ends in .csv
        Columns `role` and either `log_score` (natural logs of probabilities, at most 0) or
        `score` (any number, more means more memorized); optional `procedure`, `suffix_tokens`,
        `sequence_id`.
    alpha : false-positive rate in (0, 1)
    confidence : float in (0, 1), optional
        Take the largest K whose realized rate is at most alpha with this confidence over draws
        of the controls, instead of on average.

    Raises
    ------
    InvalidTable, InvalidScores
        If the file or a value in it cannot be used, or there are too few controls for alpha.
    InvalidConfiguration
        If alpha or the confidence is not between 0 and 1.
    """
    scores, column = read(path)
    keys = [name for name in GROUP_KEY if name in scores]
    judgements = []
    for group, rows in _grouped(scores, keys):
        named = ", ".join(f"{name} {value}" for name, value in group.items())
        where = f"{path}: {named}" if named else str(path)
        judgements.append(_judge(rows, where, group, column, alpha, confidence))
    return judgements


def _grouped(
    scores: pd.DataFrame, keys: list[str]
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    if not keys:
        yield {}, scores
        return
    grouped: Any = scores.groupby(keys)
    for values, rows in grouped:
        yield dict(zip(keys, values, strict=True)), rows


def _judge(
    rows: pd.DataFrame,
    where: str,
    group: dict[str, Any],
    column: str,
    alpha: Fraction | float,
    confidence: float | None,
) -> Judgement:
    candidates, controls = (rows.loc[rows["role"] == role, column].to_numpy() for role in ROLES)
    for role, found in zip(ROLES, (candidates, controls), strict=True):
        if not len(found):
            raise InvalidScores(f"{where}: no row has the role {role}; both roles are needed")
    if confidence is None:
        k = conformal.certified_k(len(controls), alpha)
    else:
        k = conformal.confident_k(len(controls), float(alpha), confidence)
    if k == 0:
        raise InvalidScores(f"{where}: {_too_few(len(controls), alpha, confidence)}")
    threshold = conformal.threshold_at(controls, k)
    claims = int(np.count_nonzero(candidates > threshold.log_tau))
    low, high = clopper_pearson(claims, len(candidates))
    return Judgement(
        group=group,
        score=column,
        alpha=alpha,
        confidence=confidence,
        threshold=threshold,
        alpha_star=conformal.realized_fpr(k, len(controls)),
        alpha_dagger=conformal.alpha_dagger(controls),
        n_candidates=len(candidates),
        n_claims=claims,
        generation_interval=(float(low), float(high)),
    )


def _too_few(n: int, alpha: Fraction | float, confidence: float | None) -> str:
    if confidence is None:
        return (
            f"{n} controls are too few for alpha {float(alpha):g}: K = 0, nothing can be claimed; "
            f"the smallest certifiable level is 1/{n + 1} ({float(1 / Fraction(n + 1)):.3g}), and "
            f"this alpha needs at least {controls_needed(1, float(alpha))} controls"
        )
    level = Context(prec=3, rounding=ROUND_CEILING).create_decimal(
        Decimal(conformal.smallest_level(n, confidence))
    )
    return (
        f"{n} controls are too few for alpha {float(alpha):g} with confidence {confidence:g}: "
        f"K = 0, nothing can be claimed; the smallest level they keep to is {level}"
    )


def as_json(judgements: list[Judgement]) -> dict[str, Any] | list[dict[str, Any]]:
    """One group as an object; several as a list of objects that also name their group."""
    if len(judgements) == 1:
        return _as_object(judgements[0])
    return [judgement.group | _as_object(judgement) for judgement in judgements]


def _as_object(judgement: Judgement) -> dict[str, Any]:
    threshold = judgement.threshold
    finite = math.isfinite(threshold.log_tau)
    return {
        "n_controls": threshold.n_controls,
        "k": threshold.k,
        "alpha": float(judgement.alpha),
        "alpha_n": threshold.alpha_n,
        "log_tau": threshold.log_tau if finite else str(threshold.log_tau),
        "in_sample_fpr": threshold.in_sample_fpr,
        "n_candidates": judgement.n_candidates,
        "n_claims": judgement.n_claims,
        "generation_rate": judgement.generation_rate,
        "generation_interval": list(judgement.generation_interval),
        "calibrated_rate": judgement.calibrated_rate,
        "calibrated_interval": list(judgement.calibrated_interval),
        "alpha_star": vars(judgement.alpha_star),
        "alpha_dagger": judgement.alpha_dagger,
    }


def as_text(judgement: Judgement, name: str) -> str:
    """A table of one group's numbers, and one sentence that says what they guarantee."""
    threshold, star = judgement.threshold, judgement.alpha_star
    heading = ", ".join([name, *(f"{key} {value}" for key, value in judgement.group.items())])
    rows = {
        "controls (N)": f"{threshold.n_controls}",
        "requested rate (alpha)": f"{_percent(float(judgement.alpha))}{_with(judgement)}",
        "certified rate": f"{_percent(threshold.alpha_n)} (K = {threshold.k}, K/(N+1))",
        "realized rate": (
            f"at most {_percent(star.q90)} with 90%, {_percent(star.q95)} with 95% confidence; "
            f"central 95% {_percent(star.q025)} to {_percent(star.q975)}"
        ),
        "": f"above the certified rate for {_percent(star.exceedance)} of control samples",
        "threshold": _tau(judgement),
        "controls above it": f"{_percent(threshold.in_sample_fpr)} (carries no guarantee)",
        **_tighter(threshold),
        "most it can realize": f"{_percent(judgement.alpha_dagger)} (controls above the atom)",
        "candidates above it (G)": (
            f"{judgement.n_claims} of {judgement.n_candidates}, "
            f"{_percent(judgement.generation_rate)} {_between(judgement.generation_interval)}"
        ),
        "calibrated rate (M)": (
            f"{_percent(judgement.calibrated_rate)} {_between(judgement.calibrated_interval)}"
        ),
    }
    lines = [f"  {label:<26}{value}" for label, value in rows.items()]
    return "\n".join([heading, *lines, "", _sentence(judgement)])


def _sentence(judgement: Judgement) -> str:
    if judgement.confidence is None:
        guarantee = (
            "a non-member exchangeable with the controls is claimed with probability at most "
            f"{_percent(judgement.threshold.alpha_n)}, on average over draws of the controls"
        )
    else:
        guarantee = (
            f"with {_percent(judgement.confidence)} confidence over draws of the controls, at most "
            f"{_percent(float(judgement.alpha))} of non-members exchangeable with them are claimed"
        )
    return (
        f"{judgement.n_claims} of {judgement.n_candidates} candidates are claimed as memorized: "
        f"{guarantee}; each claim has this guarantee by itself, and what is not claimed may be "
        "memorized all the same."
    )


def _tighter(threshold: conformal.Threshold) -> dict[str, str]:
    """With ties at the threshold, the smallest rate at which it is the same."""
    k = round(threshold.in_sample_fpr * threshold.n_controls) + 1
    if k == threshold.k:
        return {}
    rate = Fraction(k, threshold.n_controls + 1)
    text = f"{_percent(float(rate))} certified by --alpha {k}/{threshold.n_controls + 1}"
    return {"same threshold": text}


def _with(judgement: Judgement) -> str:
    if judgement.confidence is None:
        return ""
    return f" with {_percent(judgement.confidence)} confidence"


def _tau(judgement: Judgement) -> str:
    tau = judgement.threshold.log_tau
    if judgement.score == "score":
        return f"score above {tau:.6g}"
    exponent = tau / math.log(10)
    power = f"1e{exponent:.0f}" if -math.inf < exponent < -20 else f"{math.exp(tau):.2g}"
    return f"log_score above {tau:.6g} (probability {power})"


def _between(interval: tuple[float, float]) -> str:
    return f"(95% interval {_percent(interval[0])} to {_percent(interval[1])})"


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"
