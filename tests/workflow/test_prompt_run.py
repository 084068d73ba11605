"""Prompt search in the workflow: its tables, its resumption, its experiments, its refusals."""

import json

import pytest
import yaml

from memfoil import tables

pytestmark = pytest.mark.workflow

FOUND = {
    "targets/testbed": tables.TARGETS,
    "contamination/testbed": tables.CONTAMINATION,
    "testbed/plain/compression": tables.COMPRESSION,
    "testbed/plain/compression_runs": tables.PROMPT_RUNS,
    "testbed/plain/compression_losses": tables.PROMPT_LOSSES,
    "testbed/plain/multi_prefix": tables.MULTI_PREFIX,
    "testbed/plain/multi_prefix_runs": tables.PROMPT_RUNS,
    "testbed/plain/scores": tables.GENERAL_SCORES,
    "testbed/plain/criteria": tables.PROMPT_CRITERIA,
    "testbed/plain/thresholds": tables.THRESHOLDS,
    "testbed/plain/rates": tables.RATES,
}


def test_the_default_run_makes_a_few_searches_and_names_the_level_they_certify(finished):
    folder = finished.folder / "results" / "small" / "prompts" / "small"
    for name, table in FOUND.items():
        assert len(table.read(folder / f"{name}.parquet")) > 0, name
    page = (folder / "testbed" / "plain" / "summary.md").read_text()
    assert "2 controls certify no false-positive rate below 1/3 = 33.3%" in page
    assert "| ACR > 1 " in page


def test_settings_of_the_calibration_make_no_search_again(finished):
    config = yaml.safe_load(finished.configfile.read_text())
    config["prompts"]["alpha"] = 0.3
    path = finished.folder / "alpha.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    planned = finished.planned(configfile=path)
    assert "prompt_criteria" in planned
    assert planned.isdisjoint({"compression", "multi_prefix", "prompt_targets", "train"})


@pytest.mark.parametrize("name", ["prompts_pythia", "prompts_aligned"])
def test_the_published_experiments_pass_a_dry_run(fresh, name):
    data = fresh.folder / "data"
    data.mkdir()
    for listed in ("famous_quotes", "wikipedia", "paraphrased_quotes"):
        (data / f"{listed}.json").write_text(json.dumps(["A sentence of my own.", "And one more."]))
    experiment = f"config/experiments/{name}.yaml"
    done = fresh.snakemake("-n", "prompt_search", configfile=experiment)
    assert done.returncode == 0, done.stdout + done.stderr
    searches = yaml.safe_load((fresh.folder / experiment).read_text())["prompts"]["searches"]
    for search in searches:
        page = f"prompts/full/{search['model']}/{search['frame']}/summary.md"
        assert page in done.stdout + done.stderr


def test_settings_that_fit_nothing_are_refused_before_anything_runs(fresh):
    config = yaml.safe_load(fresh.configfile.read_text())
    config["prompts"]["sets"] = [
        {"name": "a", "role": "control", "pool": "held-out", "tokens": 8},
        {"name": "b", "role": "control", "random": 2, "tokens": [5, 9]},
    ]
    path = fresh.folder / "changed.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    done = fresh.snakemake("-n", configfile=path)
    assert done.returncode == 2
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("memfoil: ")]
    assert line.startswith("memfoil: prompts/sets: no candidate set")
