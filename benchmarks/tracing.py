"""Trace generations, beside infini-gram's engine and builder, in one run on one index.

    python benchmarks/tracing.py [--tokens 1000000 5000000 20000000] [--generations 256]

For each size: an index is built by infini-gram's own builder and by memfoil from the same tokens;
the longest matches are sought in four ways and the whole trace in two. Whatever is compared is
checked to be the same first. The engine is given few of the generations, memfoil all of them.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from index import BUILDER, by_bisection, seconds, their_suffix_array
from infini_gram.engine import InfiniGramEngine

from memfoil.index import Index, build, open_index
from memfoil.index.files import pointer_width
from memfoil.tracing import maximal_spans, trace
from memfoil.tracing.spans import RARE_SHARE
from memfoil.tracing.trace import LEAST_TOKENS

VOCABULARY = 16_000
DOCUMENT_TOKENS = 500
GENERATION_TOKENS = 256
WARM = 2000
"""Documents of an index built before the time is taken, so that everything is compiled."""
DEPTHS = dict.fromkeys(("ds_prefetch_depth", "sa_prefetch_depth", "od_prefetch_depth"), 0)
CORES = len(os.sched_getaffinity(0))


def corpus_text(n_tokens: int) -> np.ndarray:
    """Zipfian ids, with stretches of 20 to 600 copied to other places: a tenth of the text."""
    rng = np.random.default_rng(0)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    text = rng.choice(VOCABULARY, n_tokens, p=weights / weights.sum()).astype(np.int32)
    for _ in range(n_tokens // 3000):
        source, target = rng.integers(0, n_tokens - 600, 2)
        length = rng.integers(20, 600)
        text[target : target + length] = text[source : source + length].copy()
    return text


def generations_of(text: np.ndarray, n: int) -> pd.DataFrame:
    """Generations pieced together from stretches of 3 to 60 tokens of the text."""
    rng = np.random.default_rng(1)

    def stretches() -> np.ndarray:
        starts = rng.integers(0, len(text) - 60, GENERATION_TOKENS // 3)
        pieces = [text[start : start + rng.integers(3, 61)] for start in starts]
        return np.concatenate(pieces)[:GENERATION_TOKENS]

    names = [f"g{i}" for i in range(n)]
    return pd.DataFrame({"generation_id": names, "token_ids": [stretches() for _ in range(n)]})


def by_attribute(engine: InfiniGramEngine, ids: list[int]) -> list[tuple[int, int]]:
    spans = engine.attribute(ids, [], LEAST_TOKENS, 10**12, enforce_bow=False)["spans"]
    return [(span["l"], span["r"]) for span in spans]


def by_insertion_point(engine: InfiniGramEngine, ids: list[int], n_ranks: int) -> list[int]:
    """Longest matches from both sides of the insertion point; none is sought where the match
    before already reaches the end."""
    lengths: list[int] = []
    for start in range(len(ids)):
        rest = ids[start:]
        if lengths and lengths[-1] - 1 == len(rest):
            lengths.append(len(rest))
            continue
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


def maximal(lengths: list[int]) -> list[tuple[int, int]]:
    ends = [0, *(start + length for start, length in enumerate(lengths))]
    return [
        (start, end)
        for start, (before, end) in enumerate(pairwise(ends))
        if end - start >= LEAST_TOKENS and end > before
    ]


def engine_trace(
    engine: InfiniGramEngine, ids: list[int], n_ranks: int, log_unigrams: list[float]
) -> list[tuple[int, int, int, list[list[int]]]]:
    """The steps of a trace with the engine alone: (start, end, count, windows)."""
    found = maximal(by_insertion_point(engine, ids, n_ranks))
    rare = sorted(found, key=lambda s: (math.fsum(log_unigrams[i] for i in ids[s[0] : s[1]]), s))
    result = []
    for start, end in sorted(rare[: -(-len(ids) // RARE_SHARE)]):
        low, high = engine.find(ids[start:end])["segment_by_shard"][0]
        ranks = range(low, high)
        if len(ranks) > 10:
            drawn = np.random.default_rng(0).choice(len(ranks), 10, replace=False)
            ranks = [low + int(i) for i in drawn]
        context = (5 * len(ids) - (end - start)) // 2
        windows = [
            engine.get_doc_by_rank_2(0, rank, end - start, context)["token_ids"] for rank in ranks
        ]
        result.append((start, end, high - low, windows))
    engine.find(ids)
    return result


def in_processes(folder: Path, sequences: list[list[int]], *settings: Any) -> float:
    """Seconds that as many processes as there are cores need for the engine's trace of all."""
    parts = [sequences[i::CORES] for i in range(CORES)]
    with multiprocessing.get_context("fork").Pool(CORES, _open, (folder, *settings)) as pool:
        pool.map(_trace_part, [part[:1] for part in parts])
        return seconds(lambda: pool.map(_trace_part, parts))[0]


def _open(folder: Path, *settings: Any) -> None:
    global _ENGINE, _SETTINGS
    _ENGINE = InfiniGramEngine(str(folder), 0, VOCABULARY, **DEPTHS)
    _SETTINGS = settings


def _trace_part(part: list[list[int]]) -> None:
    for ids in part:
        engine_trace(_ENGINE, ids, *_SETTINGS)


def row(n_tokens: int, task: str, ours: float, theirs: float | None = None) -> dict[str, Any]:
    times = {"tokens": f"{n_tokens:,}", "task": task, "memfoil": f"{ours:.3f}"}
    if theirs is None:
        return times
    return times | {"infini-gram": f"{theirs:.3f}", "ratio": f"{theirs / ours:.1f}"}


def matching(n_tokens: int, index: Index, frame: pd.DataFrame, few: int) -> list[dict[str, Any]]:
    """Milliseconds per generation for the longest-match step, and for the whole trace."""
    engine = InfiniGramEngine(str(index.folder), 0, VOCABULARY, **DEPTHS)
    sequences = frame["token_ids"].to_list()
    lists = [ids.tolist() for ids in sequences[:few]]
    n_ranks = len(index.shards[0].tokens)
    alone = replace(index, threads=1)
    expected = [lengths.tolist() for lengths in alone.longest_matches(sequences)[:few]]
    bisection, bisected = seconds(lambda: [by_bisection(engine, ids) for ids in lists])
    attribution, attributed = seconds(lambda: [by_attribute(engine, ids) for ids in lists])
    insertion, inserted = seconds(
        lambda: [by_insertion_point(engine, ids, n_ranks) for ids in lists]
    )
    assert bisected == inserted == expected
    assert attributed == [maximal(lengths) for lengths in expected]
    logs = index.log_unigrams(np.arange(VOCABULARY)).tolist()
    theirs, traced = seconds(lambda: [engine_trace(engine, ids, n_ranks, logs) for ids in lists])
    check_traces(pd.concat(trace(frame[:few], index, seed=1)), traced)
    their_cores = in_processes(index.folder, lists * 4, n_ranks, logs) / 4
    list(trace(frame, index, seed=1))
    times = {
        name: 1e3 * min(seconds(task)[0] for _ in range(3)) / len(sequences)
        for name, task in {
            "match alone": lambda: alone.longest_matches(sequences),
            "match": lambda: index.longest_matches(sequences),
            "trace alone": lambda: list(trace(frame, alone, seed=1)),
            "trace": lambda: list(trace(frame, index, seed=1)),
            "spans": lambda: list(maximal_spans(frame, index)),
        }.items()
    }
    cores = f"{index.threads} cores"
    compared = [
        ("longest matches, 1 core; bisection", "match alone", bisection),
        ("longest matches, 1 core; attribute", "match alone", attribution),
        ("longest matches, 1 core; insertion point", "match alone", insertion),
        (f"longest matches, {cores}; insertion point", "match", insertion),
        ("whole trace, 1 core each", "trace alone", theirs),
        (f"whole trace, {cores}; engine in 1 process", "trace", theirs),
        (f"whole trace, {cores}; engine in {CORES} processes", "trace", their_cores),
    ]
    rows = [row(n_tokens, task, times[ours], 1e3 * other / few) for task, ours, other in compared]
    return [*rows, row(n_tokens, "every maximal span with its count", times["spans"])]


def check_traces(rows: pd.DataFrame, traced: list[Any]) -> None:
    """The same spans with the same counts; the same windows where none had to be drawn."""
    for number, expected in enumerate(traced):
        mine = rows[rows["generation_id"] == f"g{number}"]
        spans = mine[["start", "end", "count"]].drop_duplicates().to_numpy().tolist()
        assert spans == [[start, end, count] for start, end, count, _ in expected]
        for start, end, count, windows in expected:
            if count <= 10:
                here = mine[(mine["start"] == start) & (mine["end"] == end)]
                assert sorted(map(list, here["window"])) == sorted(windows)


@dataclass(frozen=True)
class Cost:
    """What a task took: seconds of the clock, of all cores, and memory beyond what was there."""

    wall: float
    cpu: float
    memory: int


def cost(task: Callable[[], Any], before: Callable[[], Any] = lambda: None) -> Cost:
    """Run a task in a process of its own, which sees what this one has in memory."""
    queue = multiprocessing.get_context("fork").SimpleQueue()

    def run() -> None:
        before()
        page = os.sysconf("SC_PAGE_SIZE")
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * page
        cpu = sum(os.times()[:4])
        wall, _ = seconds(task)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        queue.put(Cost(wall, sum(os.times()[:4]) - cpu, peak - resident))

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join()
    assert not process.exitcode
    return queue.get()


def building(n_tokens: int, text: np.ndarray, folder: Path) -> list[dict[str, Any]]:
    """Seconds for an index of the same tokens."""
    parts = [text[i : i + DOCUMENT_TOKENS] for i in range(0, len(text), DOCUMENT_TOKENS)]
    corpus = pd.DataFrame({"document_id": range(len(parts)), "token_ids": parts})
    ours = cost(
        lambda: build(corpus, folder / "ours", vocab_size=VOCABULARY),
        before=lambda: build(corpus[:WARM], folder / "few", vocab_size=VOCABULARY),
    )
    size = sum(path.stat().st_size for path in (folder / "ours").iterdir())
    print(
        f"  built with {ours.memory / n_tokens:.1f} bytes of memory per token, "
        f"{size / n_tokens:.1f} on disk",
        flush=True,
    )
    (folder / "source").mkdir()
    lines = (json.dumps({"text": " ".join(map(str, part))}) + "\n" for part in parts)
    (folder / "source" / "text.jsonl").write_text("".join(lines))
    compared = {
        "its program, from documents on": cost(lambda: their_program(folder)),
        f"its table alone, {CORES} jobs": cost(lambda: their_stages(folder / "ours")),
        "its table alone, in one part": cost(lambda: their_suffix_array(folder / "ours")),
    }
    return [
        row(n_tokens, f"build, seconds {kind}; {what}", getattr(ours, name), getattr(other, name))
        for what, other in compared.items()
        for kind, name in (("of the clock", "wall"), ("of all cores", "cpu"))
    ]


def their_stages(folder: Path) -> None:
    """infini-gram's three stages for the table: make-part, merge, concat."""
    file = folder / "tokenized.0"
    size, ratio = file.stat().st_size, pointer_width(file.stat().st_size)
    share = size // CORES + size // CORES % 2
    with tempfile.TemporaryDirectory() as scratch:
        parts, merged, whole = (Path(scratch, name) for name in ("parts", "merged", "whole"))
        parts.mkdir()
        merged.mkdir()

        def start(command: str, **options: Any) -> subprocess.Popen[bytes]:
            given = {"data-file": file, "ratio": ratio, "token-width": 2} | {
                name.replace("_", "-"): value for name, value in options.items()
            }
            words = [f"--{name}={value}" for name, value in given.items()]
            return subprocess.Popen([BUILDER, command, *words], stdout=subprocess.DEVNULL)

        ranges = [(i * share, min((i + 1) * share + 100_000, size)) for i in range(CORES)]
        jobs = [start("make-part", parts_dir=parts, start_byte=a, end_byte=b) for a, b in ranges]
        assert not any(job.wait() for job in jobs)
        shared = {"merged_dir": merged, "num_threads": CORES}
        assert not start("merge", parts_dir=parts, hacksize=100_000, **shared).wait()
        assert not start("concat", merged_file=whole, **shared).wait()


PROGRAM = """
import sys, transformers
class Tokenizer:
    def encode(self, text): return [int(word) for word in text.split()]
transformers.AutoTokenizer.from_pretrained = lambda *a, **k: Tokenizer()
from infini_gram.indexing import main
main()
"""


def their_program(folder: Path) -> None:
    """`infini_gram.indexing` from documents on; its tokenizer reads ids that are written out."""
    source, target = folder / "source", folder / "theirs"
    options = ["--tokenizer=gpt2", "--token_dtype=u16", "--add_metadata", "--add_unigram"]
    options += [f"--data_dir={source}", f"--save_dir={target}", f"--cpus={CORES}", "--mem=8"]
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    command = [sys.executable, "-c", PROGRAM, *options, f"--ulimit={limit}"]
    subprocess.run(command, check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1_000_000, 5_000_000, 20_000_000])
    parser.add_argument("--generations", type=int, default=256)
    parser.add_argument("--few", type=int, default=16, help="generations given to the engine")
    parser.add_argument(
        "--memfoil-alone-from", type=int, default=10**12, metavar="TOKENS",
        help="from this size on, nothing is built or traced by infini-gram",
    )  # fmt: skip
    arguments = parser.parse_args()
    for n_tokens in arguments.tokens:
        print(f"{n_tokens:,} tokens", flush=True)
        text = corpus_text(n_tokens)
        frame = generations_of(text, arguments.generations)
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent)
            if n_tokens < arguments.memfoil_alone_from:
                rows = building(n_tokens, text, folder)
                rows += matching(n_tokens, open_index(folder / "ours"), frame, arguments.few)
            else:
                rows = growth(n_tokens, text, folder, frame)
        print(pd.DataFrame(rows).fillna("").to_string(index=False), flush=True)


def growth(
    n_tokens: int, text: np.ndarray, folder: Path, frame: pd.DataFrame
) -> list[dict[str, Any]]:
    """memfoil alone: building, and a trace."""
    parts = [text[i : i + DOCUMENT_TOKENS] for i in range(0, len(text), DOCUMENT_TOKENS)]
    corpus = pd.DataFrame({"document_id": range(len(parts)), "token_ids": parts})
    ours = cost(
        lambda: build(corpus, folder / "ours", vocab_size=VOCABULARY),
        before=lambda: build(corpus[:WARM], folder / "few", vocab_size=VOCABULARY),
    )
    print(f"  built with {ours.memory / n_tokens:.1f} bytes of memory per token", flush=True)
    index = open_index(folder / "ours")
    alone = replace(index, threads=1)
    list(trace(frame, index, seed=1))
    times = [seconds(lambda: list(trace(frame, index, seed=1)))[0] for _ in range(3)]
    cpu = time.process_time()
    list(trace(frame, alone, seed=1))
    cpu = time.process_time() - cpu
    return [
        row(n_tokens, "build, seconds of the clock", ours.wall),
        row(n_tokens, "build, seconds of all cores", ours.cpu),
        row(n_tokens, f"whole trace, {index.threads} cores", min(times) * 1e3 / len(frame)),
        row(n_tokens, "whole trace, 1 core, its own time", cpu * 1e3 / len(frame)),
    ]


if __name__ == "__main__":
    start = time.perf_counter()
    main()
    print(f"\nmilliseconds per generation of {GENERATION_TOKENS} tokens, where not in seconds;")
    print(f"{CORES} cores; {time.perf_counter() - start:.0f} s in all")
