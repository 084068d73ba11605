"""What files in a store are called: as in a run on one machine, and never by their bucket."""

from types import SimpleNamespace

import pytest

from memfoil import stores
from memfoil.errors import InvalidConfiguration
from memfoil.tables import input_name


@pytest.fixture
def in_store(monkeypatch):
    monkeypatch.setenv(stores.COPIES, ".snakemake/storage")
    monkeypatch.setenv(stores.RESULTS, ".snakemake/storage/s3/bucket/runs")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (".snakemake/storage/s3/bucket/runs/results/a.parquet", "results/a.parquet"),
        (".snakemake/storage/s3/bucket/texts/own.jsonl", "s3://bucket/texts/own.jsonl"),
        ("results/a.parquet", "results/a.parquet"),
        ("/data/own.jsonl", "/data/own.jsonl"),
    ],
)
def test_a_file_has_the_name_of_a_local_run_or_its_place(in_store, path, name):
    assert stores.named(path) == name


def test_without_a_store_nothing_is_renamed(monkeypatch):
    monkeypatch.delenv(stores.COPIES, raising=False)
    monkeypatch.delenv(stores.RESULTS, raising=False)
    assert stores.named("results/a.parquet") == "results/a.parquet"


def test_provenance_names_no_bucket():
    assert input_name("s3://bucket/texts/own.jsonl", "0123456789ab") == "outside:01234567:own.jsonl"


def test_parameters_name_the_local_copy_wherever_they_name_an_input():
    params = {"model": {"folder": "results/m", "gpus": 1}, "list": ["x", ("results/m",)], "none": 0}
    assert stores.with_copies(params, {"results/m": "copy/m"}) == {
        "model": {"folder": "copy/m", "gpus": 1},
        "list": ["x", ("copy/m",)],
        "none": 0,
    }


def test_what_is_read_on_this_machine_is_refused_in_a_store():
    stores.refuse_elsewhere({"documents": [{"path": "s3://b/own.jsonl"}], "seed": 1})
    with pytest.raises(InvalidConfiguration, match="prompts/sets/2/file: s3://b/list"):
        stores.refuse_elsewhere({"prompts": {"sets": [{}, {"file": "s3://b/list.json"}]}})


@pytest.mark.parametrize(("provider", "prefix"), [("s3", None), ("gcs", "gcs://b"), ("s3", "b")])
def test_results_lie_in_s3_or_here(provider, prefix, monkeypatch):
    monkeypatch.setenv(stores.COPIES, "")
    monkeypatch.setenv(stores.RESULTS, "")
    settings = SimpleNamespace(
        local_storage_prefix="copies",
        default_storage_provider=provider,
        default_storage_prefix=prefix,
    )
    with pytest.raises(InvalidConfiguration, match="--default-storage-prefix s3://BUCKET/FOLDER"):
        stores.remember_copies(settings, object())
