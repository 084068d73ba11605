"""What published criteria claim, and what matched controls support, of the same measurements."""

from __future__ import annotations

from itertools import product
from typing import Any

import pandas as pd

from memfoil import calibration
from memfoil.nulls import NULL_KEY
from memfoil.prompts.multi_prefix import compare
from memfoil.prompts.targets import HALVES, WHOLE
from memfoil.stats.proportions import clopper_pearson
from memfoil.tables import (
    GENERAL_SCORES,
    PREFIX_GROUPS,
    PREFIX_HALVES,
    PREFIX_TESTS,
    PROMPT_CRITERIA,
)

Tables = dict[str, pd.DataFrame]  # compression, multi_prefix, parrots: those that were made


def published(measured: Tables) -> pd.DataFrame:
    """Which published criteria each target meets.

    Returns
    -------
    DataFrame of bool
        One row per target, one column per criterion. Compression counts real generation; the
        teacher-forced form stands beside it. A parrot prompt's success is "extraction by any
        prompt" at its weakest.
    """
    columns: dict[str, pd.Series] = {}
    found: list[pd.Series] = []
    if "compression" in measured:
        compression = measured["compression"].set_index("sequence_id")
        columns["ACR > 1"] = compression["acr"] > 1
        columns["ACR > 1, teacher-forced"] = compression["acr_teacher_forced"] > 1
        found.append(compression["acr"] > 0)
    if "multi_prefix" in measured:
        prefixes = measured["multi_prefix"].set_index("sequence_id")
        columns["multi-prefix"] = prefixes["memorized"]
        columns["discoverable"] = prefixes["discoverable"]
        found.append(prefixes["successes"] > 0)
    if found:
        columns["any prompt found"] = pd.concat(found, axis=1).any(axis=1)
    if "parrots" in measured:
        success = measured["parrots"].pivot(
            index="sequence_id", columns="template_id", values="generated"
        )
        columns |= {f"parrot: {name}": success[name] for name in success}
    return pd.DataFrame(columns)


def scores(measured: Tables) -> pd.DataFrame:
    """Compression ratio, distinct prefixes, success rate, eta and parrot success as scores.

    Returns
    -------
    GENERAL_SCORES frame
    """
    parts = []
    if "compression" in measured:
        parts.append(_scores(measured["compression"], "ACR", "acr"))
    if "multi_prefix" in measured:
        for procedure, column in (
            ("distinct prefixes", "distinct"),
            ("success rate", "success_rate"),
            ("eta", "eta"),
        ):
            parts.append(_scores(measured["multi_prefix"], procedure, column))
    if "parrots" in measured:
        for name, rows in measured["parrots"].groupby("template_id", sort=False):
            parts.append(_scores(rows, f"parrot: {name}", "generated"))
    return pd.concat(parts, ignore_index=True)


def _scores(frame: pd.DataFrame, procedure: str, column: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sequence_id": frame["sequence_id"],
            "procedure": procedure,
            "suffix_tokens": 0,
            "score": frame[column].astype("float64"),
        }
    )[GENERAL_SCORES.names]


def judge(
    targets: pd.DataFrame,
    measured: Tables,
    contamination: pd.DataFrame | None,
    *,
    alpha: float,
    confidence: float,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Published criteria and calibrated claims side by side.

    Claims are at rate alpha, or where a set of controls is too small for it at the smallest rate
    that it certifies, 1 / (N + 1).

    Returns
    -------
    THRESHOLDS, RATES and PROMPT_CRITERIA frames
        The first two are those of `memfoil.calibration`, at alpha and at the smallest rate of
        each set of controls; thresholds are on each score's own scale.

    Raises
    ------
    InvalidScores
        If there is no candidate or no control.
    """
    marks = scores(measured)
    sizes = calibration.thresholds(
        marks, targets, contamination, alphas=[alpha], confidence=confidence
    )
    smallest = {1 / (n + 1) for n in sizes["n_controls"]}
    thresholds = calibration.thresholds(
        marks,
        targets,
        contamination,
        alphas=sorted({alpha, *smallest}),
        confidence=confidence,
    )
    rates = calibration.rates(marks, targets, thresholds)
    rows = [*_published_rows(targets, published(measured))]
    rows += _calibrated_rows(targets, thresholds, rates, alpha)
    return thresholds, rates, pd.DataFrame(rows)[[c.name for c in PROMPT_CRITERIA.columns]]


def _published_rows(targets: pd.DataFrame, met: pd.DataFrame) -> list[dict[str, Any]]:
    grouped: Any = targets.groupby(["pool", "role"], sort=False)
    return [
        _row(criterion, pool, role, int(met.loc[rows["sequence_id"], criterion].sum()), len(rows))
        for criterion in met.columns
        for (pool, role), rows in grouped
    ]


def _calibrated_rows(
    targets: pd.DataFrame, thresholds: pd.DataFrame, rates: pd.DataFrame, alpha: float
) -> list[dict[str, Any]]:
    rows = []
    candidates = targets.loc[targets["role"] == "candidate", "pool"].unique()
    smallest = 1 / (thresholds["n_controls"] + 1)
    chosen = thresholds[thresholds["alpha"] == smallest.where(smallest > alpha, alpha)]
    for _, null in chosen.iterrows():
        known = {
            "calibrated": True,
            "control_pool": null["control_pool"],
            "decontaminated": null["decontaminated"],
            "n_controls": null["n_controls"],
            "smallest_level": 1 / (null["n_controls"] + 1),
            "alpha_n": null["alpha_n"],
            "tau": null["log_tau"],
        }
        same = rates[
            (rates[NULL_KEY] == null[NULL_KEY]).all(axis=1)
            & (rates["alpha"] == null["alpha"])
            & rates["stratum"].isin(candidates)
        ]
        for _, rate in same.iterrows():
            counts = int(rate["n_claims"]), int(rate["n_candidates"])
            rows.append(_row(null["procedure"], rate["stratum"], "candidate", *counts) | known)
        n = int(null["n_controls"])
        above = round(null["in_sample_fpr"] * n)
        rows.append(_row(null["procedure"], null["control_pool"], "control", above, n) | known)
    return rows


def _row(criterion: str, pool: str, role: str, claims: int, targets: int) -> dict[str, Any]:
    low, high = clopper_pearson(claims, targets)
    return {
        "criterion": criterion,
        "calibrated": False,
        "control_pool": None,
        "decontaminated": None,
        "n_controls": None,
        "smallest_level": None,
        "alpha_n": None,
        "tau": None,
        "pool": pool,
        "role": role,
        "targets": targets,
        "claims": claims,
        "low": float(low),
        "high": float(high),
    }


def prefix_groups(targets: pd.DataFrame, multi_prefix: pd.DataFrame) -> pd.DataFrame:
    """Memorization, success and cost of multi-prefix search in each set; PREFIX_GROUPS frame."""
    known = targets.merge(multi_prefix, on="sequence_id", validate="one_to_one")
    grouped = known.groupby(["pool", "role"], sort=False)
    result = grouped.agg(
        targets=("sequence_id", "size"),
        memorized=("memorized", "sum"),
        discoverable=("discoverable", "sum"),
        success_rate=("success_rate", "mean"),
        eta=("eta", "mean"),
        needed=("needed", "mean"),
        budget=("budget", "mean"),
        runs=("runs", "mean"),
    )
    return result.reset_index()[PREFIX_GROUPS.names]


def prefix_tests(targets: pd.DataFrame, multi_prefix: pd.DataFrame) -> pd.DataFrame:
    """Are success rates larger in one group? PREFIX_TESTS frame.

    Memorized against not, as published, and every set of candidates against every set of
    controls, which success does not define.
    """
    known = targets.merge(multi_prefix, on="sequence_id", validate="one_to_one")
    rate, memorized = known["success_rate"], known["memorized"]
    groups = {"memorized": rate[memorized], "not memorized": rate[~memorized]}
    groups |= {pool: rate[known["pool"] == pool] for pool in known["pool"].unique()}
    candidates, controls = (
        known.loc[known["role"] == role, "pool"].unique() for role in ("candidate", "control")
    )
    rows = []
    for larger, smaller in [("memorized", "not memorized"), *product(candidates, controls)]:
        one, other = groups[larger], groups[smaller]
        test = compare(one, other)
        if test:
            rows.append((larger, smaller, len(one), len(other), one.mean(), other.mean(), *test))
    return pd.DataFrame(rows, columns=PREFIX_TESTS.names)


def prefix_halves(targets: pd.DataFrame, multi_prefix: pd.DataFrame) -> pd.DataFrame:
    """Wholes and their halves, memorized together or not; PREFIX_HALVES frame."""
    memorized = multi_prefix.set_index("sequence_id")["memorized"]
    pools = targets[targets["part"] == WHOLE].set_index("sequence_id")["pool"]
    halves = targets[targets["part"].isin(HALVES)]
    known = pd.DataFrame(
        {
            "pool": halves["whole_id"].map(pools),
            "part": halves["part"],
            "whole": halves["whole_id"].map(memorized),
            "half": halves["sequence_id"].map(memorized),
        }
    ).astype({"whole": bool, "half": bool})
    counted = known.assign(
        both=known["whole"] & known["half"],
        whole_only=known["whole"] & ~known["half"],
        half_only=~known["whole"] & known["half"],
        neither=~known["whole"] & ~known["half"],
    ).drop(columns=["whole", "half"])
    result = counted.groupby(["pool", "part"], sort=False).sum().reset_index()
    return result[PREFIX_HALVES.names]
