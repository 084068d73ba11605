"""Reused passages of a control: found with evidence, taken out with all that overlaps them."""

import csv

import numpy as np
import pandas as pd
import pytest
from small_models import small_tokenizer

from memfoil import decontaminate
from memfoil.census.controls import Lookup, judge, leaving, write_review_sheet
from memfoil.census.windows import windows
from memfoil.encoding import encode
from memfoil.errors import InvalidScores, InvalidTable
from memfoil.index import build, open_index
from memfoil.tables import CENSUS_CONTROLS, LEFT_OUT, Provenance

TOKENIZER = small_tokenizer()
LOOKUP = Lookup(rank=1000, max_distance=1, ngram_tokens=5, max_piece_count=1000)
WORDS = np.random.default_rng(0).permutation([f"w{a}{b}" for a in "abcdefgh" for b in "jklmnop"])
OWN, REUSED, ELSEWHERE = (" ".join(part) for part in np.split(WORDS, [20, 36]))
TEXT = f"{OWN} {REUSED}. {OWN[::-1]}"


@pytest.fixture(scope="module")
def references(tmp_path_factory):
    """Two indexes: the first has text of no concern, the second the reused passage."""
    made = {}
    for name, text in {"training": ELSEWHERE, "poems": f"As it said: {REUSED}, and so on"}.items():
        folder = tmp_path_factory.mktemp("index") / name
        ids = encode(TOKENIZER, [text])[0].token_ids
        corpus = pd.DataFrame({"document_id": [f"{name}-1"], "token_ids": [ids]})
        build(corpus, folder, vocab_size=len(TOKENIZER))
        made[name] = open_index(folder)
    return made


@pytest.fixture(scope="module")
def cut():
    cuts = {"prefix_tokens": 6, "suffix_tokens": 10, "stride": {"unit": "tokens", "step": 4}}
    return windows("c", TEXT, TOKENIZER, **cuts)[0]


def scores(cut, procedures=("base",)):
    """The higher the later in the text."""
    parts = [
        pd.DataFrame(
            {
                "window_id": cut["window_id"],
                "prefix_tokens": 6,
                "procedure": name,
                "log_score": -200.0 + cut["window"],
            }
        )
        for name in procedures
    ]
    return pd.concat(parts, ignore_index=True)


def judged(cut, references, *, reviews=None, lookup=LOOKUP, scored=None):
    scored = scores(cut) if scored is None else scored
    return judge("p", TEXT, cut, scored, references, TOKENIZER, lookup, reviews)


def test_a_reused_passage_is_found_to_its_ends_and_takes_out_what_overlaps_it(cut, references):
    found = judged(cut, references)
    first, end = TEXT.index(REUSED), TEXT.index(REUSED) + len(REUSED)
    inside = (cut["suffix_start_char"] >= first) & (cut["end_char"] <= end)
    members = found[found["member"]]
    assert set(cut.loc[inside, "window_id"]) <= set(members["window_id"])
    assert set(members["reference"]) == {"poems"}
    assert set(members["found_document_id"]) == {"poems-1"}
    assert (members["passage_start_char"] - first).abs().max() <= 2
    assert (members["passage_end_char"] - end).abs().max() <= 2
    gone = leaving(found, cut)
    start, stop = members["passage_start_char"].min(), members["passage_end_char"].max()
    overlaps = (cut["suffix_start_char"] < stop) & (cut["end_char"] > start)
    assert gone["item_id"].tolist() == cut.loc[overlaps, "window_id"].tolist()
    assert overlaps.sum() > len(members)


def test_an_exact_member_names_the_text_it_is(cut, references):
    found = judged(cut, references)
    exact = found[found["verdict"] == "exact"]
    assert len(exact) > 2
    assert (exact["found_text"] == exact["text"]).all()
    assert (exact["distance"] == 0).all()


def test_only_windows_up_to_the_rank_are_looked_up_and_impossible_ones_never(cut, references):
    scored = scores(cut, ["base", "top-40"])
    scored.loc[scored["procedure"] == "top-40", "log_score"] = -np.inf
    scored.loc[(scored["procedure"] == "top-40") & (scored["window_id"] == "c:0"), "log_score"] = -9
    found = judged(cut, references, lookup=LOOKUP._replace(rank=3), scored=scored)
    n = len(cut)
    assert set(found["window_id"]) == {"c:0", *(f"c:{n - i}" for i in (1, 2, 3))}
    rows = found.set_index("window_id")
    assert rows.loc["c:0", ["procedure", "rank", "log_score"]].tolist() == ["top-40", 1, -9]
    last = rows.loc[f"c:{n - 1}"]
    assert (last["rank"], last["log_score_before"]) == (1, -200.0 + n - 2)
    assert np.isnan(last["log_score_after"])


def test_a_person_can_add_a_passage_and_clear_another(cut, references, tmp_path):
    plain = judged(cut, references)
    cleared = plain.loc[plain["member"], "window_id"].iloc[0]
    path = tmp_path / "review.csv"
    rows = ["sequence_id,review,reviewer,note", "c:1,member,Ada,an epigraph"]
    path.write_text("\n".join([*rows, f"{cleared},non-member,Ada,"]))
    reviews = decontaminate.read_reviews(path, set(cut["window_id"]))
    found = judged(cut, references, reviews=reviews, lookup=LOOKUP._replace(rank=0)).set_index(
        "window_id"
    )
    assert set(found.index) == {"c:1", cleared}
    assert found.loc["c:1", ["verdict", "member"]].tolist() == ["none found", True]
    assert found.loc[cleared, "verdict"] in ("exact", "near")
    gone = leaving(judged(cut, references, reviews=reviews), cut)["item_id"].tolist()
    assert "c:1" in gone
    assert "c:0" in gone  # overlaps it
    assert cleared not in gone


def test_a_review_of_unknown_windows_is_refused(cut, tmp_path):
    path = tmp_path / "review.csv"
    path.write_text("sequence_id,review,reviewer,note\nc:9999,member,Ada,\n")
    with pytest.raises(InvalidTable, match=r"row 2: sequence_id 'c:9999' is not one of"):
        decontaminate.read_reviews(path, set(cut["window_id"]))


def test_without_a_reference_nothing_is_found_and_everything_high_is_queued(cut, tmp_path):
    found = judged(cut, {}, lookup=LOOKUP._replace(rank=4))
    assert len(found) == 4
    assert not found["member"].any()
    assert leaving(found, cut).empty
    write_review_sheet(found, tmp_path / "review.csv")
    with (tmp_path / "review.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["rank"] for row in rows] == ["1", "2", "3", "4"]
    assert [row["text"] for row in rows] == found["text"].tolist()
    assert {row["review"] for row in rows} == {""}


def test_the_review_sheet_lists_what_was_found_first_and_can_be_read_back(
    cut, references, tmp_path
):
    found = judged(cut, references)
    write_review_sheet(found, tmp_path / "review.csv")
    with (tmp_path / "review.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    verdicts = [row["verdict"] == "none found" for row in rows]
    assert len(rows) == len(found)
    assert verdicts == sorted(verdicts)
    assert float(rows[-1]["log10_score"]) < -50
    assert decontaminate.read_reviews(tmp_path / "review.csv", set(cut["window_id"])).empty


def test_a_control_without_scores_is_refused(cut, references):
    with pytest.raises(InvalidScores, match="pair p: no window of the control was scored"):
        judged(cut, references, scored=scores(cut).head(0))


def test_verdicts_fit_their_tables(cut, references, tmp_path):
    for looked_up in (judged(cut, references), judged(cut, {})):
        CENSUS_CONTROLS.write(looked_up, tmp_path / "c.parquet", Provenance("test"))
        LEFT_OUT.write(leaving(looked_up, cut), tmp_path / "l.parquet", Provenance("test"))
        assert len(CENSUS_CONTROLS.read(tmp_path / "c.parquet")) == len(looked_up)
