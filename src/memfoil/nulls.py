"""What a calibration rests on: scores as a matrix, and the nulls that control pools make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memfoil.errors import InvalidConfiguration, InvalidScores, InvalidTable

ROLES = ("candidate", "control")
GROUP_KEY = ["procedure", "suffix_tokens"]
NULL_KEY = ["control_pool", "decontaminated", *GROUP_KEY]


@dataclass(frozen=True)
class Null:
    """A control pool as drawn or decontaminated: `controls` marks its sequences."""

    pool: str
    decontaminated: bool
    controls: NDArray[np.bool_]

    def key(self, group: tuple[str, int]) -> dict[str, Any]:
        """The key columns of this null's rows for one group."""
        return dict(zip(NULL_KEY, (self.pool, self.decontaminated, *group), strict=True))


@dataclass(frozen=True)
class Comparison:
    """Every score of a matched comparison.

    `scores[g, s]` is the log-score of sequence s (in the order of `sequences`, which is sorted
    by `sequence_id`) under group g, a procedure at one suffix length (`groups[g]`).
    """

    sequences: pd.DataFrame
    groups: tuple[tuple[str, int], ...]
    scores: NDArray[np.float64]
    nulls: tuple[Null, ...]

    @property
    def candidates(self) -> NDArray[np.bool_]:
        return (self.sequences["role"] == "candidate").to_numpy()

    def scores_of(self, group: tuple[str, int]) -> NDArray[np.float64]:
        """All sequences' scores under one procedure and suffix length.

        Raises
        ------
        InvalidTable
            If it was not scored.
        """
        if group not in self.groups:
            raise InvalidTable(f"scores: nothing for {group[0]} at {group[1]} suffix tokens")
        return self.scores[self.groups.index(group)]

    def null(self, pool: str, decontaminated: bool) -> Null:
        """The null of a control pool.

        Raises
        ------
        InvalidTable
            If there is none.
        """
        for null in self.nulls:
            if (null.pool, null.decontaminated) == (pool, decontaminated):
                return null
        state = "decontaminated" if decontaminated else "as drawn"
        raise InvalidTable(f"thresholds: pool {pool}, {state}, is not among the control pools")

    def at(self, suffix_tokens: Sequence[int]) -> Iterator[tuple[str, int]]:
        """The groups of the chosen suffix lengths.

        Raises
        ------
        InvalidConfiguration
            If a length was not scored.
        """
        scored = sorted({length for _, length in self.groups})
        for length in suffix_tokens:
            if length not in scored:
                raise InvalidConfiguration(
                    f"suffix length {length}: scored are {scored[0]} to {scored[-1]} tokens"
                )
        return (group for group in self.groups if group[1] in suffix_tokens)

    def strata(self, splits: pd.DataFrame | None) -> dict[str, NDArray[np.bool_]]:
        """The candidates that rates are given for: all, each pool's, and with a SPLITS table those
        whose passage occurs so often in the training text; `strata[name]` marks their sequences.

        Raises
        ------
        InvalidScores
            If there is no candidate.
        InvalidTable
            If a candidate has no split.
        """
        candidates, pools = self.candidates, self.sequences["pool"]
        if not candidates.any():
            raise InvalidScores("sequences: no candidate; there is nothing to judge")
        strata = {"all": candidates}
        for pool in sorted(pools[candidates].unique()):
            strata[pool] = candidates & (pools == pool).to_numpy()
        if splits is not None:
            repetitions = self._repetitions(splits)
            for n in np.unique(repetitions[candidates]):
                strata[f"repetitions {n}"] = candidates & (repetitions == n)
        return strata

    def _repetitions(self, splits: pd.DataFrame) -> NDArray[np.int64]:
        """How often each sequence's passage occurs in the training text; -1 for others."""
        known = splits.set_index("passage_id")["repetitions"]
        names = self.sequences["sequence_id"]
        missing = self.candidates & ~names.isin(known.index).to_numpy()
        if missing.any():
            raise InvalidTable(
                f"splits: passage {names[missing].iloc[0]} of a candidate is missing"
            )
        return known.reindex(names, fill_value=-1).to_numpy(dtype=np.int64)


def compare(
    scores: pd.DataFrame, sequences: pd.DataFrame, contamination: pd.DataFrame | None
) -> Comparison:
    """Arrange the tables for calibration; the order of their rows does not matter.

    Parameters
    ----------
    scores : SCORES or GENERAL_SCORES table
        One row for every sequence, procedure and suffix length.
    sequences : SEQUENCES table
        Whose `role` and `pool` say who is judged, and by whom.
    contamination : CONTAMINATION table, or None
        Which controls leave their pool (`member`). With None there are only pools as drawn.

    Raises
    ------
    InvalidScores
        If a score is NaN or positive or missing, there is no control, or none is left in a pool.
    InvalidTable
        If a role is unknown, a score's sequence is, or a control was not searched for.
    """
    sequences = sequences.sort_values("sequence_id", ignore_index=True)
    unknown = ~sequences["role"].isin(ROLES)
    if unknown.any():
        row = sequences[unknown].iloc[0]
        raise InvalidTable(
            f"sequences: {row['sequence_id']}: role {row['role']} is not candidate or control"
        )
    groups, matrix = _matrix(scores, pd.Index(sequences["sequence_id"]))
    return Comparison(sequences, groups, matrix, tuple(_nulls(sequences, contamination)))


def _nulls(sequences: pd.DataFrame, contamination: pd.DataFrame | None) -> Iterator[Null]:
    control = sequences["role"] == "control"
    if not control.any():
        raise InvalidScores("sequences: no control; a threshold needs matched non-members")
    member = None if contamination is None else _members(sequences, control, contamination)
    for pool in sorted(sequences.loc[control, "pool"].unique()):
        drawn = (control & (sequences["pool"] == pool)).to_numpy()
        yield Null(pool, False, drawn)
        if member is not None:
            clean = drawn & ~member
            if not clean.any():
                raise InvalidScores(
                    f"pool {pool}: no control is left, all {drawn.sum()} are members of the "
                    "training text; draw it from other documents or dates"
                )
            yield Null(pool, True, clean)


def _members(
    sequences: pd.DataFrame, control: pd.Series, contamination: pd.DataFrame
) -> NDArray[np.bool_]:
    verdicts = contamination.set_index("sequence_id")["member"]
    unsearched = control & ~sequences["sequence_id"].isin(verdicts.index)
    if unsearched.any():
        name = sequences.loc[unsearched, "sequence_id"].iloc[0]
        raise InvalidTable(
            f"contamination: control {name} is missing ({unsearched.sum()} in all); search the "
            "index for every control"
        )
    return verdicts.reindex(sequences["sequence_id"], fill_value=False).to_numpy(dtype=bool)


def _matrix(
    scores: pd.DataFrame, names: pd.Index
) -> tuple[tuple[tuple[str, int], ...], NDArray[np.float64]]:
    general = "score" in scores
    values = scores["score" if general else "log_score"].to_numpy(dtype=np.float64)
    bad = np.isnan(values) if general else np.isnan(values) | (values > 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise InvalidScores(
            f"scores: column score, row {row}: NaN is not a score"
            if general
            else f"scores: column log_score, row {row}: {values[row]} is not the natural log of a "
            "probability (at most 0, -inf allowed)"
        )
    column = names.get_indexer(pd.Index(scores["sequence_id"]))
    if (column < 0).any():
        name = scores["sequence_id"].iloc[int(np.argmax(column < 0))]
        raise InvalidTable(f"scores: sequence {name} is not in the sequences table")
    grouped: Any = scores.groupby(GROUP_KEY, sort=True)
    groups = tuple((str(name), int(length)) for name, length in grouped.groups)
    cell = grouped.ngroup().to_numpy() * len(names) + column
    counts = np.bincount(cell, minlength=len(groups) * len(names))
    if not len(groups) or (counts != 1).any():
        raise InvalidScores(_not_once(counts, groups, names))
    matrix = np.empty(len(counts))
    matrix[cell] = values
    return groups, matrix.reshape(len(groups), len(names))


def _not_once(counts: NDArray, groups: tuple[tuple[str, int], ...], names: pd.Index) -> str:
    if not groups:
        return "scores: the table is empty"
    cell = int(np.argmax(counts != 1))
    procedure, length = groups[cell // len(names)]
    return (
        f"scores: sequence {names[cell % len(names)]} has {counts[cell]} scores for {procedure} at "
        f"{length} suffix tokens; every sequence needs one"
    )
