"""Text and results in S3, on a server that runs here: the same tables as on one machine."""

import json

import boto3
import pytest
import yaml
from moto.server import ThreadedMotoServer
from small_run import checkout

from memfoil import tables
from memfoil.audit.chain import audit

pytestmark = pytest.mark.workflow
BUCKET = "a-bucket-of-mine"
IN_STORE = (
    "--default-storage-provider", "s3", "--default-storage-prefix", f"s3://{BUCKET}/some/runs",
)  # fmt: skip
# Of every kind: tables, folders of a model and an index, chunks, a journal.
TARGETS = [
    "results/small/calibration/testbed/claims.parquet",
    "results/small/prompts/small/testbed/plain/compression.parquet",
]
SECRET = "a-secret-of-mine"


@pytest.fixture(scope="module")
def store():
    """A server, as the environment of Snakemake, and its bucket."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    named = {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": SECRET}
    keys = {"aws_access_key_id": "me", "aws_secret_access_key": SECRET}
    bucket = boto3.resource("s3", "us-east-1", endpoint_url=url, **keys).Bucket(BUCKET)
    bucket.create()
    yield named | {"SNAKEMAKE_STORAGE_S3_ENDPOINT_URL": url}, bucket
    server.stop()


@pytest.fixture(scope="module")
def stored(store, tmp_path_factory, pytestconfig):
    """A small run whose results lie in the store, and all of them downloaded."""
    made = checkout(tmp_path_factory.mktemp("stored"), pytestconfig.rootpath)
    environment, bucket = store
    done = made.snakemake(*TARGETS, *IN_STORE, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    copy = tmp_path_factory.mktemp("downloaded")
    for each in bucket.objects.all():
        path = copy / each.key.removeprefix("some/runs/")
        path.parent.mkdir(parents=True, exist_ok=True)
        bucket.download_file(each.key, path)
    return made, copy


def test_tables_and_origins_are_those_of_a_local_run(stored, finished):
    _, copy = stored
    paths = [path.relative_to(copy) for path in copy.rglob("results/small/**/*.parquet")]
    assert len(paths) > 15
    differing = [
        path
        for path in paths
        if tables.digest(copy / path) != tables.digest(finished.folder / path)
    ]
    assert not differing


def results_named(value):
    """Every result that parameters name, but for journals, which stay on the machine."""
    if isinstance(value, dict):
        return {name for key in value if key != "journal" for name in results_named(value[key])}
    if isinstance(value, list):
        return {name for item in value for name in results_named(item)}
    return {value} if isinstance(value, str) and value.startswith("results/") else set()


def test_parameters_name_no_result_that_is_not_an_input(finished):
    """It would not be fetched; nor, on one machine, be waited for."""
    for path in finished.folder.rglob("results/small/**/*.parquet"):
        made = tables.provenance_of(path)
        assert results_named(made["parameters"]) <= made["inputs"].keys(), path


def test_the_chain_of_the_downloaded_run_holds(stored):
    found = audit(stored[1] / "results/small")
    assert found.holds, found.as_text()


def test_a_second_call_does_nothing(stored, store):
    done = stored[0].snakemake(*TARGETS, *IN_STORE, **store[0])
    assert "Nothing to be done" in done.stdout + done.stderr


def test_no_result_stays_beside_the_workflow_but_the_journal(stored):
    made, _ = stored
    kept = [path for path in made.folder.glob("results/**/*") if path.is_file()]
    assert [path.name for path in kept] == ["compression.testbed.plain.jsonl"]
    copies = made.folder / ".snakemake/storage/s3" / BUCKET / "some/runs"
    assert {path.relative_to(copies).parts[0] for path in copies.rglob("*") if path.is_file()} == {
        "benchmarks",
        "logs",
    }


def test_neither_bucket_nor_key_is_told(stored):
    for path in stored[1].rglob("*.parquet"):
        told = json.dumps(tables.provenance_of(path))
        assert BUCKET not in told, path
        assert ".snakemake" not in told, path
    for path in stored[1].rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def configured(checkout, **changes):
    config = yaml.safe_load(checkout.configfile.read_text()) | changes
    path = checkout.folder / "changed.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return path


def test_documents_are_read_from_a_store(fresh, store):
    environment, bucket = store
    text = {"document_id": "a", "text": "word " * 99, "date": "1990-01-01", "source": "s"}
    bucket.put_object(Key="texts/own.jsonl", Body=json.dumps(text).encode())
    source = {"reader": "jsonl", "path": f"s3://{BUCKET}/texts/own.jsonl"}
    config = configured(fresh, documents=[source])
    target = "results/small/documents.parquet"
    done = fresh.snakemake(target, configfile=config, **environment)
    assert done.returncode == 0, done.stderr
    documents = tables.DOCUMENTS.read(fresh.folder / target)
    assert list(documents.document_id) == ["a"]
    told = tables.provenance_of(fresh.folder / target)
    assert BUCKET not in json.dumps(told)
    assert [name.split(":")[0] for name in told["inputs"]] == ["outside"]
    assert told["parameters"]["sources"] == [source | {"path": "own.jsonl"}]


def test_a_model_and_an_index_are_read_from_a_store(stored, store, fresh):
    """With the results on this machine."""
    documents = tables.DOCUMENTS.read(stored[1] / "results/small/documents.parquet")
    recent = documents[documents.date >= "1975-01-01"]
    recent = recent.assign(date=recent.date.dt.strftime("%Y-%m-%d"))
    recent.to_json(fresh.folder / "own.jsonl", orient="records", lines=True)
    made = f"s3://{BUCKET}/some/runs/results/small"
    with (fresh.folder / "config/models.yaml").open("a") as models:
        models.write(f"mine:\n  source: {made}/testbed/model\n")
    config = configured(
        fresh,
        run="own",
        testbed=None,
        census=None,
        prompts=None,
        propensity=None,
        documents=[{"reader": "jsonl", "path": "own.jsonl"}],
        models=["mine"],
        decontamination={"index": f"{made}/index/testbed"},
        pools=[
            {"name": "before", "role": "candidate", "passages": 20, "to": "1989-12-31"},
            {"name": "after", "role": "control", "passages": 20, "from": "1990-01-01"},
        ],
    )
    targets = ["results/own/token_scores/mine.parquet", "results/own/contamination/mine.parquet"]
    done = fresh.snakemake(*targets, configfile=config, **store[0])
    assert done.returncode == 0, done.stdout + done.stderr
    for target, fetched in zip(targets, ("model", "testbed"), strict=True):
        told = tables.provenance_of(fresh.folder / target)
        assert BUCKET not in json.dumps(told)
        assert fetched in {name.split(":")[-1] for name in told["inputs"] if "outside:" in name}


@pytest.mark.parametrize(
    ("arguments", "changes", "said"),
    [
        (("--default-storage-provider", "s3"), {}, "--default-storage-prefix missing"),
        ((), {"prompts": {"templates": "s3://bucket/t.csv"}}, "prompts/templates: s3://bucket/t"),
        (
            (*IN_STORE[:3], "s3://my-tables"),
            {},
            "holds the word 'table', which infini-gram's format cannot bear",
        ),
    ],
)
def test_what_cannot_lie_in_a_store_is_one_line(arguments, changes, said, fresh, store):
    config = configured(fresh, **changes)
    done = fresh.snakemake("-n", *arguments, configfile=config, **store[0])
    lines = [line for line in done.stderr.splitlines() if line.startswith("memfoil: ")]
    assert done.returncode == 2, done.stderr
    assert len(lines) == 1
    assert said in lines[0]
    assert "Traceback" not in done.stderr
