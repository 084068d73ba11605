"""Propensity in the workflow: its tables, its experiments, its refusals."""

import re

import pytest
import yaml

from memfoil import tables
from memfoil.index import open_index

pytestmark = pytest.mark.workflow

FOUND = {
    "prompts/testbed": tables.PROMPTS,
    "testbed/generations": tables.GENERATIONS,
    "testbed/training/spans": tables.SPANS,
    "testbed/training/traces": tables.TRACES,
    "testbed/training/reproduction": tables.REPRODUCTION,
    "testbed/foil/reproduction": tables.REPRODUCTION,
    "testbed/propensity": tables.PROPENSITY,
    "testbed/prompted": tables.PROMPTED,
    "testbed/prompt_texts": tables.PROMPT_TEXTS,
    "testbed/span_copies": tables.SPAN_COPIES,
    "testbed/span_lengths": tables.SPAN_LENGTHS,
    "testbed/span_scores": tables.SPAN_SCORES,
    "testbed/span_rates": tables.SPAN_RATES,
}
EXPERIMENTS = {
    "propme_common_pile": ["comma-2t", "dfm-decoder"],
    "propme_dynaword": ["dfm-decoder"],
    "propme_dolma3": ["olmo-3-32b"],
}


def test_the_default_run_holds_every_setting_against_the_attack_and_the_foil(finished):
    folder = finished.folder / "results" / "small" / "propensity"
    read = {name: table.read(folder / f"{name}.parquet") for name, table in FOUND.items()}
    assert all(len(frame) for frame in read.values())
    rates = read["testbed/propensity"]
    assert len(rates) == 5 * 2 * 10
    assert rates["foil"].notna().all()
    assert rates.loc[rates.setting != "prefix", "f_c"].notna().all()
    assert len(read["testbed/generations"]) == 5 * 5 * 4
    for name in ("propensity", "span_lengths", "long_matches", "filters"):
        assert (folder / "testbed" / f"{name}.svg").is_file()
    for text in ("training", "foil"):
        assert "<html" in (folder / "testbed" / text / "traces.html").read_text()
    assert "## Beyond predictability" in (folder / "testbed/summary.md").read_text()


def test_the_foil_is_as_large_as_the_training_text_and_apart_from_it(finished):
    folder = finished.folder / "results" / "small"
    training, foil = (
        open_index(folder / name) for name in ("index/testbed", "propensity/foil/testbed")
    )
    assert foil.n_documents == training.n_documents
    assert abs(foil.n_tokens / training.n_tokens - 1) < 0.1
    splits = tables.SPLITS.read(folder / "testbed/splits.parquet")
    other = tables.SPLITS.read(folder / "propensity/foil.testbed.parquet")
    read, drawn = (set(frame.passage_id[frame.repetitions > 0]) for frame in (splits, other))
    assert read
    assert read.isdisjoint(drawn)


def test_more_resamples_generate_nothing_again(finished):
    config = yaml.safe_load(finished.configfile.read_text())
    config["propensity"]["resamples"] = 300
    path = finished.folder / "resamples.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    planned = finished.planned(configfile=path)
    assert {"propensity_tables", "propensity_figures"} <= planned
    assert planned.isdisjoint({"propensity_prompts", "propensity_generate", "propensity_trace"})


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_published_experiments_pass_a_dry_run(fresh, name):
    """With what they need put in place, as empty files."""
    experiment = fresh.folder / f"config/experiments/{name}.yaml"
    for path in re.findall(r"data/\S+?\.(?:parquet|bz2)", experiment.read_text()):
        (fresh.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (fresh.folder / path).touch()
    for path in re.findall(r"(?:index|foil): (data/index/\w+)$", experiment.read_text(), re.M):
        (fresh.folder / path).mkdir(parents=True)
    done = fresh.snakemake("-n", "propensity", configfile=experiment)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    for model in EXPERIMENTS[name]:
        assert f"propensity/{model}/summary.md" in said
        assert f"propensity/{model}/foil/reproduction.parquet" in said
    both = "propensity/dfm-decoder/minus/comma-2t.parquet"
    assert (both in said) == (len(EXPERIMENTS[name]) == 2)
    assert "train" not in re.findall(r"(?:local)?rule (\w+):", said)


def test_the_fuller_run_passes_a_dry_run(fresh):
    experiment = fresh.folder / "config/experiments/testbed_propensity.yaml"
    done = fresh.snakemake("-n", "propensity", configfile=experiment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_settings_that_fit_nothing_are_refused_before_anything_runs(fresh):
    config = yaml.safe_load(fresh.configfile.read_text())
    config["propensity"]["specific"] = ["planted"]
    path = fresh.folder / "changed.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    done = fresh.snakemake("-n", configfile=path)
    lines = [line for line in done.stderr.splitlines() if line.startswith("memfoil: ")]
    (line,) = [line for line in lines if not line.startswith("memfoil: warning")]
    assert done.returncode == 2
    assert line.startswith("memfoil: propensity/specific: planted is no pool of controls")


@pytest.mark.parametrize(
    ("content", "said"),
    [("1,eng,No tabs.\n", "between tabs"), ("1\tdan\tHej.\n", "no sentence in en")],
)
def test_an_export_that_cannot_be_read_is_one_line(finished, content, said):
    (finished.folder / "export.tsv").write_text(content)
    config = yaml.safe_load(finished.configfile.read_text())
    config["propensity"]["generic"] = "export.tsv"
    path = finished.folder / "generic.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    target = "results/small/propensity/prompts/testbed.parquet"
    before = (finished.folder / target).read_bytes()
    done = finished.snakemake(target, configfile=path)
    lines = [line for line in done.stderr.splitlines() if line.startswith("memfoil: ")]
    lines = [line for line in lines if not line.startswith("memfoil: warning")]
    assert done.returncode != 0
    assert len(lines) == 1
    assert "export.tsv" in lines[0]
    assert said in lines[0]
    assert before
    assert finished.snakemake(target).returncode == 0
