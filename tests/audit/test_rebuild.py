"""What an audit says rebuilds a damaged file does rebuild it."""

import shlex

import pytest

from memfoil.cli import main

pytestmark = pytest.mark.workflow

RUN = "results/small"
FILES = {
    "table": "scores/testbed.parquet",
    "index": "index/testbed/table.0",
    "model": "testbed/model/model.safetensors",
    "census": "census/near_verbatim/testbed/bush.parquet",
    "propensity": "propensity/testbed/foil/reproduction.parquet",
    "prompts": "prompts/small/testbed/plain/multi_prefix_runs.parquet",
}


@pytest.fixture(scope="module")
def copy(finished, tmp_path_factory):
    """The small run, to be damaged and mended."""
    return finished.copy(tmp_path_factory.mktemp("damaged") / "copy")


@pytest.mark.parametrize("kind", FILES)
def test_the_command_that_an_audit_prints_mends_the_run(copy, kind, monkeypatch, capsys):
    monkeypatch.chdir(copy.folder)
    path = copy.folder / RUN / FILES[kind]
    whole = path.read_bytes()
    path.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
    assert main(["audit", "results"]) == 1
    said = capsys.readouterr().out
    assert FILES[kind].removesuffix("model.safetensors").rstrip("/") in said
    (line,) = (line for line in said.splitlines() if line.startswith("To rebuild"))
    program, *arguments = shlex.split(line.partition(": ")[2])
    assert program == "snakemake"
    done = copy.snakemake(*arguments)
    assert done.returncode == 0, done.stderr
    assert main(["audit", "results"]) == 0, capsys.readouterr().out
