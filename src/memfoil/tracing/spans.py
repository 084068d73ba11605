"""Which spans of a sequence occur in a corpus, and which of them are rare enough to follow.

Sequences are laid end to end, as in an index' batches: sequence i is `ids[bounds[i]:bounds[i+1]]`,
and a span's `start` and `end` count from the first token of all. A text that occurs nowhere has no
span; a sequence that occurs whole has one, itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RARE_SHARE = 20
"""One span in so many tokens is kept: ceil(0.05 L), in whole numbers."""


@dataclass(frozen=True, eq=False)
class Spans:
    """Spans of many sequences, by their starts. Three int64 arrays of one length."""

    sequence: np.ndarray
    start: np.ndarray
    end: np.ndarray

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, which: np.ndarray) -> Spans:
        return Spans(self.sequence[which], self.start[which], self.end[which])

    @property
    def tokens(self) -> np.ndarray:
        return self.end - self.start

    def with_others(self, others: Spans) -> Spans:
        """Both together, each span once, in order."""
        both = np.column_stack(
            [
                np.append(self.sequence, others.sequence),
                np.append(self.start, others.start),
                np.append(self.end, others.end),
            ]
        )
        return Spans(*np.unique(both, axis=0).T)


def maximal(lengths: np.ndarray, bounds: np.ndarray) -> Spans:
    """Every span that occurs and lies in no other that does.

    Parameters
    ----------
    lengths : (n_ids,) int
        The longest match that starts at each token. One token on, the match reaches as far at
        least: a span lies inside another exactly where it ends with the one before it.

    Source: PropMe 2026, appendix E, step 1.
    """
    return _unnested(np.arange(len(lengths)), np.arange(len(lengths)) + lengths, bounds)


def within(lengths: np.ndarray, bounds: np.ndarray, words: np.ndarray, stops: np.ndarray) -> Spans:
    """The longest spans that occur, from one word's start to a word's end, none inside another.

    Parameters
    ----------
    words : (n_ids + 1,) bool
        Whether a word may begin or end in front of each token; true at every bound.
    stops : (n_ids + 1,) bool
        Whether a span that comes from the left ends there, come what may; true at every bound.

    Source: PropMe 2026, appendix E, step 1 (text mode).
    """
    n = len(lengths)
    places = np.arange(n + 1)
    next_stop = np.minimum.accumulate(np.where(stops, places, n)[::-1])[::-1]
    last_word = np.maximum.accumulate(np.where(words, places, 0))
    starts = np.flatnonzero(words[:-1])
    ends = last_word[np.minimum(starts + lengths[starts], next_stop[starts + 1])]
    return _unnested(starts, np.maximum(ends, starts), bounds)


def _unnested(starts: np.ndarray, ends: np.ndarray, bounds: np.ndarray) -> Spans:
    """Spans that are not empty and do not end with the one before them. Ends never fall."""
    sequence = np.searchsorted(bounds, starts, side="right") - 1
    before = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    kept = (ends > starts) & ((ends > before) | (starts == bounds[sequence]))
    return Spans(sequence[kept], starts[kept], ends[kept])


def log_unigrams(spans: Spans, log_probabilities: np.ndarray) -> np.ndarray:
    """Log-probability of each span under independent tokens: a sum, so it never underflows.

    Parameters
    ----------
    log_probabilities : (n_ids,) float64
        Natural log of each token's share of the corpus.

    Source: PropMe 2026, appendix E, step 2.
    """
    if not len(spans):
        return np.empty(0)
    edges = np.column_stack([spans.start, spans.end]).ravel()
    sums: np.ndarray = np.add.reduceat(np.append(log_probabilities, 0.0), edges)[::2]
    return sums


def rarest(spans: Spans, log_probabilities: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Whether each span is among the ceil(0.05 L) least probable of its sequence of L tokens.

    Of equally probable ones those that start first.

    Source: PropMe 2026, section 3.3.
    """
    order = np.lexsort((spans.start, log_probabilities, spans.sequence))
    sequence = spans.sequence[order]
    rank = np.arange(len(order)) - np.searchsorted(sequence, sequence)
    most = -(-np.diff(bounds) // RARE_SHARE)
    kept = np.zeros(len(spans), bool)
    kept[order] = rank < most[sequence]
    return kept


def unions(spans: Spans) -> Spans:
    """Each maximal chain of spans that overlap, as one span. Spans that only touch stay apart."""
    if not len(spans):
        return spans
    farthest = np.maximum.accumulate(spans.end)
    new = np.ones(len(spans), bool)
    new[1:] = (spans.start[1:] >= farthest[:-1]) | (spans.sequence[1:] != spans.sequence[:-1])
    first = np.flatnonzero(new)
    ends = np.maximum.reduceat(spans.end, first)
    return Spans(spans.sequence[first], spans.start[first], ends)
