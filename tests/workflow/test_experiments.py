"""The population experiments, and what another model reruns."""

import re

import pytest
import yaml

pytestmark = pytest.mark.workflow

EXPERIMENTS = {
    "population": ["olmo-2-7b", "olmo-2-13b", "olmo-2-32b"],
    "suffix_sweep": ["olmo-2-7b"],
    "model_scale": ["olmo-2-7b", "olmo-2-13b", "olmo-2-32b"],
    "decontaminated": ["olmo-2-7b"],
    "budgets": ["olmo-2-13b"],
}
OF_ONE_MODEL = {"score", "scores", "calibrate", "validity", "figures", "report_tables"}
OF_ALL_MODELS = {"summary", "paired"}


def in_place(checkout, name):
    """An experiment file, with what it needs put in place as empty files."""
    experiment = checkout.folder / f"config/experiments/{name}.yaml"
    text = experiment.read_text()
    for path in re.findall(r"data/\S+?\.(?:bz2|gz)", text):
        (checkout.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (checkout.folder / path).touch()
    (checkout.folder / "data/index/olmo_mix_olmo-2").mkdir(parents=True, exist_ok=True)
    return experiment


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_population_experiments_pass_a_dry_run(fresh, name):
    done = fresh.snakemake("-n", configfile=in_place(fresh, name))
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    jobs = re.findall(r"^rule (\w+):", said, re.MULTILINE)
    assert jobs.count("score") == len(EXPERIMENTS[name])
    assert jobs.count("paired") == (len(EXPERIMENTS[name]) > 1)
    assert jobs.count("sequences") == jobs.count("decontaminate") == 1
    assert "train" not in jobs
    for model in EXPERIMENTS[name]:
        assert f"calibration/{model}/rates.parquet" in said


def test_parrot_prompts_pass_a_dry_run(fresh):
    done = fresh.snakemake("-n", "prompt_search", configfile=in_place(fresh, "parrots"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "prompts/full/olmo-2-32b-instruct/chat/summary.md" in done.stdout + done.stderr


def test_a_model_that_a_package_carries_passes_a_dry_run(fresh):
    done = fresh.snakemake("-n", configfile="config/experiments/population_smollm2.yaml")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert {"packaged_model", "older_index"} <= set(re.findall(r"^rule (\w+):", said, re.MULTILINE))


@pytest.mark.parametrize("order", [["testbed", "another"], ["another", "testbed"]])
def test_another_model_reruns_nothing_but_what_is_its_own(finished, order):
    """It shares a tokenizer: no sampling, no decontamination, no scores of the first model."""
    models = finished.folder / "config/models.yaml"
    kept = models.read_text()
    (finished.folder / "another").mkdir(exist_ok=True)
    models.write_text(kept + "another: {source: another, tokenizer: testbed}\n")
    config = yaml.safe_load(finished.configfile.read_text()) | {"models": order}
    config |= {"census": None, "prompts": None, "propensity": None}
    path = finished.folder / "two.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    try:
        done = finished.snakemake("-n", configfile=path)
    finally:
        models.write_text(kept)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    jobs = re.findall(r"^rule (\w+):\n(?:.*\n)*?.*wildcards: (.*)$", said, re.MULTILINE)
    started = [rule for rule, _ in jobs]
    assert sorted(started) == sorted(OF_ONE_MODEL | OF_ALL_MODELS)
    assert all("model=another" in wildcards for rule, wildcards in jobs if rule in OF_ONE_MODEL)
