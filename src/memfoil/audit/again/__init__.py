"""The results of a run computed again from what lies beneath them, one module per kind.

A function takes the job of a stage and gives a frame for each table it computes again, by the
table's name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from memfoil.audit.again import calibration, census, prompts, propensity
from memfoil.audit.jobs import Job, Made

Again: TypeAlias = Callable[[Job], Made]

AGAIN: dict[str, Again] = {
    "scores": calibration.scores,
    "calibrate": calibration.calibrate,
    "validity": calibration.validity,
    "paired": calibration.paired,
    "census_controls": census.controls,
    "census_results": census.results,
    "propensity_tables": propensity.tables,
    "propensity_models": propensity.models,
    "compression": prompts.compression,
    "multi_prefix": prompts.multi_prefix,
    "prompt_criteria": prompts.criteria,
}
"""By the stage, as the provenance of its tables names it."""

__all__ = ["AGAIN", "Again"]
