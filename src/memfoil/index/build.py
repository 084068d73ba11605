"""Writing an index: in one piece, checked completely before it gets its name."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numba import config

from memfoil.errors import InvalidIndex
from memfoil.index.checks import check_completely
from memfoil.index.files import (
    MANIFEST,
    Manifest,
    map_shard,
    pointer_width,
    refuse_path,
    token_type,
)
from memfoil.index.kernel import compiled
from memfoil.index.suffixes import counted, suffix_array
from memfoil.tables import beside, digest, require_place


def build(
    corpus: pd.DataFrame,
    folder: str | Path,
    *,
    vocab_size: int,
    tokenizer: str = "",
    shards: int = 1,
) -> None:
    """Build an index of a training text in infini-gram's version-4 format.

    Everything is written into a hidden folder beside `folder`, checked completely (sizes, every
    pointer, the order of all suffixes) and renamed: a folder of that name holds a whole index or
    does not exist. What a killed build left goes with the next one; of two at once the last to
    end has the name. An index that stands there already is replaced.

    Parameters
    ----------
    corpus : CORPUS frame
        `document_id` and `token_ids` (without start-of-text), in the order of reading.
    vocab_size : int
        Number of ids; below 65,536 an id takes two bytes, else four.
    tokenizer : str
        Name or digest of the tokenizer, kept beside the files.
    shards : int
        Contiguous parts of about the same number of tokens, each with its own suffix array;
        answers do not depend on it.

    Raises
    ------
    InvalidIndex
        If an id is outside the vocabulary, a document is named twice, there is no document,
        the path is unsafe or taken, or the disk is full.
    """
    folder = Path(folder)
    refuse_path(folder)
    require_place(folder)
    if folder.name in ("", "..") or (folder.exists() and not _is_index_or_empty(folder)):
        raise InvalidIndex(f"{folder}: exists and is not an index; choose another name")
    ids, ends = _tokens(corpus, vocab_size)
    threads = config.NUMBA_NUM_THREADS
    with _renamed(folder) as hidden:
        for number, (first, last) in enumerate(_parts(ends, shards)):
            names = corpus["document_id"].iloc[first:last]
            _write_shard(hidden, number, ids, ends[first : last + 1], names, threads)
            check_completely(map_shard(hidden, number, ids.dtype), vocab_size, threads)
        paths = sorted(hidden.iterdir())
        with ThreadPoolExecutor(threads) as pool:
            digests = pool.map(digest, paths)
            files = {
                path.name: (path.stat().st_size, sha256)
                for path, sha256 in zip(paths, digests, strict=True)
            }
        Manifest(vocab_size, tokenizer, len(ids), len(corpus), number + 1, files).write(hidden)


def _is_index_or_empty(path: Path) -> bool:
    return path.is_dir() and ((path / MANIFEST).exists() or not any(path.iterdir()))


def _tokens(corpus: pd.DataFrame, vocab_size: int) -> tuple[np.ndarray, np.ndarray]:
    """All documents' ids end to end, and where each document ends, with a 0 before the first."""
    if corpus.empty:
        raise InvalidIndex("a corpus without documents cannot be indexed")
    names = corpus["document_id"]
    if names.duplicated().any():
        raise InvalidIndex(f"document {names[names.duplicated()].iloc[0]} occurs more than once")
    ends = np.cumsum([0, *map(len, corpus["token_ids"])])
    full = [ids for ids in corpus["token_ids"] if len(ids)]
    narrow = all(isinstance(ids, np.ndarray) and ids.dtype == np.int32 for ids in full)
    dtype = np.int32 if narrow else np.int64
    ids: np.ndarray = np.concatenate([np.empty(0, dtype), *full], dtype=dtype)
    if len(ids) and (ids.min() < 0 or ids.max() >= vocab_size):
        at = int(np.argmax((ids < 0) | (ids >= vocab_size)))
        document = int(np.searchsorted(ends, at, side="right")) - 1
        raise InvalidIndex(
            f"document {names.iloc[document]}, token {at - ends[document]}: id {ids[at]} is "
            f"outside the vocabulary of {vocab_size} ids"
        )
    return ids.astype(token_type(vocab_size)), ends


def _parts(ends: np.ndarray, shards: int) -> list[tuple[int, int]]:
    """Ranges of documents for at most `shards` shards, none empty, alike in tokens."""
    weights = ends + np.arange(len(ends))
    goals = np.linspace(0, weights[-1], min(shards, weights[-1]) + 1)
    cuts = np.unique(np.searchsorted(weights, goals))
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))


def _write_shard(
    folder: Path, number: int, ids: np.ndarray, ends: np.ndarray, names: pd.Series, threads: int
) -> None:
    """Write the files of the documents that end at `ends[1:]` and start at `ends[:-1]`."""
    separators = ends[:-1] - ends[0] + np.arange(len(names))
    tokens = np.full(ends[-1] - ends[0] + len(names), np.iinfo(ids.dtype).max, ids.dtype)
    is_id = np.ones(len(tokens), bool)
    is_id[separators] = False
    tokens[is_id] = ids[ends[0] : ends[-1]]
    tokens.tofile(folder / f"tokenized.{number}")
    (separators * tokens.itemsize).astype("<u8").tofile(folder / f"offset.{number}")
    _table(tokens, threads).tofile(folder / f"table.{number}")

    lines = [json.dumps({"document_id": str(name)}) + "\n" for name in names]
    (folder / f"metadata.{number}").write_text("".join(lines), encoding="ascii")
    starts = np.cumsum([0, *map(len, lines[:-1])])
    starts.astype("<u8").tofile(folder / f"metaoff.{number}")

    values, counts = counted(tokens)
    unigrams = "".join(f"{id_} {count}\n" for id_, count in zip(values, counts, strict=True))
    (folder / f"unigram.{number}").write_text(unigrams)


def _table(tokens: np.ndarray, threads: int) -> np.ndarray:
    """The bytes of all pointers, suffixes in the order of their bytes."""
    table = np.empty((len(tokens), pointer_width(tokens.nbytes)), np.uint8)
    positions = suffix_array(tokens, threads)
    edges = np.linspace(0, len(tokens), threads + 1).astype(np.int64).tolist()
    write = partial(_write_pointers, positions, tokens.itemsize, table)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(write, edges[:-1], edges[1:]))
    return table


@compiled
def _write_pointers(
    positions: np.ndarray, itemsize: int, table: np.ndarray, first: int, last: int
) -> None:
    """Byte offsets of the suffixes first..last-1, the lowest byte first."""
    for i in range(first, last):
        pointer = np.int64(positions[i]) * itemsize
        for k in range(table.shape[1]):
            table[i, k] = pointer & 255
            pointer >>= 8


@contextmanager
def _renamed(folder: Path) -> Iterator[Path]:
    """A hidden folder beside `folder` that takes its name when the block ends without an error."""
    hidden = beside(folder)
    replaced = beside(folder.with_name(f"{folder.name}.replaced"))
    try:
        hidden.mkdir(parents=True)
        yield hidden
        _synchronize(hidden)
        if folder.exists():
            folder.rename(replaced)
        hidden.rename(folder)
    except OSError as error:
        raise InvalidIndex(
            f"{folder}: the index cannot be written: {error.strerror or error}; "
            "nothing was left behind"
        ) from error
    finally:
        if replaced.exists() and not folder.exists():
            replaced.rename(folder)
        for leftover in (hidden, replaced):
            shutil.rmtree(leftover, ignore_errors=True)


def _synchronize(folder: Path) -> None:
    """Wait until the disk has it, so that a crash cannot leave a name without its contents."""
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
