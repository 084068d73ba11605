"""What a build writes, what it refuses, and what is left when it does not end well."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memfoil.errors import InvalidIndex, MemfoilError
from memfoil.index import build, open_index, verify
from memfoil.index.files import pointer_width

FILES = ("tokenized", "offset", "table", "metadata", "metaoff", "unigram")


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(("vocab_size", "width"), [(65_535, 2), (65_536, 4)])
def test_the_files_are_as_infini_gram_describes_them(tmp_path, corpus, vocab_size, width):
    documents = [[256, 1], [], [1]]
    build(corpus(documents), tmp_path / "index", vocab_size=vocab_size, tokenizer="abc")
    separator = b"\xff" * width

    def content(name):
        return (tmp_path / "index" / f"{name}.0").read_bytes()

    ids = [number.to_bytes(width, "little") for number in (256, 1, 1)]
    assert content("tokenized") == b"".join(
        [separator, ids[0], ids[1], separator, separator, ids[2]]
    )
    offsets = np.frombuffer(content("offset"), "<u8")
    assert offsets.tolist() == [0, 3 * width, 4 * width]
    # By bytes, 256 (00 01 ...) comes before 1 (01 00 ...); a suffix before what continues it.
    assert [byte // width for byte in content("table")] == [1, 5, 2, 0, 4, 3]
    lines = content("metadata").decode().splitlines()
    assert [json.loads(line)["document_id"] for line in lines] == ["doc 0", "doc 1", "doc 2"]
    starts = np.frombuffer(content("metaoff"), "<u8")
    assert [content("metadata")[start : start + 1] for start in starts] == [b"{"] * 3
    largest = (1 << 8 * width) - 1
    assert content("unigram").decode() == f"1 2\n256 1\n{largest} 3\n"
    index = open_index(tmp_path / "index")
    assert (index.tokenizer, index.vocab_size) == ("abc", vocab_size)
    verify(tmp_path / "index")


def test_pointers_are_as_wide_as_the_largest_needs():
    assert [pointer_width(n) for n in (2, 256, 258, 1 << 16, (1 << 16) + 2, 1 << 24)] == [
        1, 1, 2, 2, 3, 3,
    ]  # fmt: skip


@pytest.mark.parametrize("tokens", [126, 127, 128, 32_766, 32_767, 32_768])
def test_sizes_around_a_wider_pointer_can_be_searched(tmp_path, corpus, tokens):
    rng = np.random.default_rng(tokens)
    document = rng.integers(0, 300, tokens).tolist()
    build(corpus([document]), tmp_path / "index", vocab_size=300)
    index = open_index(tmp_path / "index")
    assert index.longest_matches([document])[0].tolist() == list(range(tokens, 0, -1))


@pytest.mark.parametrize("shards", [1, 2, 3, 5, 100])
def test_every_document_is_in_one_shard_and_no_shard_is_empty(tmp_path, corpus, shards):
    documents = [[1] * 50, [], [2], [3] * 9, []]
    build(corpus(documents), tmp_path / "index", vocab_size=10, shards=shards)
    index = open_index(tmp_path / "index")
    assert index.n_documents == 5
    assert 1 <= len(index.shards) <= shards
    assert [index.document(index.place(f"doc {i}")).tolist() for i in range(5)] == documents


def test_the_same_corpus_gives_the_same_bytes(tmp_path, corpus):
    documents = np.random.default_rng(0).integers(0, 50, (20, 30)).tolist()
    for name in ("one", "two"):
        build(corpus(documents), tmp_path / name, vocab_size=50, shards=2)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


@pytest.mark.parametrize("bad", [-1, 10, 65_535, 2**31])
def test_an_id_outside_the_vocabulary_is_named(tmp_path, corpus, bad):
    with pytest.raises(InvalidIndex, match=rf"document doc 1, token 2: id {bad} is outside"):
        build(corpus([[1], [2, 3, bad], [bad]]), tmp_path / "index", vocab_size=10)
    assert left_in(tmp_path) == []


def test_an_id_of_the_first_token_of_a_document_after_empty_ones_is_named(tmp_path, corpus):
    with pytest.raises(InvalidIndex, match="document doc 2, token 0: id 10"):
        build(corpus([[], [], [10]]), tmp_path / "index", vocab_size=10)


def test_a_corpus_without_documents_and_one_that_names_a_document_twice_are_refused(
    tmp_path, corpus
):
    with pytest.raises(InvalidIndex, match="without documents"):
        build(corpus([]), tmp_path / "index", vocab_size=10)
    twice = corpus([[1], [2]]).assign(document_id="same")
    with pytest.raises(InvalidIndex, match="document same occurs more than once"):
        build(twice, tmp_path / "index", vocab_size=10)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("vocab_size", [0, -5, 2**32])
def test_a_vocabulary_that_fits_no_id_width_is_refused(tmp_path, corpus, vocab_size):
    with pytest.raises(InvalidIndex, match="vocabulary of"):
        build(corpus([[]]), tmp_path / "index", vocab_size=vocab_size)


@pytest.mark.parametrize("place", ["stable/index", "index/my_tokenized_text", "notable"])
def test_a_path_that_crashes_infini_gram_is_refused(tmp_path_factory, corpus, place):
    folder = tmp_path_factory.mktemp("unsafe") / place
    with pytest.raises(InvalidIndex, match=r"the resolved path holds the word '(tab|tok)"):
        build(corpus([[1]]), folder, vocab_size=10)
    assert not folder.exists()
    folder.mkdir(parents=True)
    with pytest.raises(InvalidIndex, match="the resolved path holds the word"):
        open_index(folder, vocab_size=10)


def test_a_link_does_not_hide_an_unsafe_path(tmp_path, corpus):
    (tmp_path / "stable").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "stable")
    with pytest.raises(InvalidIndex, match="the resolved path holds"):
        build(corpus([[1]]), tmp_path / "link" / "index", vocab_size=10)


def test_an_index_is_replaced_but_nothing_else_is(tmp_path, corpus):
    folder = tmp_path / "index"
    folder.mkdir()
    build(corpus([[1, 2]]), folder, vocab_size=10, shards=1)
    build(corpus([[3], [4]]), folder, vocab_size=10, shards=2)
    assert open_index(folder).count([1]) == 0
    assert left_in(tmp_path) == ["index"]
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    with pytest.raises(InvalidIndex, match="exists and is not an index"):
        build(corpus([[1]]), tmp_path / "thesis", vocab_size=10)
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"


KILLED = """
import os, signal, sys
import pandas as pd
from memfoil.index import build as module
import memfoil.index.build
build = sys.modules["memfoil.index.build"]
setattr(build, sys.argv[2], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
corpus = pd.DataFrame({"document_id": ["a"], "token_ids": [[1, 2, 3]]})
build.build(corpus, sys.argv[1], vocab_size=10)
"""


@pytest.mark.parametrize("moment", ["suffix_array", "_synchronize"])
@pytest.mark.slow
def test_a_killed_build_leaves_no_index_and_the_next_one_cleans_up(tmp_path, corpus, moment):
    folder = tmp_path / "index"
    command = [sys.executable, "-c", KILLED, str(folder), moment]
    assert subprocess.run(command, check=False).returncode == -9
    (left,) = left_in(tmp_path)
    assert left.startswith(".index.")
    with pytest.raises(InvalidIndex, match="no such folder"):
        open_index(folder)
    build(corpus([[1, 2, 3]]), folder, vocab_size=10)
    assert left_in(tmp_path) == ["index"]


AT_ONCE = """
import sys
import pandas as pd
from memfoil.index.build import build
ids = [[int(sys.argv[2]), 2, 3]] * 200
for _ in range(6):
    build(pd.DataFrame({"document_id": map(str, range(200)), "token_ids": ids}), sys.argv[1],
          vocab_size=10)
"""


@pytest.mark.slow
def test_two_builds_at_once_leave_one_whole_index(tmp_path):
    folder = tmp_path / "index"
    commands = [[sys.executable, "-c", AT_ONCE, str(folder), str(id_)] for id_ in (5, 6)]
    builds = [subprocess.Popen(each, stderr=subprocess.PIPE, text=True) for each in commands]
    for each in builds:
        said = each.communicate()[1]
        assert not each.returncode or "cannot be written" in said
    assert left_in(tmp_path) == ["index"]
    verify(folder)
    index = open_index(folder)
    assert {index.count([5]), index.count([6])} == {0, 200}


def test_more_shards_than_tokens(tmp_path, corpus):
    build(corpus([[1, 2], [3]]), tmp_path / "index", vocab_size=10, shards=10**12)
    assert open_index(tmp_path / "index").manifest.shards == 2


@pytest.mark.parametrize("name", ["..", "file", "file/index"])
def test_where_no_folder_can_be_is_refused(tmp_path, monkeypatch, corpus, name):
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    Path("file").write_text("mine")
    with pytest.raises(MemfoilError):
        build(corpus([[1]]), name, vocab_size=10)
    assert Path("file").read_text() == "mine"
    assert left_in(tmp_path / "in") == ["file"]


@pytest.mark.parametrize("limit", [10, 1000, 30_000, 80_000])
def test_a_full_disk_leaves_the_former_index_as_it_was(tmp_path, corpus, limit):
    folder = tmp_path / "index"
    build(corpus([[1, 2, 3]]), folder, vocab_size=10)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        with pytest.raises(InvalidIndex, match=r"cannot be written: .*nothing was left behind"):
            build(corpus([[4, 5] * 20_000]), folder, vocab_size=10)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert left_in(tmp_path) == ["index"]
    verify(folder)
    assert open_index(folder).count([1, 2, 3]) == 1
