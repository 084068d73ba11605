"""A document and its control under one model, and how each character of the document fared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memfoil.census.coverage import Heat, heat
from memfoil.errors import InvalidScores
from memfoil.stats.budgets import log10_queries
from memfoil.tables import CENSUS_SCORES, CENSUS_WINDOWS, NEAR_VERBATIM

GREEDY, NEAR = "greedy", "near-verbatim"

Group = tuple[int, str]  # length of prefix, procedure


@dataclass(frozen=True)
class Budget:
    """So many queries, and the probability of success asked of them."""

    queries: int
    success: float

    def needed(self, log_scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """log10 of the queries that each score needs; NaN where there is no score."""
        known = np.where(np.isnan(log_scores), -np.inf, log_scores)
        return np.where(np.isnan(log_scores), np.nan, log10_queries(known, self.success))

    def reaches(self, log_scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which scores the queries reach."""
        reached: NDArray[np.bool_] = self.needed(log_scores) <= math.log10(self.queries) + 1e-12
        return reached


@dataclass(frozen=True, eq=False)
class Case:
    """What was measured of a document and its control.

    Parameters
    ----------
    text : str
        The document's.
    windows : CENSUS_WINDOWS frame of both
    scores : CENSUS_SCORES frame of both
    leaving : set of window ids
        The control's windows that overlap a verified passage.
    """

    pair: str
    model: str
    document: str
    control: str
    text: str
    windows: pd.DataFrame
    scores: pd.DataFrame
    leaving: frozenset[str] = frozenset()
    _heats: dict[Group, Heat] = field(default_factory=dict)

    @property
    def groups(self) -> list[Group]:
        """Length of prefix and procedure of every measurement."""
        columns = self.scores[["prefix_tokens", "procedure"]].drop_duplicates()
        return [(int(prefix), str(name)) for prefix, name in columns.itertuples(index=False)]

    def named(self, group: Group) -> dict[str, str | int]:
        """The columns that name a measurement in every table of results."""
        prefix, procedure = group
        names: dict[str, str | int] = {"pair": self.pair, "model": self.model}
        return names | {"prefix_tokens": prefix, "procedure": procedure}

    def measured(self, group: Group, document_id: str) -> pd.DataFrame:
        """The windows of one text with their scores.

        Raises
        ------
        InvalidScores
            If a window has no score.
        """
        prefix, procedure = group
        own = self.scores["prefix_tokens"] == prefix
        own &= self.scores["procedure"] == procedure
        scores = self.scores.loc[own, ["window_id", "log_score"]]
        frame = self.windows[self.windows["document_id"] == document_id]
        frame = frame.merge(scores, on="window_id", how="left", validate="one_to_one")
        if frame["log_score"].isna().any():
            missing = frame.loc[frame["log_score"].isna(), "window_id"].iloc[0]
            raise InvalidScores(
                f"pair {self.pair}, model {self.model}: window {missing} has no score for "
                f"{procedure} at {prefix} prefix tokens"
            )
        return frame

    def controls(self, group: Group, *, decontaminated: bool) -> pd.DataFrame:
        """The control's windows with their scores, all or those that stay."""
        frame = self.measured(group, self.control)
        return frame[~frame["window_id"].isin(self.leaving)] if decontaminated else frame

    def heat(self, group: Group) -> Heat:
        """For each character of the document the best suffix over it; `row` in `measured`."""
        if group not in self._heats:
            frame = self.measured(group, self.document)
            starts, ends = frame["suffix_start_char"].to_numpy(), frame["end_char"].to_numpy()
            scores = frame["log_score"].to_numpy()
            self._heats[group] = heat(starts, ends, scores, len(self.text))
        return self._heats[group]


def positions(cases: Sequence[Case], prefix_tokens: int) -> pd.DataFrame:
    """Every window's score and place, for figures.

    Returns
    -------
    DataFrame
        `pair`, `procedure`, `text` (`document` or `control`), `position` (share of the text
        before the suffix), `log_score`, and `leaving`: it overlaps a verified passage.
    """
    parts = []
    for case in cases:
        for group in case.groups:
            if group[0] != prefix_tokens:
                continue
            for text, name in (("document", case.document), ("control", case.control)):
                frame = case.measured(group, name)
                place = frame["suffix_start_char"] / frame["end_char"].max()
                parts.append(
                    frame[["log_score"]].assign(
                        pair=case.pair,
                        procedure=group[1],
                        text=text,
                        position=place,
                        leaving=frame["window_id"].isin(case.leaving),
                    )
                )
    return pd.concat(parts, ignore_index=True)


def with_near_verbatim(
    scores: pd.DataFrame, near: pd.DataFrame, *, epsilon: int, decoding: str
) -> pd.DataFrame:
    """Scores with those of the procedure `near-verbatim` behind them.

    A window that was searched has its bound at `epsilon` edits; one that was not has its own
    probability under `decoding`, which is a bound too. No score is below that.

    Parameters
    ----------
    scores : CENSUS_SCORES table
    near : NEAR_VERBATIM table
    """
    searched = near.loc[near["radius"] == epsilon, ["window_id", "prefix_tokens", "log_mass"]]
    own = scores[scores["procedure"] == decoding].merge(
        searched, on=["window_id", "prefix_tokens"], how="left", validate="one_to_one"
    )
    own["log_score"] = np.fmax(own["log_score"], own["log_mass"])
    own["procedure"] = NEAR
    return pd.concat([scores, own[scores.columns]], ignore_index=True)


def read_cases(
    model: str,
    pairs: Sequence[tuple[str, str, str]],
    texts: Mapping[str, str],
    tables: Sequence[tuple[str, str, str]],
    *,
    epsilon: int,
    decoding: str,
    leaving: frozenset[str] = frozenset(),
) -> list[Case]:
    """The pairs of one model from their tables.

    Parameters
    ----------
    pairs : sequence of (pair, document, control)
    texts : mapping
        Document id to text.
    tables : sequence of paths, one triple for each pair
        CENSUS_WINDOWS, CENSUS_SCORES and NEAR_VERBATIM.
    epsilon, decoding : of the near-verbatim search
    leaving : set of window ids
    """
    cases = []
    for (pair, document, control), (windows, scores, near) in zip(pairs, tables, strict=True):
        scored = with_near_verbatim(
            CENSUS_SCORES.read(scores),
            NEAR_VERBATIM.read(near),
            epsilon=epsilon,
            decoding=decoding,
        )
        cut = CENSUS_WINDOWS.read(windows)
        cases.append(Case(pair, model, document, control, texts[document], cut, scored, leaving))
    return cases
