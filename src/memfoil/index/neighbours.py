"""Near-duplicates: what in a corpus lies within a few token edits of a window.

An alignment with at most d edits leaves one of d + 1 pieces of the window untouched. So every
piece is looked up, and from each of its occurrences the window is aligned to both sides by a
banded dynamic program (Ukkonen 1985). Nothing is missed, unless a piece is so frequent that it
is not followed up: such pieces are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memfoil.errors import InvalidIndex
from memfoil.index import kernel
from memfoil.index.query import Batch, Ids, Index, Place


@dataclass(frozen=True)
class Neighbour:
    """The stretch of the corpus nearest to a window.

    `distance` is the token edit distance (substitutions, insertions, deletions); with `place`
    it is None where nothing was found. `skipped_pieces` were too frequent to be followed up: if
    there are any, something nearer, or anything at all, may have been missed.
    """

    distance: int | None
    place: Place | None
    n_tokens: int
    skipped_pieces: int


def neighbours(
    windows: Sequence[Ids], index: Index, *, max_distance: int, max_piece_count: int
) -> list[Neighbour]:
    """For each window the stretch of one document within `max_distance` token edits of it.

    The stretch with the smallest distance; of several the first in the corpus; of those that
    start there the shortest. A stretch may be longer or shorter than the window by as many
    tokens as there may be edits.

    Parameters
    ----------
    windows : sequences of token ids
        Each of more than `max_distance` tokens.
    max_piece_count : int
        A piece that occurs more often than this in the corpus is skipped, and counted. A
        window that occurs as it stands is always found.

    Raises
    ------
    InvalidIndex
        If a window is too short to be cut into pieces, or holds ids outside the vocabulary.
    """
    short = [i for i, window in enumerate(windows) if len(window) <= max_distance]
    if short:
        raise InvalidIndex(
            f"sequence {short[0]}: a window of {len(windows[short[0]])} tokens is too short for "
            f"an edit distance of {max_distance}; it needs more tokens than that"
        )
    found = _verbatim(windows, index)
    rest = [i for i, neighbour in enumerate(found) if neighbour is None]
    near = _near([windows[i] for i in rest], index, max_distance, max_piece_count)
    for i, neighbour in zip(rest, near, strict=True):
        found[i] = neighbour
    return [neighbour for neighbour in found if neighbour is not None]


def _verbatim(windows: Sequence[Ids], index: Index) -> list[Neighbour | None]:
    low, high = index.ranks(index.batch(windows))
    found: list[Neighbour | None] = []
    for i, window in enumerate(windows):
        shard = int(np.argmax(high[:, i] > low[:, i]))
        if high[shard, i] == low[shard, i]:
            found.append(None)
            continue
        first = int(index.shards[shard].positions(low[shard, i], high[shard, i])[0])
        found.append(Neighbour(0, index.place_of(index.shards[shard], first), len(window), 0))
    return found


def _near(
    windows: Sequence[Ids], index: Index, max_distance: int, max_piece_count: int
) -> list[Neighbour]:
    batch = index.batch(windows)
    pieces = _pieces(batch, max_distance + 1)
    low, high = index.ranks(pieces)
    frequent = (high - low).sum(axis=0) > max_piece_count
    high[:, frequent] = low[:, frequent]
    skipped = frequent.reshape(-1, max_distance + 1).sum(axis=1)

    nearest = [(max_distance + 1, 0, 0, 0)] * len(batch)
    for number, shard in enumerate(index.shards):
        best = np.full((len(batch), 3), max_distance + 1)
        index.spread(
            kernel.nearest,
            shard,
            batch.ids,
            batch.bounds,
            pieces.bounds,
            low[number],
            high[number],
            results=(best,),
        )
        for i, (distance, start, length) in enumerate(best.tolist()):
            nearest[i] = min(nearest[i], (distance, number, start, length))
    return [
        Neighbour(distance, index.place_of(index.shards[number], start), length, int(count))
        if distance <= max_distance
        else Neighbour(None, None, 0, int(count))
        for (distance, number, start, length), count in zip(nearest, skipped, strict=True)
    ]


def _pieces(windows: Batch, per_window: int) -> Batch:
    """Each window cut into pieces of equal length, or nearly so."""
    starts, lengths = windows.bounds[:-1, None], np.diff(windows.bounds)[:, None]
    cuts = starts + lengths * np.arange(per_window) // per_window
    return Batch(windows.ids, np.append(cuts.ravel(), windows.bounds[-1]))
