"""From generations to the spans and documents of a corpus that they reproduce."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from memfoil.errors import InvalidIndex, InvalidTable
from memfoil.index.interface import Searchable
from memfoil.index.query import Batch
from memfoil.index.windows import Windows
from memfoil.tracing import documents, words
from memfoil.tracing.olmotrace import bm25
from memfoil.tracing.spans import Spans, log_unigrams, maximal, rarest, unions, within
from memfoil.tracing.whole import holds, holds_normalized
from memfoil.tracing.words import Reader

Mode = Literal["mixed", "text", "olmotrace"]

GENERATIONS_TOGETHER = 256
LEAST_TOKENS = 4
"""Of a span in mixed mode."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some generations, and the longest match at each of their tokens."""

    names: np.ndarray
    batch: Batch
    lengths: np.ndarray

    @property
    def wholes(self) -> Spans:
        """The generations that occur as they are, each as one span; an empty one does not."""
        start, end = self.batch.bounds[:-1], self.batch.bounds[1:]
        full = np.flatnonzero(end > start)
        whole = full[self.lengths[start[full]] == (end - start)[full]]
        return Spans(whole, start[whole], end[whole])


def maximal_spans(generations: pd.DataFrame, index: Searchable) -> Iterator[pd.DataFrame]:
    """Every span of every generation that occurs and lies in no other that does, with its count.

    Parameters
    ----------
    generations : GENERATIONS frame

    Yields
    ------
    SPANS frames
        One for so many generations at a time that memory stays bounded.

    Raises
    ------
    InvalidIndex
        If a generation holds an id outside the index' vocabulary.

    Source: PropMe 2026, appendix E, step 1.
    """
    for chunk in _chunks(generations, index):
        spans = maximal(chunk.lengths, chunk.batch.bounds)
        low, high = index.ranks(chunk.batch.stretches(spans.start, spans.end))
        yield _span_columns(chunk, spans, (high - low).sum(axis=0))


def trace(
    generations: pd.DataFrame,
    index: Searchable,
    *,
    seed: int,
    mode: Mode = "mixed",
    reader: Reader | None = None,
) -> Iterator[pd.DataFrame]:
    """The rarest spans of every generation, and up to ten documents that hold each.

    Of the spans found, the ceil(0.05 L) of lowest unigram probability are kept; those that
    overlap become one where their union occurs too. A generation that occurs whole is always
    kept, as one span. With a reader, documents are also found that hold the generation but for
    white space and Unicode form: among those of the rarest span and the longest.

    Parameters
    ----------
    generations : GENERATIONS frame
    seed : int
        With the generation's tokens it decides which documents of a frequent span are drawn.
    mode : str
        `mixed`: spans of at least 4 tokens, wherever they begin and end. `text`: spans from
        word to word, cut where a sentence ends. `olmotrace`: from word to word, cut at periods
        and line breaks; overlapping spans are shown as one (`merged_start`, `merged_end`)
        whether it occurs or not, and documents are ranked by BM25 (`relevance`).
    reader : Reader, optional
        Needed by `text` and `olmotrace`.

    Yields
    ------
    TRACES frames

    Raises
    ------
    InvalidIndex
        If a generation holds an id outside the index' vocabulary.
    InvalidTable
        If the mode needs text and there is no reader.

    Source: PropMe 2026, section 3.3 and appendix E; Liu et al. 2025 (OLMoTrace), section 3.
    """
    if mode != "mixed" and reader is None:
        raise InvalidTable(f"mode {mode} cuts at words: it needs the generations' tokenizer")
    for chunk in _chunks(generations, index):
        yield _trace(chunk, index, seed, mode, reader)


def _chunks(generations: pd.DataFrame, index: Searchable) -> Iterator[Chunk]:
    _refuse_foreign_ids(generations, index)
    names = generations["generation_id"].to_numpy()
    sequences = generations["token_ids"].to_list()
    for start in range(0, len(names), GENERATIONS_TOGETHER):
        together = sequences[start : start + GENERATIONS_TOGETHER]
        lengths = [np.empty(0, np.int32), *index.longest_matches(together)]
        yield Chunk(
            names[start : start + GENERATIONS_TOGETHER],
            index.batch(together),
            np.concatenate(lengths).astype(np.int64),
        )


def _refuse_foreign_ids(generations: pd.DataFrame, index: Searchable) -> None:
    for name, ids in zip(generations["generation_id"], generations["token_ids"], strict=True):
        bad = np.flatnonzero((np.asarray(ids) < 0) | (np.asarray(ids) >= index.vocab_size))
        if len(bad):
            raise InvalidIndex(
                f"generation {name}, token {bad[0]}: id {ids[bad[0]]} is not of the index' "
                f"vocabulary of {index.vocab_size} ids; trace with the tokenizer of the index"
            )


def _trace(
    chunk: Chunk, index: Searchable, seed: int, mode: Mode, reader: Reader | None
) -> pd.DataFrame:
    batch = chunk.batch
    log_probabilities = index.log_unigrams(batch.ids.astype(np.int64))
    found = _spans(chunk, mode, reader)
    kept = found[rarest(found, log_unigrams(found, log_probabilities), batch.bounds)]
    if mode != "olmotrace":
        kept = _merged(kept, batch, index).with_others(chunk.wholes)
    queries = batch.stretches(kept.start, kept.end)
    low, high = index.ranks(queries)
    chosen = documents.choose(low, high, kept, batch, seed)
    of = chosen.span
    context = documents.context(kept, batch.bounds)
    windows = index.windows(queries, of, chosen.shard, chosen.rank, context[of])
    frame = _span_columns(chunk, kept, (high - low).sum(axis=0)).iloc[of]
    frame = frame.reset_index(drop=True).assign(
        log_unigram=log_unigrams(kept, log_probabilities)[of],
        occurrence=np.arange(len(of)) - np.searchsorted(of, of) + 1,
        document_id=windows.document_id,
        document_start=_known(windows.document_start),
        window_start=_known(windows.window_start),
        window=pd.Series(windows.each(), dtype=object),
        match=_labels(windows, kept.sequence[of], batch, reader),
        merged_start=None,
        merged_end=None,
        relevance=None,
    )
    if mode == "olmotrace" and reader is not None:
        merged = unions(kept)
        part = np.searchsorted(merged.start, kept.start[of], side="right") - 1
        offset = batch.bounds[merged.sequence[part]]
        frame["merged_start"] = merged.start[part] - offset
        frame["merged_end"] = merged.end[part] - offset
        frame["relevance"] = _relevance(windows, kept.sequence[of], batch, reader)
    return frame


def _spans(chunk: Chunk, mode: Mode, reader: Reader | None) -> Spans:
    """The spans among which a mode chooses."""
    if mode == "mixed" or reader is None:
        found = maximal(chunk.lengths, chunk.batch.bounds)
        return found[found.tokens >= LEAST_TOKENS]
    if mode == "text":
        rules = (words.word_bounds, words.sentence_ends)
    else:
        rules = (words.word_starts, words.delimiters)
    at_words, stops = (
        words.places(rule, reader.pieces, chunk.batch.ids, chunk.batch.bounds) for rule in rules
    )
    return within(chunk.lengths, chunk.batch.bounds, at_words, stops)


def _merged(spans: Spans, batch: Batch, index: Searchable) -> Spans:
    """Spans that overlap as one, where their union occurs.

    Between maximal spans none does, or they would not be maximal; but an index that looks only
    so far at once can give parts of a longer match.
    """
    joined = unions(spans)
    part = np.searchsorted(joined.start, spans.start, side="right") - 1
    several = np.bincount(part, minlength=len(joined)) > 1
    low, high = index.ranks(batch.stretches(joined.start[several], joined.end[several]))
    occurs = np.zeros(len(joined), bool)
    occurs[several] = (high > low).any(axis=0)
    return spans[~occurs[part]].with_others(joined[occurs])


def _span_columns(chunk: Chunk, spans: Spans, counts: np.ndarray) -> pd.DataFrame:
    offset = chunk.batch.bounds[spans.sequence]
    return pd.DataFrame(
        {
            "generation_id": chunk.names[spans.sequence],
            "start": spans.start - offset,
            "end": spans.end - offset,
            "count": counts,
        }
    )


def _known(values: np.ndarray) -> pd.arrays.IntegerArray:
    return pd.arrays.IntegerArray(values, values < 0)


def _labels(
    windows: Windows, sequence: np.ndarray, batch: Batch, reader: Reader | None
) -> np.ndarray:
    labels = np.full(len(windows), "partial", object)
    if reader is not None:
        labels[holds_normalized(windows, sequence, batch, reader)] = "normalized"
    labels[holds(windows, sequence, batch)] = "whole"
    return labels


def _relevance(windows: Windows, sequence: np.ndarray, batch: Batch, reader: Reader) -> np.ndarray:
    """BM25 of each window for its generation, among that generation's windows."""
    scores = np.empty(len(windows))
    every = windows.each()
    for number in np.unique(sequence).tolist():
        here = np.flatnonzero(sequence == number)
        start, stop = batch.bounds[number : number + 2]
        cut = [every[i] for i in here.tolist()]
        query, *texts = (text.split() for text in reader.texts([batch.ids[start:stop], *cut]))
        scores[here] = bm25(query, texts)
    return scores
