"""Build and query an index, beside infini-gram's own builder and engine, in one run.

    python benchmarks/index.py [--tokens 2000000] [--sequences 200]

Both answer the same questions on the same files; the answers are compared before the times are.
One table is printed: milliseconds per item and how many times slower infini-gram was.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import infini_gram
import numpy as np
import pandas as pd
from infini_gram.engine import InfiniGramEngine

from memfoil.index import Index, build, neighbours, open_index
from memfoil.index.build import _table
from memfoil.index.files import pointer_width

VOCABULARY = 16_000
DOCUMENT_TOKENS = 500
SEQUENCE_TOKENS = 256
BUILDER = Path(infini_gram.__file__).with_name("rust_indexing")


def zipfian_text(n_tokens: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    return rng.choice(VOCABULARY, n_tokens, p=weights / weights.sum()).astype(np.int32)


def generations(text: np.ndarray, n: int) -> list[np.ndarray]:
    """Sequences pieced together from stretches of 3 to 60 tokens of the text."""
    rng = np.random.default_rng(1)

    def stretches() -> np.ndarray:
        starts = rng.integers(0, len(text) - 60, SEQUENCE_TOKENS // 3)
        pieces = [text[start : start + rng.integers(3, 61)] for start in starts]
        return np.concatenate(pieces)[:SEQUENCE_TOKENS]

    return [stretches() for _ in range(n)]


def seconds(task: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = task()
    return time.perf_counter() - start, answer


def their_suffix_array(folder: Path) -> bytes:
    """infini-gram's builder over the whole file in one part, the way it makes no mistakes."""
    file = folder / "tokenized.0"
    size = file.stat().st_size
    with tempfile.TemporaryDirectory() as parts:
        options = {
            "data-file": file,
            "parts-dir": parts,
            "start-byte": 0,
            "end-byte": size,
            "ratio": pointer_width(size),
            "token-width": 2,
        }
        command = [BUILDER, "make-part", *(f"--{name}={value}" for name, value in options.items())]
        subprocess.run(command, check=True, capture_output=True)
        return next(Path(parts).iterdir()).read_bytes()


def by_bisection(engine: InfiniGramEngine, sequence: list[int]) -> list[int]:
    """Longest matches by bisection over the length, with counts."""
    lengths = []
    for start in range(len(sequence)):
        low, high = 0, len(sequence) - start
        while low < high:
            middle = (low + high + 1) // 2
            present = engine.count(sequence[start : start + middle])["count"] > 0
            low, high = (middle, high) if present else (low, middle - 1)
        lengths.append(low)
    return lengths


def by_neighbours(engine: InfiniGramEngine, sequence: list[int], n_ranks: int) -> list[int]:
    """Longest matches from the suffixes on both sides of the insertion point."""
    lengths = []
    for start in range(len(sequence)):
        rest = sequence[start:]
        low, high = engine.find(rest)["segment_by_shard"][0]
        best = len(rest) if low < high else 0
        for rank in (low - 1, low) if low == high else ():
            if 0 <= rank < n_ranks:
                suffix = engine.get_doc_by_rank_2(0, rank, len(rest), 0)["token_ids"]
                pairs = zip(rest, suffix, strict=False)
                same = next((i for i, (a, b) in enumerate(pairs) if a != b), len(suffix))
                best = max(best, min(same, len(rest)))
        lengths.append(best)
    return lengths


def row(task: str, items: int, ours: float, theirs: float | None = None) -> dict[str, str]:
    times = {"task": task, "memfoil": f"{ours / items * 1e3:.3f}"}
    if theirs is None:
        return times
    return times | {"infini-gram": f"{theirs / items * 1e3:.3f}", "ratio": f"{theirs / ours:.1f}"}


def building(corpus: pd.DataFrame, folder: Path) -> list[dict[str, str]]:
    whole, _ = seconds(lambda: build(corpus, folder, vocab_size=VOCABULARY))
    tokens = np.fromfile(folder / "tokenized.0", "<u2")
    ours, table = seconds(lambda: _table(tokens, 1))
    theirs, their_table = seconds(lambda: their_suffix_array(folder))
    assert table.tobytes() == their_table
    return [row("suffix array", 1, ours, theirs), row("build, checked completely", 1, whole)]


def counting(
    index: Index, engine: InfiniGramEngine, sequences: list[np.ndarray]
) -> list[dict[str, str]]:
    ngrams = [sequence[i : i + 1 + i % 8] for sequence in sequences for i in range(0, 200, 10)]
    lists = [ngram.tolist() for ngram in ngrams]
    index.count(ngrams[0])
    theirs, expected = seconds(lambda: [engine.count(ngram)["count"] for ngram in lists])
    single, counts = seconds(lambda: [index.count(ngram) for ngram in ngrams])
    together, many = seconds(lambda: index.count_many(ngrams))
    assert counts == many.tolist() == expected
    return [
        row("count, one by one", len(ngrams), single, theirs),
        row("count, together", len(ngrams), together, theirs),
    ]


def matching(
    index: Index, engine: InfiniGramEngine, sequences: list[np.ndarray]
) -> list[dict[str, str]]:
    few = [sequence.tolist() for sequence in sequences[:20]]
    share = len(few) / len(sequences)
    alone = replace(index, threads=1)
    matches = alone.longest_matches(sequences)
    bisection, bisected = seconds(lambda: [by_bisection(engine, s) for s in few])
    n_ranks = len(index.shards[0].tokens)
    sides, beside = seconds(lambda: [by_neighbours(engine, s, n_ranks) for s in few])
    assert bisected == beside == [lengths.tolist() for lengths in matches[: len(few)]]
    ours, _ = seconds(lambda: alone.longest_matches(sequences))
    shared, _ = seconds(lambda: index.longest_matches(sequences))
    what, n = f"longest matches of {SEQUENCE_TOKENS} tokens", len(sequences)
    return [
        row(f"{what}, one thread; bisection", n, ours, bisection / share),
        row(f"{what}, one thread; both neighbours", n, ours, sides / share),
        row(f"{what}, all threads; both neighbours", n, shared, sides / share),
    ]


def approximating(index: Index, sequences: list[np.ndarray]) -> list[dict[str, str]]:
    windows = [sequence[i : i + 50] for sequence in sequences for i in range(0, 200, 50)]
    rows = []
    for distance in (2, 5):
        search = partial(neighbours, index=index, max_distance=distance, max_piece_count=10_000)
        search(windows[:2])
        ours, _ = seconds(partial(search, windows))
        rows.append(row(f"nearest of 50 tokens within {distance} edits", len(windows), ours))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=2_000_000)
    parser.add_argument("--sequences", type=int, default=200)
    arguments = parser.parse_args()
    text = zipfian_text(arguments.tokens)
    documents = [text[i : i + DOCUMENT_TOKENS] for i in range(0, len(text), DOCUMENT_TOKENS)]
    corpus = pd.DataFrame({"document_id": range(len(documents)), "token_ids": documents})
    sequences = generations(text, arguments.sequences)
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "index"
        rows = building(corpus, folder)
        index = open_index(folder)
        depths = dict.fromkeys(("ds_prefetch_depth", "sa_prefetch_depth", "od_prefetch_depth"), 0)
        engine = InfiniGramEngine(str(folder), 0, VOCABULARY, **depths)
        rows += counting(index, engine, sequences)
        rows += matching(index, engine, sequences)
        rows += approximating(index, sequences)
    print(f"{arguments.tokens:,} tokens, {index.threads} threads; milliseconds per item\n")
    columns = ["task", "memfoil", "infini-gram", "ratio"]
    print(pd.DataFrame(rows, columns=columns).fillna("").to_string(index=False))


if __name__ == "__main__":
    main()
