"""What beam search recovers of a document, and what of that samples would not reach.

Source: Cooper et al. 2026, section 6 and appendix F.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memfoil.census.case import NEAR, Budget, Case
from memfoil.census.results import taus
from memfoil.stats.census import clears
from memfoil.tables import CENSUS_RECOVERY

OUTPUTS = {"top-1": "top_distance", "pool": "pool_distance"}


def recovery(
    cases: Sequence[Case],
    beam_searches: Sequence[pd.DataFrame],
    thresholds: pd.DataFrame,
    budget: Budget,
    *,
    decoding: str,
) -> pd.DataFrame:
    """Memorized characters in suffixes that beam search comes up with, and those beyond samples.

    Verbatim: the suffix itself is generated and its probability clears its tau_book. Near-verbatim:
    something within the searched edits is, and the bound around it clears that procedure's. Beyond
    are characters that no suffix above the threshold has within the query budget.

    Parameters
    ----------
    beam_searches : BEAM_SEARCHES tables, one for each case, of its document's windows
    decoding : procedure under which was searched

    Returns
    -------
    CENSUS_RECOVERY frame
    """
    found = taus(thresholds)
    rows = [
        _recovered(case, beams, group, found[case.pair, group][0], budget, match, output)
        for case, beams in zip(cases, beam_searches, strict=True)
        for prefix in beams["prefix_tokens"].unique()
        for match, group in (("verbatim", (int(prefix), decoding)), (NEAR, (int(prefix), NEAR)))
        for output in OUTPUTS
    ]
    return pd.DataFrame(rows, columns=CENSUS_RECOVERY.names)


def _recovered(
    case: Case,
    beams: pd.DataFrame,
    group: tuple[int, str],
    log10_tau: float,
    budget: Budget,
    match: str,
    output: str,
) -> dict[str, Any]:
    searched = beams[beams["prefix_tokens"] == group[0]]
    distance = searched[OUTPUTS[output]]
    hit = searched.loc[distance.eq(0) if match == "verbatim" else distance.notna(), "window_id"]
    windows = case.measured(group, case.document)
    windows = windows[clears(windows["log_score"], log10_tau) & windows["window_id"].isin(hit)]
    covered = _union(windows, len(case.text))
    log_score = case.heat(group).log_score
    beyond = covered & ~(clears(log_score, log10_tau) & budget.reaches(log_score))
    return {
        "pair": case.pair,
        "model": case.model,
        "prefix_tokens": group[0],
        "match": match,
        "output": output,
        "n_searched": len(searched),
        "n_recovered": len(windows),
        "recovered_chars": int(covered.sum()),
        "coverage": float(covered.mean()),
        "beyond_chars": int(beyond.sum()),
        "beyond": float(beyond.mean()),
    }


def _union(windows: pd.DataFrame, characters: int) -> NDArray[np.bool_]:
    """Which characters lie in the suffix of one of the windows."""
    covered = np.zeros(characters, bool)
    for start, end in _spans(windows):
        covered[start:end] = True
    return covered


def _spans(windows: pd.DataFrame) -> Iterator[Sequence[int]]:
    return zip(windows["suffix_start_char"], windows["end_char"], strict=True)
