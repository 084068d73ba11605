"""Controls planted in a training text at known distances, and a person's last word on them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfoil.decontaminate import (
    read_reviews,
    review_sheet,
    training_index,
    verdicts,
    write_review_sheet,
)
from memfoil.errors import InvalidConfiguration, InvalidIndex, InvalidTable
from memfoil.index import build, open_index
from memfoil.tables import CONTAMINATION, Provenance

RNG = np.random.default_rng(7)
DOCUMENTS = [RNG.integers(0, 900, 200).tolist() for _ in range(5)] + [[950, 951, 952, 953] * 40]
FRESH = RNG.integers(900, 950, 40).tolist()

EXACT = DOCUMENTS[1][30:70]
NEAR = [*DOCUMENTS[2][:10], 999, *DOCUMENTS[2][10:20], *DOCUMENTS[2][21:40]]
QUOTING = [*FRESH[:20], *DOCUMENTS[3][100:112], *FRESH[20:28]]
STARTING = [*FRESH[:10], *DOCUMENTS[4][:10], *FRESH[10:30]]
FREQUENT = [950, 951, 952, 953] * 6 + FRESH[:16]
WINDOWS = {
    "exact": EXACT,
    "near": NEAR,
    "quoting": QUOTING,
    "starting": STARTING,
    "fresh": FRESH,
    "frequent": FREQUENT,
}


def decode(ids):
    return " ".join(map(str, ids))


@pytest.fixture(scope="module")
def sequences():
    names = [*WINDOWS, "candidate"]
    windows = [*WINDOWS.values(), EXACT]
    return pd.DataFrame(
        {
            "sequence_id": names,
            "role": ["control"] * len(WINDOWS) + ["candidate"],
            "token_ids": [np.array(window, np.int32) for window in windows],
            "text": [decode(window) for window in windows],
        }
    )


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    corpus = pd.DataFrame(
        {"document_id": [f"d{i}" for i in range(len(DOCUMENTS))], "token_ids": DOCUMENTS}
    )
    folder = tmp_path_factory.mktemp("decontaminate") / "index"
    build(corpus, folder, vocab_size=1000, shards=2)
    return open_index(folder)


SETTINGS = {"max_distance": 2, "ngram_tokens": 8, "max_piece_count": 30, "decode": decode}


@pytest.fixture(scope="module")
def contamination(sequences, index):
    return verdicts(sequences, index, **SETTINGS)


def row(frame, name):
    return frame.set_index("sequence_id").loc[name]


def test_each_control_gets_its_verdict_and_candidates_none(contamination):
    found = contamination.set_index("sequence_id")["verdict"].to_dict()
    none = dict.fromkeys(["quoting", "starting", "fresh", "frequent"], "none found")
    assert found == {"exact": "exact", "near": "near"} | none
    members = contamination.loc[contamination["member"], "sequence_id"]
    assert members.tolist() == ["exact", "near"]


def test_the_evidence_names_document_position_distance_and_both_texts(contamination):
    exact, near = row(contamination, "exact"), row(contamination, "near")
    assert (exact["document_id"], exact["start_token"], exact["distance"]) == ("d1", 30, 0)
    assert exact["control_text"] == exact["training_text"] == decode(EXACT)
    assert (near["document_id"], near["start_token"], near["distance"]) == ("d2", 0, 2)
    assert near["training_text"] == decode(DOCUMENTS[2][:40])


def test_what_shares_an_ngram_only_shows_the_surroundings_of_the_longest(contamination):
    quoting, starting = row(contamination, "quoting"), row(contamination, "starting")
    assert (quoting["document_id"], quoting["start_token"]) == ("d3", 80)
    assert quoting["training_text"] == decode(DOCUMENTS[3][80:120])
    assert (starting["document_id"], starting["start_token"]) == ("d4", 0)
    assert pd.isna(quoting["distance"])
    fresh = row(contamination, "fresh")
    assert fresh[["document_id", "start_token", "training_text", "distance"]].isna().all()


def test_the_share_of_ngrams_is_a_count_of_ngrams(contamination):
    for name, window in WINDOWS.items():
        ngrams = [window[i : i + 8] for i in range(len(window) - 7)]
        present = [
            any(d[i : i + 8] == ngram for d in DOCUMENTS for i in range(len(d))) for ngram in ngrams
        ]
        assert row(contamination, name)["ngram_share"] == pytest.approx(np.mean(present))


def test_a_search_that_skipped_something_says_so(contamination, sequences, index):
    assert row(contamination, "frequent")["skipped_pieces"] == 1
    assert contamination["skipped_pieces"].sum() == 1
    everything = verdicts(sequences, index, **SETTINGS | {"max_piece_count": 1000})
    assert everything["skipped_pieces"].sum() == 0


def test_the_table_can_be_written_read_and_listed(contamination, tmp_path):
    CONTAMINATION.write(contamination, tmp_path / "c.parquet", Provenance("decontaminate"))
    again = CONTAMINATION.read(tmp_path / "c.parquet")
    assert again["member"].tolist() == contamination["member"].tolist()
    pd.testing.assert_frame_equal(
        review_sheet(again, near_misses=9),
        review_sheet(contamination, near_misses=9),
        check_dtype=False,
    )


def test_no_control_and_no_finding_give_tables_too(sequences, index):
    none = verdicts(sequences[sequences["role"] == "candidate"], index, **SETTINGS)
    assert len(none) == 0
    CONTAMINATION.validate(pa.Table.from_pandas(none, preserve_index=False), "none")
    assert len(review_sheet(none, near_misses=3)) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ngram_tokens": 41}, "ngram_tokens: needs windows of at least 41 tokens; sequence exact"),
        ({"max_distance": 40}, "max_distance: needs windows of at least 41 tokens; sequence exact"),
    ],
)
def test_windows_too_short_for_the_configuration_are_refused(sequences, index, change, message):
    with pytest.raises(InvalidConfiguration, match=message):
        verdicts(sequences, index, **SETTINGS | change)


def test_the_sheet_lists_findings_first_then_the_nearest_misses(contamination):
    assert review_sheet(contamination, near_misses=0)["sequence_id"].tolist() == ["exact", "near"]
    one = review_sheet(contamination, near_misses=1)["sequence_id"].tolist()
    assert one == ["exact", "near", "frequent"]
    every = review_sheet(contamination, near_misses=100)["sequence_id"].tolist()
    assert every == ["exact", "near", "frequent", "quoting", "starting"]


def filled(sheet, answers):
    sheet = sheet.astype({"review": object, "reviewer": object, "note": object})
    sheet = sheet.set_index("sequence_id")
    for name, review in answers.items():
        sheet.loc[name, ["review", "reviewer", "note"]] = [review, "A. Reader", "seen, both\ntexts"]
    return sheet.reset_index()


def test_a_person_overrules_and_both_verdicts_are_kept(contamination, sequences, index, tmp_path):
    path = tmp_path / "review.csv"
    answers = {"near": "non-member", "quoting": "member", "exact": "member"}
    write_review_sheet(filled(review_sheet(contamination, near_misses=5), answers), path)
    reviews = read_reviews(path, set(WINDOWS))
    assert sorted(reviews["sequence_id"]) == sorted(answers)

    judged = verdicts(sequences, index, **SETTINGS, reviews=reviews)
    assert judged["sequence_id"].tolist() == list(WINDOWS)
    assert judged.loc[judged["member"], "sequence_id"].tolist() == ["exact", "quoting"]
    near = row(judged, "near")
    assert (near["verdict"], near["review"], near["member"]) == ("near", "non-member", False)
    assert (near["reviewer"], near["note"]) == ("A. Reader", "seen, both\ntexts")
    assert row(judged, "fresh")[["review", "reviewer", "note"]].isna().all()
    unchanged = ["verdict", "distance", "training_text", "ngram_share"]
    pd.testing.assert_frame_equal(judged[unchanged], contamination[unchanged])


def test_a_new_sheet_keeps_what_a_person_wrote(contamination, sequences, index, tmp_path):
    path = tmp_path / "review.csv"
    write_review_sheet(
        filled(review_sheet(contamination, near_misses=5), {"quoting": "non-member"}), path
    )
    reviews = read_reviews(path, set(WINDOWS))
    judged = verdicts(sequences, index, **SETTINGS, reviews=reviews)
    write_review_sheet(review_sheet(judged, near_misses=0), path)
    pd.testing.assert_frame_equal(read_reviews(path, set(WINDOWS)), reviews)


HEADER = "sequence_id,verdict,review,reviewer,note\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            HEADER + "near,near,,,\nunknown,near,member,me,\n",
            r"row 3: sequence_id 'unknown' is not one",
        ),
        (HEADER + "near,near,,,\nnear,near,member,me,\n", r"row 3: sequence_id 'near' occurs more"),
        (HEADER + "near,near,yes,me,\n", r"row 2: review 'yes' is not 'member', 'non-member'"),
        (HEADER + "near,near,Member,me,\n", r"row 2: review 'Member' is not"),
        ("sequence_id,review,note\nnear,member,\n", r"row 1: column reviewer is missing"),
        ("", r"row 1: column sequence_id is missing"),
        (HEADER + 'near,near,"member,me,\n', r"not a readable CSV file"),
        (
            (HEADER + "near,near,member,Müller,\n").encode("latin-1"),
            r"line 2: byte 0xfc is not UTF-8",
        ),
        ((HEADER + "near,near,member,me,\n").encode("utf-16"), r"line 1: byte 0xff is not UTF-8"),
    ],
)
def test_mistakes_in_a_review_are_named_in_one_line(tmp_path, content, message):
    path = tmp_path / "review.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidTable, match=message) as raised:
        read_reviews(path, set(WINDOWS))
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


def test_a_review_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidTable, match=r"missing\.csv: not a readable CSV file"):
        read_reviews(tmp_path / "missing.csv", set(WINDOWS))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_what_spreadsheets_make_of_a_sheet_is_read_all_the_same(tmp_path, ending, mark):
    text = HEADER + 'near,near, member ,"Å, B",\nfresh,none found,,,later\n'
    (tmp_path / "review.csv").write_bytes(mark + text.replace("\n", ending).encode())
    (answer,) = read_reviews(tmp_path / "review.csv", set(WINDOWS)).to_dict("records")
    assert answer == {
        "sequence_id": "near",
        "review": "member",
        "reviewer": "Å, B",
        "note": None,
    }


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=5, max_size=5))
@settings(max_examples=20, deadline=None)
def test_no_text_breaks_a_sheet(contamination, tmp_path_factory, texts):
    sheet = review_sheet(contamination, near_misses=5)
    sheet = sheet.assign(control_text=texts, training_text=texts[::-1], review="member")
    path = tmp_path_factory.mktemp("sheet") / "review.csv"
    write_review_sheet(sheet, path)
    assert read_reviews(path, set(WINDOWS))["sequence_id"].tolist() == sheet["sequence_id"].tolist()


def index_of(tmp_path, **settings):
    corpus = pd.DataFrame({"document_id": ["d"], "token_ids": [np.arange(9, dtype=np.int32)]})
    build(corpus, tmp_path / "index", vocab_size=20, **settings)
    return tmp_path / "index"


def test_an_index_of_another_tokenizer_is_refused(tmp_path):
    folder = index_of(tmp_path, tokenizer="llama")
    with pytest.raises(InvalidIndex, match="built with the tokenizer llama"):
        training_index(folder, tokenizer=("mine", "0af3"), vocab_size=20, threads=1)
    for names in (("llama", "0af3"), ("mine", "llama")):
        assert training_index(folder, tokenizer=names, vocab_size=20, threads=1).n_tokens == 9


def test_an_index_of_infini_gram_takes_the_tokenizers_vocabulary(tmp_path):
    folder = index_of(tmp_path)
    (folder / "memfoil.json").unlink()
    index = training_index(folder, tokenizer=("mine", "0af3"), vocab_size=20, threads=1)
    assert (index.n_tokens, index.vocab_size) == (9, 20)
