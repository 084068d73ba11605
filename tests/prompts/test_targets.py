"""Target sequences: their published form, what is left out, and one line for every mistake."""

import json

import numpy as np
import pandas as pd
import pytest
from tiny_models import KNOWN, TEXT, UNKNOWN, byte_level, sentence_piece, tiny_llama

from memfoil.errors import InvalidConfiguration, InvalidTargets
from memfoil.prompts.frames import frame
from memfoil.prompts.targets import collect, half, read_list, target_ids
from memfoil.tables import LEFT_OUT, TARGETS, Provenance


@pytest.fixture(scope="module")
def plain():
    return frame(tiny_llama(byte_level()), "plain")


@pytest.fixture
def listed(tmp_path):
    def write(entries, name="list.json"):
        path = tmp_path / name
        path.write_text(entries if isinstance(entries, str) else json.dumps(entries))
        return str(path)

    return write


def test_the_published_form_is_a_json_list_of_strings_taken_as_they_are(listed):
    entries = [" starts with a space", "holds\n\nline breaks", "and “quotes”"]
    assert read_list(listed(entries)) == entries


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[not json", "not a JSON list of strings"),
        ('{"a": "b"}', "a JSON list with at least one string"),
        ("[]", "a JSON list with at least one string"),
        ('["fine", 3]', "entry 2 is 3"),
        ('["fine", "  "]', 'entry 2 is "  "'),
        ('["fine", ["nested"]]', "entry 2 is"),
    ],
)
def test_other_forms_are_refused_with_their_place(listed, content, message):
    with pytest.raises(InvalidTargets, match=message):
        read_list(listed(content))


def test_a_missing_list_and_one_that_is_not_utf8_are_refused(tmp_path):
    with pytest.raises(InvalidTargets, match=r"absent\.json: not a JSON list"):
        read_list(tmp_path / "absent.json")
    (tmp_path / "latin.json").write_bytes('["caf\xe9"]'.encode("latin-1"))
    with pytest.raises(InvalidTargets, match=r"latin\.json: not a JSON list"):
        read_list(tmp_path / "latin.json")


def test_a_target_of_one_token_and_one_that_does_not_survive_are_named():
    sentencepiece = frame(tiny_llama(sentence_piece()), "plain")
    with pytest.raises(InvalidTargets, match=r"quote 7: 'the': target of one token"):
        target_ids(frame(tiny_llama(byte_level()), "plain"), "the", "quote 7")
    with pytest.raises(InvalidTargets, match="quote 8: 'the ☃ melts': target does not survive"):
        target_ids(sentencepiece, "the ☃ melts", "quote 8")
    assert sentencepiece.core.decode(list(target_ids(sentencepiece, KNOWN, "q"))) == KNOWN


def test_unusable_targets_are_left_out_with_their_reason_and_the_rest_goes_on(plain, listed):
    path = listed([KNOWN, "the", KNOWN, UNKNOWN])
    sets = [{"name": "quotes", "role": "candidate", "file": path}]
    targets, left_out = collect(sets, plain, seed=1)
    assert targets["sequence_id"].tolist() == ["quotes:1", "quotes:4"]
    assert targets["text"].tolist() == [KNOWN, UNKNOWN]
    assert dict(zip(left_out["item_id"], left_out["reason"], strict=True)) == {
        "quotes:2": "target of one token",
        "quotes:3": "the same as an earlier target of its set",
    }


def test_a_set_without_a_usable_target_is_refused(plain, listed):
    sets = [{"name": "quotes", "role": "candidate", "file": listed(["the", "a"])}]
    with pytest.raises(InvalidTargets, match=r"target set quotes: no usable target.*'the'"):
        collect(sets, plain, seed=1)


def test_targets_fit_their_tables(plain, listed, tmp_path):
    sets = [{"name": "quotes", "role": "candidate", "file": listed([*TEXT, "a"]), "halves": True}]
    targets, left_out = collect(sets, plain, seed=1)
    TARGETS.write(targets, tmp_path / "targets.parquet", Provenance("test"))
    LEFT_OUT.write(left_out, tmp_path / "left_out.parquet", Provenance("test"))
    again = TARGETS.read(tmp_path / "targets.parquet")
    assert [tuple(ids) for ids in again["token_ids"]] == targets["token_ids"].tolist()


def test_halves_are_half_as_long_and_cover_beginning_middle_and_end():
    ids = tuple(range(9))
    assert half(ids, "first half") == (0, 1, 2, 3)
    assert half(ids, "middle half") == (2, 3, 4, 5)
    assert half(ids, "last half") == (5, 6, 7, 8)


def test_halves_know_their_whole_and_form_sets_of_their_own(plain, listed):
    sets = [{"name": "quotes", "role": "control", "file": listed([KNOWN]), "halves": True}]
    targets, _ = collect(sets, plain, seed=1)
    assert targets["part"].tolist() == ["whole", "first half", "middle half", "last half"]
    assert targets["whole_id"].tolist()[1:] == ["quotes:1"] * 3
    assert targets["pool"].tolist()[1] == "quotes, first half"
    assert set(targets["role"]) == {"control"}
    whole = targets["token_ids"][0]
    for ids in targets["token_ids"][1:]:
        assert len(ids) == len(whole) // 2
        assert any(whole[i : i + len(ids)] == ids for i in range(len(whole)))


def test_paraphrases_carry_their_originals(plain, listed):
    original = listed([KNOWN, UNKNOWN], "original.json")
    changed = listed([KNOWN.replace("mercy", "pity"), UNKNOWN.upper()], "changed.json")
    sets = [
        {"name": "quotes", "role": "candidate", "file": original},
        {"name": "changed", "role": "control", "file": changed, "paraphrases_of": "quotes"},
    ]
    targets, _ = collect(sets, plain, seed=1)
    assert targets["original"].tolist()[2:] == [KNOWN, UNKNOWN]
    with pytest.raises(InvalidTargets, match="1 paraphrases of the 2 sequences"):
        collect([sets[0], sets[1] | {"file": listed(["x y z"], "short.json")}], plain, seed=1)
    with pytest.raises(InvalidConfiguration, match="paraphrases_of nothing is no set"):
        collect([sets[0], sets[1] | {"paraphrases_of": "nothing"}], plain, seed=1)


def test_random_sequences_survive_and_more_of_them_keep_the_earlier_ones(plain):
    sets = [{"name": "random", "role": "control", "random": 6, "tokens": [5, 15]}]
    targets, left_out = collect(sets, plain, seed=1)
    assert left_out.empty
    assert targets["token_ids"].map(len).between(5, 15).all()
    assert len(set(targets["token_ids"].map(len))) > 1
    for text, ids in zip(targets["text"], targets["token_ids"], strict=True):
        assert target_ids(plain, text, "again") == ids
    more, _ = collect([sets[0] | {"random": 9}], plain, seed=1)
    pd.testing.assert_frame_equal(more.head(6), targets)
    other, _ = collect(sets, plain, seed=2)
    assert other["text"].tolist() != targets["text"].tolist()


def pools(plain) -> tuple[pd.DataFrame, pd.DataFrame]:
    ids = [np.array(ids[1:], dtype=np.int32) for ids in plain.read(TEXT)]
    names = ["a", "b", "c", "d"]
    sequences = pd.DataFrame(
        {"sequence_id": names, "pool": ["in", "in", "in", "out"], "token_ids": ids}
    )
    return sequences, pd.DataFrame({"passage_id": names, "repetitions": [64, 64, 1, 0]})


def test_pools_give_the_beginnings_of_their_sequences(plain):
    sequences, splits = pools(plain)
    each = {"name": "planted", "role": "candidate", "pool": "in", "tokens": 6, "repetitions": 64}
    targets, left_out = collect([each], plain, sequences=sequences, splits=splits, seed=1)
    assert set(targets["sequence_id"]) | set(left_out["item_id"]) == {"a", "b"}
    for text, name in zip(targets["text"], targets["sequence_id"], strict=True):
        assert TEXT["abcd".index(name)].startswith(text)
    limited = each | {"sequences": 1}
    first, _ = collect([limited], plain, sequences=sequences, splits=splits, seed=1)
    pd.testing.assert_frame_equal(first, targets.head(1))
    with pytest.raises(InvalidConfiguration, match="elsewhere is not drawn; there are in, out"):
        collect([each | {"pool": "elsewhere"}], plain, sequences=sequences, seed=1)
    with pytest.raises(InvalidConfiguration, match="known only with a testbed"):
        collect([each], plain, sequences=sequences, seed=1)
