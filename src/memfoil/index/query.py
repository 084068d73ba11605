"""Questions to an index: how often, where, and how long the longest match is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from numba import config

from memfoil.errors import InvalidIndex
from memfoil.index import kernel
from memfoil.index.checks import check_sample
from memfoil.index.files import Manifest, Shard, map_folder, page_tables, token_type
from memfoil.index.windows import Windows, cut

SLICES_PER_THREAD = 4
MANY_LOOKUPS = 64
MOST_PAGE_TABLES = 1 << 30

Ids = Sequence[int] | np.ndarray


@dataclass(frozen=True, order=True)
class Place:
    """A token of the corpus; places are ordered as in the corpus."""

    shard: int
    document: int
    start_token: int
    document_id: str


@dataclass(frozen=True)
class Segment:
    """Ranks low..high-1 of a shard's suffix array: the suffixes that start with a query."""

    shard: int
    low: int
    high: int


@dataclass(frozen=True, eq=False)
class Batch:
    """Many sequences end to end: sequence i is `ids[bounds[i]:bounds[i + 1]]`."""

    ids: np.ndarray
    bounds: np.ndarray

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def stretches(self, starts: np.ndarray, ends: np.ndarray) -> Batch:
        """The stretches `ids[start:end]` as sequences of their own."""
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends - starts)])
        inside = np.arange(bounds[-1]) + np.repeat(starts - bounds[:-1], ends - starts)
        return Batch(self.ids[inside], bounds)


def flatten(sequences: Sequence[Ids], vocab_size: int, dtype: np.dtype) -> Batch:
    """Sequences end to end.

    Raises
    ------
    InvalidIndex
        If a sequence holds an id outside the vocabulary.
    """
    bounds = np.cumsum([0, *map(len, sequences)])
    full = [sequence for sequence in sequences if len(sequence)]
    ids = np.concatenate([np.empty(0, np.int64), *full], dtype=np.int64)
    bad = (ids < 0) | (ids >= vocab_size)
    if bad.any():
        at = int(np.argmax(bad))
        sequence = int(np.searchsorted(bounds, at, side="right")) - 1
        raise InvalidIndex(
            f"sequence {sequence}, token {at - bounds[sequence]}: id {ids[at]} is not of "
            f"the index' vocabulary of {vocab_size} ids"
        )
    return Batch(ids.astype(dtype), bounds)


def open_index(
    folder: str | Path, *, vocab_size: int | None = None, threads: int | None = None
) -> Index:
    """Open an index by mapping its files, after a look at sizes and a sample of the contents.

    Parameters
    ----------
    folder : path
        As `build` wrote it, or as infini-gram did (version 4).
    vocab_size : int, optional
        Number of ids; needed where infini-gram made the index, and decides the ids' width.
    threads : int, optional
        Threads that share a batch of queries; all cores allowed to this process by default.

    Raises
    ------
    InvalidIndex
        If a file is missing, cut short, zeroed or of another index (see `check_sample` for what
        a sample can find, `verify` for the complete check), or the path is unsafe.
    """
    manifest, shards = map_folder(Path(folder), vocab_size)
    for shard in shards:
        check_sample(shard, manifest.vocab_size)
    return Index(Path(folder), manifest, shards, threads or config.NUMBA_NUM_THREADS)


@dataclass(frozen=True, eq=False)
class Index:
    """A corpus in one or more shards, as one. Made by `open_index`; threads may share it.

    Sequences are token ids without start-of-text. An id outside the vocabulary, the separator
    included, raises `InvalidIndex`: a query that held it could match across documents.
    """

    folder: Path
    manifest: Manifest
    shards: tuple[Shard, ...]
    threads: int

    @property
    def vocab_size(self) -> int:
        return self.manifest.vocab_size

    @property
    def tokenizer(self) -> str:
        """What `build` was told about the tokenizer."""
        return self.manifest.tokenizer

    @cached_property
    def n_documents(self) -> int:
        return sum(len(shard.offsets) for shard in self.shards)

    @cached_property
    def n_tokens(self) -> int:
        """Tokens of all documents, without the separators."""
        return sum(len(shard.tokens) for shard in self.shards) - self.n_documents

    def count(self, ids: Ids) -> int:
        """Occurrences of a sequence.

        As in infini-gram, the empty sequence occurs at every token and at every separator.
        """
        return int(self.count_many([ids])[0])

    def count_many(self, sequences: Sequence[Ids]) -> np.ndarray:
        """Occurrences of each sequence, (n,) int64."""
        low, high = self.ranks(self.batch(sequences))
        counts: np.ndarray = (high - low).sum(axis=0)
        return counts

    def find(self, ids: Ids) -> list[Segment]:
        """Ranks of the suffixes that start with a sequence, one segment for each shard.

        Where a shard does not hold it, both ends are the rank at which it would stand.
        """
        low, high = self.ranks(self.batch([ids]))
        return [
            Segment(shard.number, int(a), int(b))
            for shard, a, b in zip(self.shards, low[:, 0], high[:, 0], strict=True)
        ]

    def longest_matches(self, sequences: Sequence[Ids]) -> list[np.ndarray]:
        """At every token of each sequence, the length of the longest match that starts there.

        Returns
        -------
        list of int32 arrays, as long as their sequences
            The largest n for which the next n tokens occur within one document.
        """
        batch = self.batch(sequences)
        lengths = np.zeros(len(batch.ids), np.int32)
        for shard in self.shards:
            found = np.empty_like(lengths)
            self.spread(kernel.longest_matches, shard, batch.ids, batch.bounds, results=(found,))
            self._relieve(len(batch.ids))
            np.maximum(lengths, found, out=lengths)
        return [lengths[start:stop] for start, stop in pairwise(batch.bounds)]

    def occurrences(self, ids: Ids, limit: int) -> list[Place]:
        """The first places in the corpus, at most `limit`, at which a sequence occurs."""
        if not len(ids):
            raise InvalidIndex("an empty sequence occurs everywhere; ask for one token at least")
        places: list[Place] = []
        for shard, segment in zip(self.shards, self.find(ids), strict=True):
            positions = shard.positions(segment.low, segment.high)[: limit - len(places)]
            places += [self.place_of(shard, int(position)) for position in positions]
        return places

    def place_of(self, shard: Shard, position: int) -> Place:
        """The place of the token at a position of a shard (not of a separator)."""
        document = shard.document_at(position)
        start = position - shard.span(document)[0]
        return Place(shard.number, document, start, shard.document_id(document))

    def place(self, document_id: str, start_token: int = 0) -> Place:
        """The place that a table names by document and token."""
        if document_id not in self._documents:
            raise InvalidIndex(f"{self.folder}: holds no document {document_id}")
        return Place(*self._documents[document_id], start_token, document_id)

    @cached_property
    def _documents(self) -> dict[str, tuple[int, int]]:
        return {
            shard.document_id(document): (shard.number, document)
            for shard in self.shards
            for document in range(len(shard.offsets))
        }

    def document(self, place: Place) -> np.ndarray:
        """All ids of the document of a place, (n,) int32."""
        first, end = self.shards[place.shard].span(place.document)
        return self.shards[place.shard].tokens[first:end].astype(np.int32)

    def window(self, place: Place, n_tokens: int) -> np.ndarray:
        """The next ids from a place on, (n,) int32; fewer where the document ends."""
        start = place.start_token
        return self.document(place)[start : start + n_tokens]

    def windows(
        self,
        queries: Batch,
        which: np.ndarray,
        shard: np.ndarray,
        rank: np.ndarray,
        context: np.ndarray,
    ) -> Windows:
        """The text around occurrences, `context` tokens on each side as far as documents go.

        Occurrence i is one of sequence `which[i]`: the suffix of a rank in a shard.
        """
        windows = cut(self.shards, shard, rank, np.diff(queries.bounds)[which], context)
        self._relieve(len(which))
        return windows

    def log_unigrams(self, ids: np.ndarray) -> np.ndarray:
        """Natural log of each id's share of the corpus' tokens; -inf where it does not occur."""
        known = ids < len(self.unigrams)
        counts = self.unigrams[np.where(known, ids, 0)] * known
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(counts / self.n_tokens)

    @cached_property
    def unigrams(self) -> np.ndarray:
        """How often each id occurs, int64, from id 0 to the largest that does."""
        counts = [shard.unigrams() for shard in self.shards]
        total = np.zeros(max(map(len, counts)), np.int64)
        for part in counts:
            total[: len(part)] += part
        return total

    def batch(self, sequences: Sequence[Ids]) -> Batch:
        """Sequences end to end, in the type of the index' ids.

        Raises
        ------
        InvalidIndex
            If a sequence holds an id outside the vocabulary.
        """
        return flatten(sequences, self.vocab_size, token_type(self.vocab_size))

    def ranks(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """First rank of each sequence of a batch and one past the last, both (shards, n) int64."""
        low = np.empty((len(self.shards), len(batch)), np.int64)
        high = np.empty_like(low)
        for shard, a, b in zip(self.shards, low, high, strict=True):
            self.spread(kernel.find, shard, batch.ids, batch.bounds, results=(a, b))
            self._relieve(len(batch))
        return low, high

    def _relieve(self, lookups: int) -> None:
        """After many lookups, map the files anew if their page tables have grown too large.

        Source: PropMe 2026, appendix E.
        """
        if lookups >= MANY_LOOKUPS and page_tables() > MOST_PAGE_TABLES:
            for shard in self.shards:
                shard.reopen()

    def spread(
        self,
        function: Callable[..., None],
        shard: Shard,
        *queries: np.ndarray,
        results: tuple[np.ndarray, ...],
    ) -> None:
        """Run a function of the kernel over the sequences of a batch, slice by slice."""
        n = len(queries[1]) - 1
        edges = np.linspace(0, n, self.threads * SLICES_PER_THREAD + 1).astype(np.int64)
        slices = [(a, b) for a, b in pairwise(edges) if a < b]

        def run(part: tuple[int, int]) -> None:
            function(*shard.arrays, *queries, *part, *results)

        if len(slices) == 1:
            run(slices[0])
            return
        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(run, slices))
