"""Compression and multi-prefix from the searches made, and the criteria from these."""

from __future__ import annotations

from typing import Any

import pandas as pd

from memfoil.audit.jobs import Job, Made
from memfoil.prompts.criteria import judge, scores
from memfoil.prompts.multi_prefix import budget, prefixes_needed
from memfoil.prompts.searches import Record, Searches, Target, compress
from memfoil.tables import (
    COMPRESSION,
    CONTAMINATION,
    MULTI_PREFIX,
    PARROTS,
    PROMPT_RUNS,
    TARGETS,
    Table,
)

MEASURED: dict[str, Table] = {
    "compression": COMPRESSION,
    "multi_prefix": MULTI_PREFIX,
    "parrots": PARROTS,
}


class MadeBefore(Searches):
    """Searches that are read from the table of their runs instead of being made."""

    def __init__(self, runs: pd.DataFrame) -> None:
        rows: list[Any] = runs.astype(object).where(runs.notna(), None).to_dict("records")
        self.rows = {(row["sequence_id"], row["run"]): row for row in rows}

    def run(
        self,
        target: Target,
        procedure: str,  # noqa: ARG002
        number: int,
        prompt_tokens: int,
        steps: int,  # noqa: ARG002
    ) -> Record:
        row: dict[str, Any] = self.rows[target.sequence_id, number]
        if row["prompt_tokens"] != prompt_tokens:
            raise KeyError(f"run {number} of {target.sequence_id} with {prompt_tokens} tokens")
        return Record(row, [])


def compression(job: Job) -> Made:
    """COMPRESSION: the course of MiniPrompt told from what its runs found."""
    runs = PROMPT_RUNS.read(job.root / job.output("compression_runs.parquet"))
    asked = {name: job.parameters[name] for name in ("steps", "longest")}
    targets = job.read(TARGETS, "targets/*.parquet")
    *_, found = compress(
        targets, MadeBefore(runs), **asked, progress=lambda items, _label: iter(items)
    )
    yield job.output("compression.parquet"), found


def multi_prefix(job: Job) -> Made:
    """MULTI_PREFIX, but for eta and what is discoverable, which are the model's to say."""
    output = job.output("multi_prefix.parquet")
    runs = PROMPT_RUNS.read(job.root / job.output("multi_prefix_runs.parquet"))
    targets = job.read(TARGETS, "targets/*.parquet")
    known = MULTI_PREFIX.read(job.root / output)[["sequence_id", "eta", "discoverable"]]
    made = targets[["sequence_id"]].merge(known, on="sequence_id", validate="one_to_one")
    made["target_tokens"] = targets["token_ids"].map(len)
    pairs = zip(made["eta"], made["target_tokens"], strict=True)
    made["needed"] = [prefixes_needed(*pair) for pair in pairs]
    made["budget"] = made["needed"].map(budget)
    of = runs.groupby("sequence_id")
    counts = {
        "runs": of.size(),
        "successes": of["generated"].sum(),
        "distinct": of["distinct"].sum(),
    }
    for name, count in counts.items():
        made[name] = made["sequence_id"].map(count).fillna(0).astype("int64")
    made["success_rate"] = (made["successes"] / made["runs"]).fillna(0.0)
    made["memorized"] = (made["eta"] > 0) & (made["distinct"] >= made["needed"])
    yield output, made


def criteria(job: Job) -> Made:
    """GENERAL_SCORES, THRESHOLDS, RATES and PROMPT_CRITERIA of one search."""
    measured = {
        name: table.read(path)
        for name, table in MEASURED.items()
        for path in job.paths(f"{name}.parquet")
    }
    yield job.output("scores.parquet"), scores(measured)
    thresholds, rates, claimed = judge(
        job.read(TARGETS, "targets/*.parquet"),
        measured,
        job.read_any(CONTAMINATION, "contamination/*.parquet"),
        alpha=job.parameters["alpha"],
        confidence=job.parameters["confidence"],
    )
    yield job.output("thresholds.parquet"), thresholds
    yield job.output("rates.parquet"), rates
    yield job.output("criteria.parquet"), claimed
