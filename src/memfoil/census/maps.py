"""A document character by character: heat in runs, and the planted truth beside what is found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from memfoil.census.case import GREEDY, Budget, Case, Group
from memfoil.census.coverage import runs
from memfoil.census.results import taus
from memfoil.stats.census import clears
from memfoil.tables import CENSUS_HEAT, CENSUS_TRUTH


def heat_runs(cases: Sequence[Case], budget: Budget) -> pd.DataFrame:
    """Runs of characters with the same best window, for every procedure and length of prefix.

    Returns
    -------
    CENSUS_HEAT frame
        The runs of one measurement cover the document without a gap.

    Source: Cooper et al. 2026, appendix E.2.
    """
    parts = [_heat_runs(case, group, budget) for case in cases for group in case.groups]
    frame = pd.concat(parts, ignore_index=True)
    return frame[CENSUS_HEAT.names]


def _heat_runs(case: Case, group: Group, budget: Budget) -> pd.DataFrame:
    heat = case.heat(group)
    edges = runs(heat.row)
    first = edges[:-1]
    names = case.measured(group, case.document)["window_id"].iloc[heat.row[first]]
    log_score = heat.log_score[first]
    covered = heat.row[first] >= 0
    return pd.DataFrame(
        {
            **case.named(group),
            "start_char": first,
            "end_char": edges[1:],
            "window_id": names.reset_index(drop=True).where(covered),
            "log_score": log_score,
            "log10_queries": budget.needed(log_score),
        }
    )


def truth(
    cases: Sequence[Case],
    thresholds: pd.DataFrame,
    passages: pd.DataFrame | None,
    splits: pd.DataFrame | None,
) -> pd.DataFrame:
    """How much is found of what was read so often in training; characters in no passage: 0 times.

    Parameters
    ----------
    passages, splits : PASSAGES and SPLITS tables, or None where the truth is not known
        Of the run whose documents the cases' are.

    Returns
    -------
    CENSUS_TRUTH frame, empty where the truth is not known
    """
    rows: list[dict[str, Any]] = []
    if passages is not None and splits is not None:
        for case in cases:
            own = passages[passages["document_id"] == case.document]
            read = own.merge(splits, on="passage_id", validate="one_to_one")
            rows += _truth(case, thresholds, read)
    return pd.DataFrame(rows, columns=CENSUS_TRUTH.names)


def _truth(case: Case, thresholds: pd.DataFrame, read: pd.DataFrame) -> Iterator[dict[str, Any]]:
    times = np.zeros(len(case.text), np.int64)
    places = (read[name] for name in ("start_char", "end_char", "repetitions"))
    for start, end, n in zip(*places, strict=True):
        times[start:end] = n
    found = taus(thresholds)
    for group in case.groups:
        tau = -np.inf if group[1] == GREEDY else found[case.pair, group][0]
        memorized = clears(case.heat(group).log_score, tau)
        for n in np.unique(times):
            here = times == n
            yield case.named(group) | {
                "repetitions": int(n),
                "characters": int(here.sum()),
                "share": float(here.mean()),
                "memorized_chars": int(memorized[here].sum()),
                "found": float(memorized[here].mean()),
            }
