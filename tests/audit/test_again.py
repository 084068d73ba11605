"""What a small run does not hold: results that need two models, made again all the same."""

import numpy as np
import pandas as pd
import pytest

from memfoil import paired
from memfoil.audit.jobs import jobs_of
from memfoil.audit.verify import _computed
from memfoil.propensity.models import model_differences
from memfoil.tables import (
    CLAIMS,
    GENERATIONS,
    MODEL_DIFFERENCES,
    PAIRED,
    REPRODUCTION,
    Provenance,
    digest,
)

RUN = "results/r"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(table, frame, name, stage, inputs=(), **parameters):
    read = {f"{RUN}/{each}.parquet": digest(f"{RUN}/{each}.parquet") for each in inputs}
    table.write(frame, f"{RUN}/{name}.parquet", Provenance(stage, read, parameters))


def said(folder, *names):
    """(table made again, how it differs) of the jobs that wrote these."""
    jobs = jobs_of(folder, [f"{RUN}/{name}.parquet" for name in names])
    return [each for job in jobs for each in _computed(job)]


def claims(claimed):
    return pd.DataFrame(
        {
            "control_pool": "held-out",
            "decontaminated": True,
            "procedure": "base",
            "suffix_tokens": 5,
            "alpha": 0.1,
            "sequence_id": [f"s{i}" for i in range(len(claimed))],
            "log_score": -1.0,
            "p_value": 0.5,
            "p_randomized": 0.5,
            "claimed": claimed,
            "claimed_confident": claimed,
            "margin": None,
            "log10_queries": 1.0,
            "extractable": claimed,
            "bonferroni": claimed,
            "benjamini_hochberg": claimed,
        }
    )


def test_differences_of_claims(folder):
    models = {"m": claims([True, True, False]), "n": claims([True, False, False])}
    for model, frame in models.items():
        write(CLAIMS, frame, f"calibration/{model}/claims", "calibrate")
    inputs = [f"calibration/{model}/claims" for model in models]
    found = paired.differences(models)
    write(PAIRED, found, "paired/m", "paired", inputs, models=["m", "n"])
    assert said(folder, "paired/m") == [(f"{RUN}/paired/m.parquet", None)]
    write(PAIRED, found.assign(both=3), "paired/m", "paired", inputs, models=["m", "n"])
    ((_, problem),) = said(folder, "paired/m")
    assert problem.startswith(f"{RUN}/paired/m.parquet: both of ")


def written(whole):
    names = [f"{setting} {i}" for setting in ("generic", "prefix") for i in range(6)]
    reproduction = pd.DataFrame(
        {
            "generation_id": names,
            "tokens": 60,
            "whole": ["exact" if i in whole else "no" for i in range(12)],
            "longest": 20,
            "longest_unlooped": 20,
            "longest_count": 1,
            "head_count": 1,
            "documents": 1,
            "recall": 0.5,
            "recall_50": 0.0,
            "zlib_ratio": 0.5,
            "degenerate": False,
            "code_like": False,
        }
    )
    generations = pd.DataFrame(
        {
            "generation_id": names,
            "token_ids": [np.zeros(60, np.int32)] * 12,
            "text": " ",
            "prompt_id": names,
            "setting": ["generic"] * 6 + ["prefix"] * 6,
        }
    )
    return reproduction, generations


def test_differences_of_what_two_models_reproduce(folder):
    sides = {"m": written({0, 1, 7}), "n": written({1})}
    inputs = []
    for model, (reproduction, generations) in sides.items():
        write(REPRODUCTION, reproduction, f"propensity/{model}/training/reproduction", "trace")
        write(GENERATIONS, generations, f"propensity/{model}/generations", "generate")
        inputs += [f"propensity/{model}/training/reproduction", f"propensity/{model}/generations"]
    asked = {"resamples": 50, "seed": 1}
    for first, second in (("m", "n"), ("n", "m")):
        found = model_differences(sides[first], sides[second], **asked)
        name = f"propensity/{first}/minus/{second}"
        write(MODEL_DIFFERENCES, found, name, "propensity_models", inputs, **asked)
        assert said(folder, name) == [(f"{RUN}/{name}.parquet", None)]
    other = found.assign(difference=-found["difference"])
    write(MODEL_DIFFERENCES, other, name, "propensity_models", inputs, **asked)
    ((_, problem),) = said(folder, name)
    assert problem.startswith(f"{RUN}/{name}.parquet: difference of ")
