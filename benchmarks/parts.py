"""The same scoring as one job and as eight, and the memory of one job as the sequences grow.

    python benchmarks/parts.py results/demo [--model testbed/model] [--sequences 1000 10000]

The sequences of a finished run, again and again under new names, are scored by its model. Every job
is a process of its own that does what the script of rule `score` does, one after another on the
same cores. The joined parts are checked to be the table of the one job. Memory is the peak of a
process, with the interpreter and torch in it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
from tabulate import tabulate

from memfoil.models import load_backend
from memfoil.scoring import write_token_scores
from memfoil.tables import SEQUENCES, Provenance, table_of

PARTS = 8
MADE = Provenance("benchmark")


def score(model: Path, sequences: Path, out: Path, part: tuple[int, int]) -> None:
    write_token_scores(
        load_backend(model, backend="torch"),
        sequences,
        out,
        part=part,
        top_k=[40],
        provenance=MADE,
        progress=lambda items, *_: iter(items),
    )


def join(paths: list[Path], out: Path) -> None:
    table_of(paths[0]).join(paths, out, MADE)


def measured(work: Callable[..., None], *arguments: Any) -> tuple[float, float]:
    """Seconds and peak MB of some work in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_told, args=(theirs, work, arguments))
    start = time.perf_counter()
    process.start()
    theirs.close()
    peak = ours.recv()
    process.join()
    return time.perf_counter() - start, peak / 1024


def _told(pipe: Any, work: Callable[..., None], arguments: Any) -> None:
    work(*arguments)
    pipe.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def grown(run: Path, rows: int, path: Path) -> Path:
    """So many sequences of a run, as a table."""
    (table,) = (run / "sequences").glob("*.parquet")
    frame = SEQUENCES.read(table)
    frame = pd.concat([frame] * -(-rows // len(frame)), ignore_index=True)[:rows]
    frame["sequence_id"] = [f"{i} {name}" for i, name in enumerate(frame["sequence_id"])]
    SEQUENCES.write(frame, path, MADE)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--model", default="testbed/model")
    parser.add_argument("--sequences", type=int, nargs="+", default=[1000, 10_000])
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder, model = Path(name), given.run / given.model
        for n in given.sequences:
            sequences = grown(given.run, n, folder / f"{n}.parquet")
            whole = folder / f"{n}.scores.parquet"
            seconds, peak = measured(score, model, sequences, whole, (1, 1))
            rows.append([f"{n:,}", "one job", f"{seconds:.1f}", f"{seconds:.1f}", f"{peak:.0f}"])
        paths = [folder / f"{part}.parquet" for part in range(1, PARTS + 1)]
        jobs = [
            measured(score, model, sequences, path, (part, PARTS))
            for part, path in enumerate(paths, start=1)
        ]
        joined = folder / "joined.parquet"
        join_seconds, join_peak = measured(join, paths, joined)
        if not pq.read_table(joined).equals(pq.read_table(whole)):
            raise SystemExit("the joined parts are not the table of one job")
        took, peaks = zip(*jobs, strict=True)
        rows += [
            [
                f"{n:,}",
                f"{PARTS} jobs",
                f"{sum(took):.1f}",
                f"{max(took):.1f}",
                f"{max(peaks):.0f}",
            ],
            [
                f"{n:,}",
                "their join",
                f"{join_seconds:.1f}",
                f"{join_seconds:.1f}",
                f"{join_peak:.0f}",
            ],
        ]
    headers = ["sequences", "as", "seconds in all", "of the longest job", "peak MB of a job"]
    print(tabulate(rows, headers, tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    main()
