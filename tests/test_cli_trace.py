"""`memfoil index build` and `memfoil trace`, from files to files; every mistake one line."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from memfoil import tables
from memfoil.cli import main

DOCUMENTS = [[1, 2, 3, 4, 5, 6, 7, 8], [9, 9, 9, 9, 9, 9], [1, 2, 3, 4, 9], []]
GENERATIONS = [[1, 2, 3, 4, 5, 9, 9, 9, 9], [], [9] * 20, [3, 3]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with tokens.parquet and generations.parquet, as anybody's pandas writes them."""
    monkeypatch.chdir(tmp_path)
    write("tokens.parquet", "document_id", "d", DOCUMENTS)
    write("generations.parquet", "generation_id", "g", GENERATIONS)
    return tmp_path


def write(path, name, letter, sequences, **columns):
    names = [f"{letter}{i}" for i in range(len(sequences))]
    pd.DataFrame({name: names, "token_ids": sequences, **columns}).to_parquet(path)


def build(*options):
    return main(["index", "build", "--tokens", "tokens.parquet", "--out", "idx", *options])


def trace(*options, generations="generations.parquet", index="idx", out="out.parquet"):
    return main(["trace", "--index", index, "--generations", generations, "--out", out, *options])


def refused(capsys):
    line = capsys.readouterr().err
    assert line.startswith("memfoil: ")
    assert line.count("\n") == 1
    return line


@pytest.mark.parametrize("shards", ["1", "3"])
def test_maximal_spans(folder, capsys, shards):
    assert build("--shards", shards) == 0
    assert capsys.readouterr().out == "idx: 19 tokens of 4 documents\n"
    assert trace("--spans", "maximal") == 0
    assert capsys.readouterr().out == "out.parquet: 4 generations traced\n"
    rows = pd.read_parquet("out.parquet")
    assert rows.columns.tolist() == ["generation_id", "start", "end", "count"]
    assert rows.to_numpy().tolist() == [
        ["g0", 0, 5, 1],
        ["g0", 5, 9, 3],
        *[["g2", i, i + 6, 1] for i in range(15)],
        ["g3", 0, 1, 2],
        ["g3", 1, 2, 2],
    ]


def test_selected_spans_with_their_documents(folder):
    assert build() == trace() == 0
    rows = tables.TRACES.read("out.parquet")
    assert rows[["generation_id", "start", "end", "count", "document_id"]].to_numpy().tolist() == [
        ["g0", 0, 5, 1, "d0"],
        ["g2", 0, 6, 1, "d1"],
    ]
    assert rows["document_start"].tolist() == [0, 0]
    assert [list(window) for window in rows["window"]] == [DOCUMENTS[0], DOCUMENTS[1]]


def test_a_trace_is_written_the_same_twice(folder):
    write("tokens.parquet", "document_id", "d", [[i % 50, 1, 2, 3, 4, i % 7] for i in range(90)])
    write("generations.parquet", "generation_id", "g", [[1, 2, 3, 4]])
    assert (
        build()
        == trace()
        == trace(out="again.parquet")
        == trace("--seed", "2", out="other.parquet")
        == 0
    )
    once, again, other = (
        pd.read_parquet(path) for path in ("out.parquet", "again.parquet", "other.parquet")
    )
    assert once.equals(again)
    assert (folder / "out.parquet").read_bytes() == (folder / "again.parquet").read_bytes()
    assert len(other) == len(once) == 10
    assert other.document_id.tolist() != once.document_id.tolist()


def test_optional_columns_are_taken(folder):
    build()
    columns = {"text": ["a", None], "prompt_id": ["p", "p"], "setting": ["prefix", "generic"]}
    write("generations.parquet", "generation_id", "g", [[1, 2, 3, 4], [5]], **columns)
    assert trace() == 0


def test_no_generations(folder):
    build()
    write("generations.parquet", "generation_id", "g", [])
    assert trace() == trace("--spans", "maximal") == 0
    assert pd.read_parquet("out.parquet").empty


def test_ids_of_four_bytes(folder):
    write("tokens.parquet", "document_id", "d", [[70_000, 5, 2**31 - 2], [70_000, 5]])
    write("generations.parquet", "generation_id", "g", [[70_000, 5, 6, 2**31 - 2]])
    assert build() == trace("--spans", "maximal") == 0
    found = pd.read_parquet("out.parquet")[["start", "end", "count"]].to_numpy().tolist()
    assert found == [[0, 2, 2], [3, 4, 1]]


def test_ids_the_index_cannot_hold_are_refused(folder, capsys):
    assert build("--vocab-size", "10") == 0
    write("generations.parquet", "generation_id", "g", [[1], [1, 10]])
    capsys.readouterr()
    assert trace() == 2
    assert "generation g1, token 1: id 10 is not of the index' vocabulary of 10" in refused(capsys)
    assert not (folder / "out.parquet").exists()


def test_ids_outside_the_vocabulary_given_are_refused(folder, capsys):
    assert build("--vocab-size", "9") == 2
    assert "document d1, token 0: id 9 is outside the vocabulary of 9" in refused(capsys)
    assert not (folder / "idx").exists()


def test_another_tokenizer_is_refused_by_name(folder, capsys):
    assert build("--tokenizer", "gpt2") == 0
    assert trace("--tokenizer", "gpt2") == 0
    assert trace() == 0
    capsys.readouterr()
    assert trace("--tokenizer", "llama") == 2
    line = refused(capsys)
    assert "idx: built with the tokenizer gpt2" in line
    assert "llama" in line


def test_a_shard_that_is_missing_is_named(folder, capsys):
    build("--shards", "3")
    (folder / "idx" / "table.1").unlink()
    capsys.readouterr()
    assert trace() == 2
    assert "idx/table.1: the file is missing" in refused(capsys)


def test_a_zeroed_array_is_never_an_index_of_nothing(folder, capsys):
    build("--shards", "2")
    path = folder / "idx" / "table.0"
    path.write_bytes(bytes(path.stat().st_size))
    capsys.readouterr()
    assert trace() == 2
    assert "idx/table.0" in refused(capsys)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"index": "nowhere"}, "nowhere: there is no such folder"),
        ({"generations": "nothing.parquet"}, "nothing.parquet: there is no such file"),
        ({"generations": "tokens.parquet"}, "tokens.parquet: unknown column document_id"),
        ({"index": "generations.parquet"}, "generations.parquet: cannot be read"),
    ],
)
def test_wrong_files_are_named(folder, capsys, arguments, message):
    build()
    capsys.readouterr()
    assert trace(**arguments) == 2
    assert message in refused(capsys)


@pytest.mark.parametrize(
    ("out", "options"),
    [
        ("generations.parquet", []),
        ("./generations.parquet", []),
        ("out.parquet", ["--page", "out.parquet"]),
        ("out.parquet", ["--page", "generations.parquet"]),
    ],
)
def test_no_file_that_is_read_or_written_is_written_over(folder, capsys, out, options):
    before = (folder / "generations.parquet").read_bytes()
    assert trace(*options, out=out) == 2
    assert "would be lost" in refused(capsys)
    assert (folder / "generations.parquet").read_bytes() == before
    assert not (folder / "out.parquet").exists()


@pytest.mark.parametrize("command", [build, trace])
def test_an_interrupted_command_says_so_and_leaves_nothing(folder, capsys, monkeypatch, command):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    build()
    capsys.readouterr()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    monkeypatch.setattr("memfoil.tables.schema.seal", interrupt)
    monkeypatch.setattr(sys.modules["memfoil.index.build"], "_synchronize", interrupt)
    assert command() == 130
    assert refused(capsys) == "memfoil: interrupted\n"
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"generation_id": ["a", "a"], "token_ids": [[1], [2]]}, "a occurs more than once"),
        ({"generation_id": ["a"], "token_ids": [None]}, "column token_ids, row 0: an empty value"),
        ({"generation_id": ["a"], "token_ids": ["1 2"]}, "column token_ids"),
        ({"generation_id": ["a"]}, "column token_ids is missing"),
        ({"generation_id": ["a"], "token_ids": [[1.5]]}, "column token_ids"),
        ({"generation_id": ["a"], "token_ids": [[2**40]]}, "column token_ids"),
        ({"generation_id": ["a"], "token_ids": [[-1]]}, "generation a, token 0: id -1"),
        ({"generation_id": ["a", "b"], "token_ids": [[2], [1, None]]}, "row 1: an empty value in"),
    ],
)
def test_wrong_generations_are_refused(folder, capsys, columns, message):
    build()
    pd.DataFrame(columns).to_parquet("generations.parquet")
    capsys.readouterr()
    assert trace() == 2
    assert message in refused(capsys)


def test_modes_and_pages_need_a_tokenizer(folder, capsys):
    build()
    capsys.readouterr()
    for options in (["--mode", "text"], ["--mode", "olmotrace"], ["--page", "page.html"]):
        assert trace(*options) == 2
        assert "tokenizer" in refused(capsys)


@pytest.mark.parametrize("size", ["0", "-5", "99999999999"])
def test_impossible_vocabularies_are_refused(folder, capsys, size):
    assert build("--vocab-size", size) == 2
    assert f"vocabulary of {size} ids" in refused(capsys)


def test_an_index_that_infini_gram_made(folder, capsys):
    """It has no memfoil.json, so the number of ids must be given."""
    build()
    (folder / "idx" / "memfoil.json").unlink()
    capsys.readouterr()
    assert trace() == 2
    assert "say how large the vocabulary is" in refused(capsys)
    assert trace("--vocab-size", "65535", "--spans", "maximal") == 0
    assert len(pd.read_parquet("out.parquet")) == 19


def test_no_shard_is_refused(folder, capsys):
    assert build("--shards", "0") == 2
    assert "--shards 0: an index has at least one shard" in refused(capsys)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer") / "story"
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        [STORY], trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet)
    )
    loaded = PreTrainedTokenizerFast(tokenizer_object=made)
    loaded.save_pretrained(folder)
    return folder, loaded


STORY = "It was a bright cold day in April. The clocks were <b>striking</b> thirteen & more! "


def test_from_text_to_a_page(folder, tokenizer, capsys):
    path, loaded = tokenizer
    story = loaded.encode(STORY * 2)
    write("tokens.parquet", "document_id", "<d>", [story])
    write("generations.parquet", "generation_id", "g", [story[5:30], loaded.encode("It was not")])
    assert build("--tokenizer", str(path)) == 0
    assert json.loads((folder / "idx" / "memfoil.json").read_text())["vocab_size"] == len(loaded)
    for mode in ("mixed", "text", "olmotrace"):
        assert trace("--tokenizer", str(path), "--mode", mode, "--page", f"{mode}.html") == 0
        page = (folder / f"{mode}.html").read_text()
        assert "&lt;b&gt;" in page
        assert "<b>striking" not in page
    capsys.readouterr()
    assert trace("--tokenizer", "another") == 2
    assert "another" in refused(capsys)


@pytest.mark.slow
def test_the_command_runs_as_a_program(folder):
    for arguments in (
        ["index", "build", "--tokens", "tokens.parquet", "--out", "idx"],
        ["trace", "--index", "idx", "--generations", "generations.parquet", "--out", "o.parquet"],
    ):
        code = "import sys; from memfoil.cli import main; sys.exit(main())"
        subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True)
    assert np.array_equal(pd.read_parquet("o.parquet")["occurrence"], [1, 1])
