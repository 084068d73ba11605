"""What a census says, from the scores of its windows and the verdicts on its controls."""

from __future__ import annotations

from pathlib import PurePosixPath

import pandas as pd

from memfoil.audit.jobs import Job, Made
from memfoil.census import maps, recovery
from memfoil.census import results as found
from memfoil.census.case import Budget, Case, read_cases
from memfoil.census.controls import leaving
from memfoil.census.texts import by_name
from memfoil.tables import (
    BEAM_SEARCHES,
    CENSUS_CONTROLS,
    CENSUS_TEXTS,
    CENSUS_WINDOWS,
    LEFT_OUT,
    PASSAGES,
    SPLITS,
)


def controls(job: Job) -> Made:
    """LEFT_OUT: the windows that overlap what was found in the controls."""
    judged = CENSUS_CONTROLS.read(job.root / job.output("controls.parquet"))
    gone = []
    for pair, _, control in job.parameters["pairs"]:
        windows = job.read(CENSUS_WINDOWS, f"windows/*/{pair}.parquet")
        own = windows[windows["document_id"] == control]
        gone.append(leaving(judged[judged["pair"] == pair], own))
    left_out = pd.concat(gone, ignore_index=True).drop_duplicates("item_id")
    yield job.output("left_out/census/controls/*.parquet"), left_out


def results(job: Job) -> Made:
    """CENSUS_THRESHOLDS, CENSUS, CENSUS_CURVES, CENSUS_RECOVERY, CENSUS_HEAT, CENSUS_TRUTH."""
    asked = job.parameters
    cases, budget = _cases(job), Budget(asked["query_budget"], asked["success"])
    thresholds = found.thresholds(cases, asked["prefix_tokens"])
    yield job.output("thresholds.parquet"), thresholds
    yield job.output("census.parquet"), found.coverage(cases, thresholds, budget)
    yield job.output("curves.parquet"), found.curves(cases, thresholds, budget)
    beams = [job.read(BEAM_SEARCHES, f"beam_searches/*/{case.pair}.parquet") for case in cases]
    decoding = asked["near_verbatim"]["decoding"]
    recovered = recovery.recovery(cases, beams, thresholds, budget, decoding=decoding)
    yield job.output("recovery.parquet"), recovered
    yield job.output("heat.parquet"), maps.heat_runs(cases, budget)
    known = (
        job.read_any(PASSAGES, "passages.parquet"),
        job.read_any(SPLITS, "testbed/splits.parquet"),
    )
    yield job.output("truth.parquet"), maps.truth(cases, thresholds, *known)


def _cases(job: Job) -> list[Case]:
    """The pairs of the job's model; of texts only the length counts."""
    pairs, near = job.parameters["pairs"], job.parameters["near_verbatim"]
    return read_cases(
        PurePosixPath(job.outputs[0]).parent.name,
        pairs,
        by_name(job.read(CENSUS_TEXTS, "census/texts.parquet")),
        [
            (
                str(job.path(f"census/windows/*/{pair}.parquet")),
                str(job.path(f"census/scores/*/{pair}.parquet")),
                str(job.path(f"census/near_verbatim/*/{pair}.parquet")),
            )
            for pair, _, _ in pairs
        ],
        epsilon=near["epsilon"],
        decoding=near["decoding"],
        leaving=frozenset(job.read(LEFT_OUT, "census/controls/*.parquet")["item_id"]),
    )
