"""The text around occurrences, many at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from memfoil.index.files import Shard
from memfoil.index.kernel import compiled


@dataclass(frozen=True, eq=False)
class Windows:
    """Stretches of documents around occurrences, in the order in which they were asked for.

    Window i is `ids[bounds[i]:bounds[i + 1]]`. `document_start` is the token of the document at
    which the occurrence starts, `window_start` the one at which the window does; -1 where an
    index does not say.
    """

    ids: np.ndarray
    bounds: np.ndarray
    document_id: list[str]
    document_start: np.ndarray
    window_start: np.ndarray

    def __len__(self) -> int:
        return len(self.document_id)

    def each(self) -> list[np.ndarray]:
        """The windows one by one."""
        return [self.ids[start:stop] for start, stop in pairwise(self.bounds.tolist())]


def cut(
    shards: tuple[Shard, ...],
    shard: np.ndarray,
    rank: np.ndarray,
    n_tokens: np.ndarray,
    context: np.ndarray,
) -> Windows:
    """The windows around the suffixes of some ranks.

    Parameters
    ----------
    shard, rank : (n,) int64
        Which suffix of which shard; none of them starts at a separator.
    n_tokens, context : (n,) int64
        Length of the occurrence, and how many tokens to add on each side, as far as the
        document goes.
    """
    names = np.empty(len(rank), object)
    first, start, stop = (np.empty(len(rank), np.int64) for _ in range(3))
    position = np.empty(len(rank), np.int64)
    for part in shards:
        here = np.flatnonzero(shard == part.number)
        position[here] = at = part.positions_of(rank[here])
        documents = part.documents_at(at)
        names[here] = part.document_ids(documents)
        first[here], ends = part.spans(documents)
        start[here] = np.maximum(at - context[here], first[here])
        stop[here] = np.minimum(at + n_tokens[here] + context[here], ends)
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(stop - start)])
    ids = np.empty(bounds[-1], np.int32)
    for part in shards:
        _copy(part.tokens, start, np.flatnonzero(shard == part.number), bounds, ids)
    return Windows(ids, bounds, list(names), position - first, start - first)


@compiled
def _copy(
    tokens: np.ndarray, start: np.ndarray, which: np.ndarray, bounds: np.ndarray, ids: np.ndarray
) -> None:
    for i in which:
        for k in range(bounds[i + 1] - bounds[i]):
            ids[bounds[i] + k] = tokens[start[i] + k]
