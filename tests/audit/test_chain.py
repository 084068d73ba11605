"""Whatever is changed under finished tables, the audit finds it and names the file."""

import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memfoil import index
from memfoil.audit.chain import audit
from memfoil.cli import main
from memfoil.tables import CORPUS, GENERAL_SCORES, LEFT_OUT, Provenance, digest, input_name


@pytest.fixture
def run(tmp_path_factory, monkeypatch):
    """A chain of a document, two tables and an index that a third table rests on."""
    tmp_path = tmp_path_factory.mktemp("run")  # an index takes no path that says "table"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "documents.txt").write_text("It was a bright cold day.")
    corpus = pd.DataFrame(
        {"document_id": ["a", "b"], "token_ids": [np.arange(9, dtype=np.int32)] * 2}
    )
    CORPUS.write(corpus, "results/r/corpus.parquet", made("corpus", "documents.txt"))
    scores = pd.DataFrame(
        {"sequence_id": ["a", "b"], "procedure": "p", "suffix_tokens": 0, "score": [1.0, 2.0]}
    )
    GENERAL_SCORES.write(
        scores, "results/r/scores.parquet", made("score", "results/r/corpus.parquet")
    )
    index.build(corpus, "results/r/index", vocab_size=16)
    left = pd.DataFrame({"item_id": ["a"], "reason": ["short"], "detail": [None]})
    LEFT_OUT.write(left, "results/r/left.parquet", made("trace", "results/r/index"))
    return tmp_path


def made(stage, *paths, **changes):
    inputs = {input_name(path, digest(path)): digest(path) for path in paths}
    return Provenance(stage, inputs, **{"parameters": {"alphas": [0.1]}, "seed": 3} | changes)


def flip(path, position, bit=0):
    content = bytearray(path.read_bytes())
    content[position] ^= 1 << bit
    path.write_bytes(content)


def problems(folder="results"):
    return {problem.file: problem for problem in audit(folder).problems}


def test_an_untouched_chain_holds(run, capsys):
    assert main(["audit", "results"]) == 0
    assert "The chain holds." in capsys.readouterr().out
    found = audit("results/r")
    assert (found.tables, found.inputs, found.seeds) == (3, 3, (3,))


def test_a_chain_holds_from_wherever_it_is_looked_at(run, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert audit(run / "results").holds
    (run / "documents.txt").write_text("another")
    assert [problem.file for problem in audit(run / "results").problems] == ["documents.txt"]


def test_any_bit_flipped_in_a_table_nobody_reads_is_found(run):
    path = run / "results/r/scores.parquet"
    whole = path.read_bytes()
    for position in [*range(0, len(whole), 61), *range(len(whole) - 40, len(whole))]:
        flip(path, position, position % 8)
        assert "results/r/scores.parquet" in problems("results/r/scores.parquet"), position
        path.write_bytes(whole)


@pytest.mark.parametrize("left", [0, 3, 8, 100, -1])
def test_a_table_cut_short_is_found(run, left):
    path = run / "results/r/scores.parquet"
    path.write_bytes(path.read_bytes()[:left])
    assert problems()["results/r/scores.parquet"].rebuild == ("results/r/scores.parquet",)


def test_any_byte_flipped_in_an_index_is_found_with_its_file(run):
    for path in sorted((run / "results/r/index").iterdir()):
        whole = path.read_bytes()
        flip(path, len(whole) // 2)
        found = problems()
        assert f"results/r/index/{path.name}" in found or path.name == "memfoil.json"
        assert all(p.rebuild == ("results/r/index",) for p in found.values())
        assert found
        path.write_bytes(whole)


def test_a_damaged_table_is_named_once_and_rebuilt_itself(run, capsys):
    flip(run / "results/r/corpus.parquet", 10)
    assert main(["audit", "results", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert [problem["file"] for problem in said["problems"]] == ["results/r/corpus.parquet"]
    assert said["command"] == "snakemake --cores all --forcerun results/r/corpus.parquet"


def test_a_table_made_again_leaves_its_readers_stale(run):
    frame = CORPUS.read("results/r/corpus.parquet").iloc[:1]
    CORPUS.write(frame, "results/r/corpus.parquet", made("corpus", "documents.txt"))
    assert problems()["results/r/corpus.parquet"].rebuild == ("results/r/scores.parquet",)


@pytest.mark.parametrize("change", ["changed", "gone"])
@pytest.mark.parametrize("name", ["documents.txt", "results/r/index", "results/r/corpus.parquet"])
def test_an_input_that_is_gone_or_another_is_found(run, name, change):
    path = run / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    if change == "changed":
        path.write_text("another")
    assert name in problems()


def scored(name, **changes):
    frame = GENERAL_SCORES.read("results/r/scores.parquet")
    GENERAL_SCORES.write(frame, name, made("trace", "results/r/index", **changes))


def test_a_table_of_another_configuration_among_those_of_one_job_is_found(run):
    scored("results/r/second.parquet", parameters={"alphas": [0.2]})
    assert "another configuration" in problems()["results/r/left.parquet"].what


def test_tables_of_one_kind_are_of_jobs_of_their_own(run):
    """As the windows of each pair of a census, cut from the same texts."""
    scored("results/r/roosevelt.parquet", parameters={"pair": "roosevelt"})
    scored("results/r/taft.parquet", parameters={"pair": "taft"})
    (run / "results/r/left.parquet").unlink()
    assert not problems()


def test_an_input_outside_the_working_directory_is_named_without_its_place(run, tmp_path_factory):
    outside = tmp_path_factory.mktemp("secret") / "texts.jsonl"
    outside.write_text("{}")
    frame = pd.DataFrame({"item_id": ["a"], "reason": ["short"], "detail": [None]})
    LEFT_OUT.write(frame, "results/r/second.parquet", made("documents", outside))
    assert b"secret" not in (run / "results/r/second.parquet").read_bytes()
    assert [name.split(":")[-1] for name in audit("results").unchecked] == ["texts.jsonl"]


def test_a_parquet_file_of_others_is_found(run):
    pq.write_table(pa.table({"a": [1]}), run / "results/r/other.parquet")
    assert "no seal" in problems()["results/r/other.parquet"].what


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_folder_without_tables_is_a_mistake(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert main(["audit", name]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_same_table_is_sealed_to_the_same_bytes(run):
    path = run / "results/r/left.parquet"
    first = path.read_bytes()
    LEFT_OUT.write(LEFT_OUT.read(path), path, made("trace", "results/r/index"))
    assert path.read_bytes() == first
