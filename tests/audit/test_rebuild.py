"""What an audit says rebuilds a damaged file does rebuild it."""

import shlex

import pytest

from memfoil.cli import main

pytestmark = pytest.mark.workflow

RUN = "results/small"
DAMAGED = (
    "scores/testbed.parquet",
    "index/testbed/table.0",
    "testbed/model/model.safetensors",
    "census/near_verbatim/testbed/bush.parquet",
    "propensity/testbed/foil/reproduction.parquet",
    "prompts/small/testbed/plain/multi_prefix_runs.parquet",
)


def test_the_command_that_an_audit_prints_mends_the_run(finished, tmp_path, monkeypatch, capsys):
    copy = finished.copy(tmp_path / "copy")
    monkeypatch.chdir(copy.folder)
    for name in DAMAGED:
        path = copy.folder / RUN / name
        whole = path.read_bytes()
        path.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
    assert main(["audit", "results"]) == 1
    said = capsys.readouterr().out
    for name in DAMAGED:
        assert name.removesuffix("/model.safetensors") in said
    (line,) = (line for line in said.splitlines() if line.startswith("To rebuild"))
    program, *arguments = shlex.split(line.partition(": ")[2])
    assert program == "snakemake"
    done = copy.snakemake(*arguments)
    assert done.returncode == 0, done.stderr
    assert main(["audit", "results"]) == 0, capsys.readouterr().out
