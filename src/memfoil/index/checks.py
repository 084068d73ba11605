"""Is an index what it should be? A sample when it is opened, everything when it is built."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from memfoil.errors import InvalidIndex
from memfoil.index import kernel
from memfoil.index.files import Shard, map_folder
from memfoil.tables import digest

SAMPLE = 1024
DEPTH = 1 << 16
PATIENCE, COMPARED = 64, 256


def check_sample(shard: Shard, vocab_size: int) -> None:
    """Look at a sample that is spread evenly over a shard.

    Of every 1/1024 of the table one pointer and the next are looked at: whether they name
    tokens and their suffixes are in order (by the first 65,536 tokens). So a stretch of zeros
    longer than 3/1024 of the table is always found, a single changed bit seldom, except in
    a shard of at most 1024 tokens, which is looked at completely. The same for the documents'
    offsets and the ids at all those places.

    Raises
    ------
    InvalidIndex
        If anything is not as it should be.
    """
    rank = kernel.sample_fault(*shard.arrays, _spread(len(shard.tokens)), DEPTH)
    if rank >= 0:
        raise _out_of_order(shard, rank)
    _check_documents(shard, _spread(len(shard.offsets)))
    _check_ids(shard, shard.tokens[_spread(len(shard.tokens))], vocab_size)


def check_completely(shard: Shard, vocab_size: int, threads: int = 1) -> None:
    """Check every pointer, the order of all suffixes, all documents and all ids of a shard."""
    _check_order(shard, threads)
    _check_documents(shard, np.arange(len(shard.offsets)))
    _check_ids(shard, shard.tokens, vocab_size)
    if np.count_nonzero(shard.tokens == np.iinfo(shard.tokens.dtype).max) != len(shard.offsets):
        raise InvalidIndex(f"{shard.path('offset')}: not every document has its offset")


def _check_order(shard: Shard, threads: int) -> None:
    """Check that a table has each of its tokens once, with all suffixes in order.

    Neighbours are compared; once that has taken long, 256 tokens deep only. If it decides for all,
    no suffix can be there twice; else the ranks of the suffixes behind two neighbours decide
    (Burkhardt and Karkkainen 2003).
    """
    n = len(shard.tokens)
    edges = np.linspace(0, n, 8 * threads + 1).astype(np.int64).tolist()

    def compare(first: int, last: int) -> tuple[int, np.ndarray]:
        undecided = np.empty(last - first, np.int64)
        rank, count = kernel.order_fault(*shard.arrays, first, last, PATIENCE, COMPARED, undecided)
        return rank, undecided[:count].copy()

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(compare, edges[:-1], edges[1:]))
        fault = next((rank for rank, _ in parts if rank >= 0), -1)
        undecided = np.concatenate([ranks for _, ranks in parts])
        if fault < 0 and len(undecided):
            rank_of = np.full(n, -1)
            place = partial(kernel.place, *shard.arrays)
            list(pool.map(lambda a, b: place(a, b, rank_of), edges[:-1], edges[1:]))
            if rank_of.min() < 0:
                raise InvalidIndex(
                    f"{shard.path('table')}: names no suffix at token {np.argmin(rank_of)}; "
                    "build the index again"
                )
            fault = kernel.rank_fault(*shard.arrays, undecided, rank_of)
    if fault >= 0:
        raise _out_of_order(shard, fault)


def verify(folder: str | Path, vocab_size: int | None = None) -> None:
    """Check an index completely: every file's digest, every pointer, the order of all suffixes.

    Reads all files once and needs up to 16 bytes of memory per token of a shard.

    Raises
    ------
    InvalidIndex
        If a single bit is not as it was written (of an index without `memfoil.json`: if its
        table is not the suffix array of its tokens).
    """
    folder = Path(folder)
    manifest, shards = map_folder(folder, vocab_size)
    for name, (_, sha256) in manifest.files.items():
        if digest(folder / name) != sha256:
            raise InvalidIndex(f"{folder / name}: not as it was written; build the index again")
    for shard in shards:
        check_completely(shard, manifest.vocab_size)


def _check_documents(shard: Shard, numbers: np.ndarray) -> None:
    """Check that the offsets of some documents rise and name separators."""
    offsets, size = shard.offsets, shard.tokens.itemsize
    here = offsets[numbers].astype(np.int64)
    behind = np.append(offsets[1:], np.uint64(shard.tokens.nbytes))[numbers].astype(np.int64)
    bad = (here % size != 0) | (here < 0) | (here >= shard.tokens.nbytes) | (here >= behind)
    bad |= (numbers == 0) & (here != 0)
    separator = np.iinfo(shard.tokens.dtype).max
    bad |= shard.tokens[np.where(bad, 0, here // size)] != separator
    if bad.any():
        raise InvalidIndex(
            f"{shard.path('offset')}: document {numbers[np.argmax(bad)]}: its offset names no "
            "start of a document; build the index again"
        )


def _check_ids(shard: Shard, ids: np.ndarray, vocab_size: int) -> None:
    """Check that ids are of the vocabulary or separators."""
    bad = (ids >= vocab_size) & (ids != np.iinfo(ids.dtype).max)
    if bad.any():
        raise InvalidIndex(
            f"{shard.path('tokenized')}: holds id {ids[np.argmax(bad)]}, outside the vocabulary "
            f"of {vocab_size}; build the index again"
        )


def _spread(n: int) -> np.ndarray:
    """At most 1024 of n numbers, one drawn from each of as many equal stretches, seeded."""
    edges = np.linspace(0, n, min(n, SAMPLE) + 1).astype(np.int64)
    return np.random.default_rng(0).integers(edges[:-1], edges[1:])


def _out_of_order(shard: Shard, rank: int) -> InvalidIndex:
    return InvalidIndex(
        f"{shard.path('table')}: rank {rank}: not the suffix array of tokenized.{shard.number} "
        "(zeros, damage, or the files of two builds); build the index again"
    )
