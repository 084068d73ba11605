"""Which of a span's occurrences are looked at, and what of the generation they hold."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from memfoil.index.query import Batch
from memfoil.tracing.spans import Spans

DOCUMENTS_PER_SPAN = 10
WINDOW_FACTOR = 5
"""A window is so many times as long as the generation."""


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Occurrences chosen, span by span: of span `span[k]`, the suffix of a rank in a shard."""

    span: np.ndarray
    shard: np.ndarray
    rank: np.ndarray


def choose(
    low: np.ndarray, high: np.ndarray, spans: Spans, generations: Batch, seed: int
) -> Occurrences:
    """All occurrences of a span, or ten drawn at random where there are more.

    Drawn by a generator that is seeded from `seed` and the generation's tokens, so that neither
    order nor company changes a draw.

    Parameters
    ----------
    low, high : (shards, n_spans) int64
        First rank of each span and one past its last.

    Source: PropMe 2026, appendix E, step 3.
    """
    until = np.cumsum(high - low, axis=0)
    counts = until[-1]
    taken = np.minimum(counts, DOCUMENTS_PER_SPAN)
    span = np.repeat(np.arange(len(spans)), taken)
    first = np.cumsum(taken) - taken
    number = np.arange(len(span)) - first[span]
    frequent = np.flatnonzero(counts > DOCUMENTS_PER_SPAN)
    for sequence in np.unique(spans.sequence[frequent]).tolist():
        draws = generator(generations, sequence, seed)
        for i in frequent[spans.sequence[frequent] == sequence].tolist():
            drawn = draws.choice(counts[i], DOCUMENTS_PER_SPAN, replace=False)
            number[first[i] : first[i] + DOCUMENTS_PER_SPAN] = np.sort(drawn)
    shard = (number >= until[:, span]).sum(axis=0)
    before = np.where(shard > 0, until[shard - 1, span], 0)
    return Occurrences(span, shard, low[shard, span] + number - before)


def generator(generations: Batch, sequence: int, seed: int) -> np.random.Generator:
    """The generator of one generation, from the seed and its tokens alone."""
    start, stop = generations.bounds[sequence : sequence + 2]
    text = generations.ids[start:stop].astype("<i8").tobytes()
    state = hashlib.sha256(seed.to_bytes(8, "little", signed=True) + text).digest()
    return np.random.default_rng(np.frombuffer(state, np.uint32))


def context(spans: Spans, bounds: np.ndarray) -> np.ndarray:
    """Tokens to add on each side of a span, so that no window is longer than 5 L."""
    lengths = np.diff(bounds)[spans.sequence]
    sides: np.ndarray = (WINDOW_FACTOR * lengths - spans.tokens) // 2
    return sides
