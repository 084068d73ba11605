"""What a census says: thresholds, coverage and curves of every pair of one model.

Source: Cooper et al. 2026, sections 5 and 6, appendices E and F.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memfoil.census.case import GREEDY, Budget, Case, Group
from memfoil.errors import InvalidScores
from memfoil.stats.census import LOG_10, Maximum, clears, margin, measured_maximum
from memfoil.tables import CENSUS, CENSUS_CURVES, CENSUS_THRESHOLDS, Table

Tau = Mapping[tuple[str, Group], tuple[float, float]]


def thresholds(cases: Sequence[Case], prefix_tokens: int) -> pd.DataFrame:
    """The measured maximum of every control, as it is and decontaminated; greedy has none.

    Parameters
    ----------
    cases : sequence of Case
        All pairs of one model; the largest of their thresholds is the global one.
    prefix_tokens : int
        Length of prefix at which a threshold must be of use; at others it is an ablation.

    Returns
    -------
    CENSUS_THRESHOLDS frame

    Raises
    ------
    InvalidScores
        If a control has no window left, or at `prefix_tokens` a decontaminated threshold is at or
        near 1.
    """
    rows = [
        _threshold(case, group, decontaminated)
        for case in cases
        for group in case.groups
        if group[1] != GREEDY
        for decontaminated in (False, True)
    ]
    frame = pd.DataFrame(rows)
    common = ["model", "prefix_tokens", "procedure", "decontaminated"]
    frame["log10_tau_global"] = frame.groupby(common)["log10_tau"].transform("max")
    useless = ~frame["usable"] & frame["decontaminated"] & (frame["prefix_tokens"] == prefix_tokens)
    if useless.any():
        row = frame[useless].iloc[0]
        raise InvalidScores(
            f"pair {row['pair']}, model {row['model']}, {row['procedure']} at {prefix_tokens} "
            f"prefix tokens: the threshold is {10 ** row['log10_tau']:g}, at or near 1, set by "
            f"window {row['window_id']} of the control with {math.exp(row['log_maximum']):.3g}: "
            "nothing could clear it. If that passage is reused text, say so in the review sheet; "
            "else take longer prefixes or suffixes, or another control"
        )
    return _ordered(frame, CENSUS_THRESHOLDS)


def _threshold(case: Case, group: Group, decontaminated: bool) -> dict[str, Any]:
    drawn = case.controls(group, decontaminated=False)
    left = case.controls(group, decontaminated=decontaminated)
    try:
        largest: Maximum = measured_maximum(left["log_score"])
    except InvalidScores as error:
        raise InvalidScores(
            f"pair {case.pair}, model {case.model}: of the {len(drawn)} windows of {case.control} "
            f"{len(left)} are left: {error}"
        ) from error
    return case.named(group) | {
        "decontaminated": decontaminated,
        "n_windows": len(left),
        "n_removed": len(drawn) - len(left),
        "window_id": left["window_id"].iloc[largest.row],
        "log_maximum": largest.log_maximum,
        "log10_tau": largest.log10_tau,
        "usable": largest.usable,
    }


def taus(thresholds: pd.DataFrame) -> Tau:
    """(pair, (prefix, procedure)) to (tau_book, tau_global), log10, of decontaminated controls."""
    used = thresholds[thresholds["decontaminated"]]
    return {
        (row["pair"], (row["prefix_tokens"], row["procedure"])): (
            row["log10_tau"],
            row["log10_tau_global"],
        )
        for row in used.to_dict("records")
    }


def coverage(cases: Sequence[Case], thresholds: pd.DataFrame, budget: Budget) -> pd.DataFrame:
    """Characters of every document in suffixes above the threshold, and within the budget.

    Greedy decoding has no threshold: counted are the suffixes that it generates.

    Returns
    -------
    CENSUS frame
    """
    found = taus(thresholds)
    rows: list[dict[str, Any]] = []
    for case in cases:
        for group in case.groups:
            if group[1] == GREEDY:
                rows.append(_coverage(case, group, budget, "none", -math.inf))
                continue
            for name, tau in zip(("book", "global"), found[case.pair, group], strict=True):
                rows.append(_coverage(case, group, budget, name, tau))
    frame = pd.DataFrame(rows)
    frame["log10_tau"] = frame["log10_tau"].where(frame["threshold"] != "none")
    return _ordered(frame, CENSUS)


def _coverage(
    case: Case, group: Group, budget: Budget, threshold: str, log10_tau: float
) -> dict[str, Any]:
    windows = case.measured(group, case.document)
    controls = case.controls(group, decontaminated=True)
    log_score = case.heat(group).log_score
    memorized = clears(log_score, log10_tau)
    reachable = memorized & budget.reaches(log_score)
    return case.named(group) | {
        "threshold": threshold,
        "log10_tau": log10_tau,
        "document_id": case.document,
        "characters": len(case.text),
        "suffix_chars": int((~np.isnan(log_score)).sum()),
        "n_windows": len(windows),
        "n_repeated": int((windows["occurrences"] > 1).sum()),
        "n_above": int(clears(windows["log_score"], log10_tau).sum()),
        "n_control_above": int(clears(controls["log_score"], log10_tau).sum()),
        "memorized_chars": int(memorized.sum()),
        "coverage": float(memorized.mean()),
        "reachable_chars": int(reachable.sum()),
        "reachable": float(reachable.mean()),
        "unreachable": float((memorized & ~reachable).mean()),
        "query_budget": budget.queries,
        "success": budget.success,
    }


def curves(cases: Sequence[Case], thresholds: pd.DataFrame, budget: Budget) -> pd.DataFrame:
    """Coverage as the threshold moves, the margin over tau_book, or the queries allowed above it.

    One point at every power of ten, and one at the budget itself. A threshold of zero has no
    margin.

    Returns
    -------
    CENSUS_CURVES frame
    """
    found = taus(thresholds)
    parts = [
        pd.DataFrame({**case.named(group), "curve": name, "x": x, "covered_chars": covered})
        for case in cases
        for group in case.groups
        if group[1] != GREEDY
        for name, x, covered in _curves(case, group, found[case.pair, group][0], budget)
    ]
    frame = pd.concat(parts, ignore_index=True)
    characters = {case.pair: len(case.text) for case in cases}
    frame["coverage"] = frame["covered_chars"] / frame["pair"].map(characters)
    return _ordered(frame, CENSUS_CURVES)


Curve = tuple[str, NDArray[np.float64], NDArray[np.int64]]


def _curves(case: Case, group: Group, log10_tau: float, budget: Budget) -> Iterator[Curve]:
    log_score = case.heat(group).log_score
    log_score = log_score[log_score > -np.inf]
    lowest = log_score.min(initial=0.0) / LOG_10
    x = np.arange(math.floor(lowest), 1.0)
    yield "threshold", x, np.array([int(clears(log_score, t).sum()) for t in x])

    above = log_score[clears(log_score, log10_tau)]
    least = lowest if math.isinf(log10_tau) else log10_tau
    if math.isfinite(log10_tau):
        x = np.arange(0.0, math.floor(-log10_tau) + 1.0)
        delta = margin(above, log10_tau)
        yield "margin", x, np.array([int(clears(delta * LOG_10, d).sum()) for d in x])

    x = np.unique([*np.arange(0.0, math.ceil(-least) + 2.0), math.log10(budget.queries)])
    needed = np.sort(budget.needed(above))
    yield "budget", x, np.searchsorted(needed, x + 1e-12, side="right").astype(np.int64)


def _ordered(frame: pd.DataFrame, table: Table) -> pd.DataFrame:
    return frame[table.names]
