"""Damage must be an error, never an answer. Paths here avoid the words infini-gram splits by."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfoil.errors import InvalidIndex
from memfoil.index import build, open_index, verify
from memfoil.index.checks import check_completely
from memfoil.index.files import map_shard

VOCAB_SIZE = 500
DOCUMENTS = np.random.default_rng(0).integers(0, VOCAB_SIZE, (40, 20)).tolist()


@pytest.fixture(scope="session")
def sound(tmp_path_factory, corpus):
    """A sound index of 840 tokens in two shards."""
    folder = tmp_path_factory.mktemp("sound") / "index"
    build(corpus(DOCUMENTS), folder, vocab_size=VOCAB_SIZE, shards=2)
    return folder


@pytest.fixture(scope="session")
def large(tmp_path_factory, corpus):
    """A sound index of 40,400 tokens."""
    folder = tmp_path_factory.mktemp("large") / "index"
    documents = np.random.default_rng(1).integers(0, VOCAB_SIZE, (400, 100)).tolist()
    build(corpus(documents), folder, vocab_size=VOCAB_SIZE)
    return folder


@pytest.fixture(params=["with manifest", "as infini-gram"])
def index(request, sound, tmp_path_factory):
    """A copy to damage, with the manifest or without."""
    folder = tmp_path_factory.mktemp("copy") / "index"
    shutil.copytree(sound, folder)
    if request.param == "as infini-gram":
        (folder / "memfoil.json").unlink()
    return folder


def test_what_is_sound_is_opened_and_verified(index):
    assert open_index(index, vocab_size=VOCAB_SIZE).n_documents == 40
    verify(index, vocab_size=VOCAB_SIZE)


@pytest.mark.parametrize("name", ["tokenized", "table", "offset", "metaoff"])
@pytest.mark.parametrize("left", [0.0, 0.5, 0.999])
def test_a_file_cut_short_is_refused(index, name, left):
    path = index / f"{name}.1"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * left)])
    with pytest.raises(InvalidIndex, match=rf"(table|offset|metaoff|{name})\.1"):
        open_index(index, vocab_size=VOCAB_SIZE)


@pytest.mark.parametrize("name", ["tokenized", "table", "offset"])
@pytest.mark.parametrize("shard", [0, 1])
def test_a_file_of_zeros_is_refused(index, name, shard):
    path = index / f"{name}.{shard}"
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(InvalidIndex, match="build the index again"):
        open_index(index, vocab_size=VOCAB_SIZE)


@pytest.mark.parametrize("name", ["tokenized", "table", "offset", "metadata", "metaoff"])
@pytest.mark.parametrize("shard", [0, 1])
def test_a_missing_file_is_refused(index, name, shard):
    (index / f"{name}.{shard}").unlink()
    with pytest.raises(InvalidIndex, match=rf"{name}\.{shard}: the file is missing"):
        open_index(index, vocab_size=VOCAB_SIZE)


@pytest.mark.parametrize("shard", [0, 1])
def test_a_missing_shard_is_refused_where_the_manifest_knows_of_it(sound, tmp_path, shard):
    shutil.copytree(sound, tmp_path / "index")
    for path in (tmp_path / "index").glob(f"*.{shard}"):
        path.unlink()
    with pytest.raises(InvalidIndex, match=rf"\.{shard}: the file is missing"):
        open_index(tmp_path / "index")


def test_the_files_of_two_builds_are_refused(index, tmp_path, corpus):
    build(corpus(DOCUMENTS[::-1]), tmp_path / "other", vocab_size=VOCAB_SIZE, shards=2)
    shutil.copy(tmp_path / "other" / "table.0", index / "table.0")
    with pytest.raises(InvalidIndex, match=r"table\.0: rank \d+: not the suffix array"):
        open_index(index, vocab_size=VOCAB_SIZE)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_changed_byte_is_found_by_verify_in_any_file(sound, tmp_path_factory, data):
    names = sorted(path.name for path in sound.iterdir() if path.name != "memfoil.json")
    name = data.draw(st.sampled_from(names))
    content = bytearray((sound / name).read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= 1 << data.draw(st.integers(0, 7))
    folder = tmp_path_factory.mktemp("flipped") / "index"
    shutil.copytree(sound, folder)
    (folder / name).write_bytes(content)
    with pytest.raises(InvalidIndex, match=name):
        verify(folder)
    shutil.rmtree(folder)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_changed_pointer_of_a_small_shard_is_found_when_it_is_opened(
    sound, tmp_path_factory, data
):
    content = bytearray((sound / "table.1").read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] = data.draw(st.integers(0, 255).filter(lambda byte: byte != content[at]))
    folder = tmp_path_factory.mktemp("pointer") / "index"
    shutil.copytree(sound, folder)
    (folder / "table.1").write_bytes(content)
    with pytest.raises(InvalidIndex, match=r"table\.1: rank"):
        open_index(folder)
    shutil.rmtree(folder)


@given(st.integers(0, 1021))
@settings(max_examples=40, deadline=None)
def test_zeros_in_three_thousandths_of_a_large_one_are_found_when_it_is_opened(
    large, tmp_path_factory, part
):
    content = bytearray((large / "table.0").read_bytes())
    n = len(content) // 1024
    content[part * n : (part + 3) * n] = bytes(3 * n)
    folder = tmp_path_factory.mktemp("zeros") / "index"
    shutil.copytree(large, folder)
    (folder / "table.0").write_bytes(content)
    with pytest.raises(InvalidIndex, match=r"table\.0: rank"):
        open_index(folder)
    shutil.rmtree(folder)


def test_two_exchanged_pointers_of_a_large_one_are_found_by_the_order_alone(
    large, tmp_path_factory
):
    folder = tmp_path_factory.mktemp("exchanged") / "index"
    shutil.copytree(large, folder)
    (folder / "memfoil.json").unlink()
    verify(folder, vocab_size=VOCAB_SIZE)
    content = np.fromfile(folder / "table.0", np.uint8).reshape(-1, 3)
    content[[20_000, 20_001]] = content[[20_001, 20_000]]
    content.tofile(folder / "table.0")
    with pytest.raises(InvalidIndex, match="rank 20000: not the suffix array"):
        verify(folder, vocab_size=VOCAB_SIZE)


def test_a_suffix_array_in_order_of_value_is_not_one_in_order_of_bytes(tmp_path, corpus):
    build(corpus([[1, 256]]), tmp_path / "index", vocab_size=300)
    (tmp_path / "index" / "memfoil.json").unlink()
    (tmp_path / "index" / "table.0").write_bytes(bytes([2, 4, 0]))
    for check in (open_index, verify):
        with pytest.raises(InvalidIndex, match="rank 0: not the suffix array"):
            check(tmp_path / "index", vocab_size=300)


def test_an_infini_gram_folder_needs_its_vocabulary(index):
    if (index / "memfoil.json").exists():
        with pytest.raises(InvalidIndex, match="built for a vocabulary of 500 ids, not 501"):
            open_index(index, vocab_size=501)
    else:
        with pytest.raises(InvalidIndex, match="say how large the vocabulary is"):
            open_index(index)
        with pytest.raises(InvalidIndex, match="outside the vocabulary of 499"):
            verify(index, vocab_size=499)
        with pytest.raises(InvalidIndex, match="another vocabulary size"):
            open_index(index, vocab_size=70_000)


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"vocab_size": 5}', '{"format": "infini-gram 4"}', "\xff", "[" * 99_999],
)
def test_a_damaged_manifest_is_refused(sound, tmp_path, content):
    shutil.copytree(sound, tmp_path / "index")
    (tmp_path / "index" / "memfoil.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(InvalidIndex, match=r"memfoil\.json: not what memfoil writes"):
        open_index(tmp_path / "index")


def test_an_index_of_another_format_is_refused(sound, tmp_path):
    shutil.copytree(sound, tmp_path / "index")
    path = tmp_path / "index" / "memfoil.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": "infini-gram 5"}))
    with pytest.raises(InvalidIndex, match="format 'infini-gram 5' is not"):
        open_index(tmp_path / "index")


@pytest.mark.parametrize("make", [True, False])
def test_a_folder_without_an_index_is_refused(tmp_path, make):
    if make:
        (tmp_path / "index").mkdir()
    with pytest.raises(InvalidIndex, match="holds no index" if make else "no such folder"):
        open_index(tmp_path / "index", vocab_size=10)


def test_a_repetitive_text_is_checked_in_reasonable_time(indexed):
    with indexed([[1] * 200_000], vocab_size=3) as index:
        assert index.count([1] * 199_999) == 2


@pytest.mark.parametrize(("patience", "compared"), [(0, 1), (0, 2), (1, 3), (64, 256)])
def test_every_wrong_order_of_a_small_array_is_found(
    tmp_path, corpus, monkeypatch, patience, compared
):
    """Swapped, doubled, shuffled and shifted pointers of texts that repeat themselves."""
    monkeypatch.setattr("memfoil.index.checks.PATIENCE", patience)
    monkeypatch.setattr("memfoil.index.checks.COMPARED", compared)
    rng = np.random.default_rng(compared)
    for number in range(6):
        unit = rng.integers(0, 2, number % 3 + 1)
        documents = [np.tile(unit, times).tolist() for times in rng.integers(1, 8, 4)]
        folder = tmp_path / str(number)
        build(corpus(documents), folder, vocab_size=10)
        n = (folder / "tokenized.0").stat().st_size // 2
        right = np.fromfile(folder / "table.0", np.uint8).reshape(n, -1)
        for kind in range(60):
            wrong, (i, j) = right.copy(), rng.integers(0, n, 2)
            if kind % 4 == 0:
                wrong[[i, j]] = wrong[[j, i]]
            elif kind % 4 == 1:
                wrong[i] = wrong[j]
            elif kind % 4 == 2:
                wrong = wrong[rng.permutation(n)]
            else:
                wrong[i, 0] ^= 2 * rng.integers(1, 4)
            wrong.tofile(folder / "table.0")
            shard = map_shard(folder, 0, np.dtype("<u2"))
            if np.array_equal(wrong, right):
                check_completely(shard, 10, threads=2)
            else:
                with pytest.raises(InvalidIndex, match=r"table\.0"):
                    check_completely(shard, 10, threads=2)


@pytest.mark.parametrize("key", ["vocab_size", "shards"])
@pytest.mark.parametrize("value", [0, -1, "many", None, 1.0])
def test_a_manifest_with_another_kind_of_number_is_refused(sound, tmp_path, key, value):
    shutil.copytree(sound, tmp_path / "index")
    path = tmp_path / "index" / "memfoil.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(InvalidIndex, match=r"memfoil\.json: not what memfoil writes"):
        open_index(tmp_path / "index")


def test_a_name_that_is_no_text_is_refused(index):
    path = index / "metadata.0"
    path.write_bytes(b"\xff" * path.stat().st_size)
    with pytest.raises(InvalidIndex, match=r"metadata\.0: the line of document 0 is damaged"):
        open_index(index, vocab_size=VOCAB_SIZE).shards[0].document_id(0)
