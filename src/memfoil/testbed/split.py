"""Which passages the testbed's model is trained on, and how often."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from memfoil.errors import InvalidConfiguration
from memfoil.testbed.documents import placed

EDITED = "leaked, edited"


def split(
    passages: pd.DataFrame,
    *,
    cutoff: datetime.date | str,
    first: datetime.date | str | None = None,
    held_out: int,
    planted_per_level: int,
    repetitions: Sequence[int],
    training_passages: int,
    leaked: int = 0,
    leaked_repetitions: int = 1,
    documents: Sequence[Mapping[str, Any]] = (),
    seed: int,
) -> pd.DataFrame:
    """Divide passages at random into held-out, planted and training; set the later ones apart.

    Every group takes the passages with the smallest keys of their own kind among those not yet
    taken, a key being a hash of seed, group and passage. So a passage that comes or goes moves at
    most one other passage per group, and none on the other side of the cutoff.

    Parameters
    ----------
    passages : PASSAGES frame
    cutoff : date
        Passages from this day on are `post-cutoff`; only earlier ones can be trained on.
    first : date, optional
        Passages before this day are `unused`.
    held_out, training_passages : int
        Number of passages kept back, and of passages that are read once.
    planted_per_level : int
        Number of passages for each entry of `repetitions`.
    repetitions : sequence of distinct int, each at least 2
        How often a planted passage is read.
    leaked, leaked_repetitions : int
        Number of passages from the cutoff on that are read all the same, and how often: what
        later text takes over from the training text. Half of them are `leaked, edited`: a word
        is missing in the training text.
    documents : sequence of mappings
        Documents that are placed whole, as `documents.placed` takes them; their passages are
        drawn for nothing else.

    Returns
    -------
    SPLITS frame
        One row per passage, in the order given.

    Raises
    ------
    InvalidConfiguration
        If there are too few passages between the two dates, the dates or levels are no dates or
        levels, or a document cannot be placed.
    """
    first_day, cutoff_day = _day("first", first), _day("cutoff", cutoff)
    if first_day >= cutoff_day:
        raise InvalidConfiguration(f"testbed: first {first} is not before cutoff {cutoff}")
    if len(set(repetitions)) < len(repetitions) or min(repetitions, default=2) < 2:
        raise InvalidConfiguration(
            f"testbed: repetitions {list(repetitions)}: each must be at least 2 and occur once"
        )
    whole = placed(passages, documents)
    free = passages[~passages["passage_id"].isin(whole)]
    dates = pd.to_datetime(free["date"])
    earlier = set(free.loc[(dates >= first_day) & (dates < cutoff_day), "passage_id"])
    groups = [("held-out", 0, held_out)]
    groups += [("planted", level, planted_per_level) for level in repetitions]
    groups += [("training", 1, training_passages)]
    needed = sum(count for _, _, count in groups)
    if needed > len(earlier):
        raise InvalidConfiguration(
            f"testbed: {needed} passages are needed ({held_out} held out, {planted_per_level} x "
            f"{len(repetitions)} planted, {training_passages} training) and {len(earlier)} are "
            f"there before {cutoff}{f' and from {first} on' if first else ''}: "
            "ask for fewer, widen the dates or shorten the passages"
        )
    later = set(free.loc[dates >= cutoff_day, "passage_id"])
    if leaked > len(later):
        raise InvalidConfiguration(
            f"testbed: {leaked} leaked passages are needed and {len(later)} are there from "
            f"{cutoff} on: ask for fewer or set the cutoff earlier"
        )
    leaks = [
        ("leaked", leaked_repetitions, leaked - leaked // 2),
        (EDITED, leaked_repetitions, leaked // 2),
    ]
    assigned = dict.fromkeys(later, ("post-cutoff", 0))
    assigned |= _draw(earlier, groups, seed) | _draw(later, leaks, seed) | whole
    rows = [(name, *assigned.get(name, ("unused", 0))) for name in passages["passage_id"]]
    return pd.DataFrame(rows, columns=["passage_id", "split", "repetitions"])


def _draw(
    passages: set[str], groups: list[tuple[str, int, int]], seed: int
) -> dict[str, tuple[str, int]]:
    """Split and repetitions of the passages drawn into (split, repetitions, count) groups."""
    assigned: dict[str, tuple[str, int]] = {}
    for name, times, count in groups:
        chosen = smallest_keys(passages - assigned.keys(), count, f"{seed} {name} {times}")
        assigned |= dict.fromkeys(chosen, (name, times))
    return assigned


def smallest_keys(items: set[str], count: int, salt: str) -> list[str]:
    """The `count` items whose hash with `salt` is smallest, in the order of their hashes."""
    return sorted(items, key=lambda item: hashlib.sha256(f"{salt}\0{item}".encode()).digest())[
        :count
    ]


def _day(key: str, date: datetime.date | str | None) -> pd.Timestamp:
    try:
        return pd.Timestamp("0001-01-01" if date is None else date)
    except ValueError as error:
        raise InvalidConfiguration(
            f"testbed: {key}: {date!r} is not a date: write it as 1990-01-01"
        ) from error
