"""The file of a book holds what the tables say, nothing that could run, and no text if told so."""

import base64
import json
import re

import numpy as np
import pandas as pd
import pytest
from census_of import BUDGET, census, random_scores
from hypothesis import given, settings
from hypothesis import strategies as st

from memfoil.errors import InvalidTable
from memfoil.report.reader import book, reader

TEXT = "It is the duty of the Congress. " * 12
STARTS = range(0, 280, 7)


def page(text=TEXT, starts=STARTS, show_text=True, seed=0, **changes):
    scores = {"base": random_scores(len(starts), seed)}
    found, heat, thresholds = census(text, scores, starts)
    return reader(found._replace(**changes), heat, thresholds, BUDGET, show_text=show_text)


def data_of(html):
    found = re.search(r'<script type="application/json" id="book">(.*?)</script>', html, re.S)
    return json.loads(found[1])


def test_runs_and_scores_are_the_tables_own():
    scores = {"base": random_scores(len(STARTS), 1), "near-verbatim": random_scores(40, 2)}
    found, heat, thresholds = census(TEXT, scores, STARTS)
    data = data_of(reader(found, heat, thresholds, BUDGET, show_text=True))
    assert data["text"] == TEXT
    assert (data["characters"], data["queries"], data["success"]) == (len(TEXT), 100_000, 0.95)
    for column, name in (
        ("start", "start_char"),
        ("suffix", "suffix_start_char"),
        ("end", "end_char"),
    ):
        assert np.cumsum(data["windows"][column]).tolist() == found.windows[name].tolist()
    assert [view["label"] for view in data["views"]] == [
        "verbatim, base; 50-token prefix",
        "near-verbatim; 50-token prefix",
    ]
    for view, procedure in zip(data["views"], scores, strict=True):
        rows = heat[heat["procedure"] == procedure]
        assert np.cumsum(view["starts"]).tolist() == [*rows["start_char"], len(TEXT)]
        values = np.frombuffer(base64.b64decode(view["log_scores"]), "<f8")
        np.testing.assert_array_equal(values, rows["log_score"])
        numbers = rows["window_id"].str.rpartition(":")[2].fillna("-1").astype(int)
        assert np.cumsum(view["windows"]).tolist() == numbers.tolist()


@settings(max_examples=15, deadline=None)
@given(st.text(st.characters(codec="utf-8"), min_size=101, max_size=150))
def test_any_text_comes_back_and_ends_no_script(text):
    html = page(text, range(1))
    assert data_of(html)["text"] == text
    assert html.count("</script>") == 2


@pytest.mark.parametrize(
    "hostile",
    ["</script><script>alert(1)</script>", "<!--<script>", "<img src=x onerror=alert(1)>"],
)
def test_hostile_text_and_names_are_escaped(hostile):
    found, heat, thresholds = census(hostile + TEXT, {"base": random_scores(40, 0)}, STARTS)
    found = found._replace(document_id=hostile)
    html = reader(found, heat, thresholds, BUDGET, show_text=True)
    assert hostile not in html
    assert data_of(html)["text"] == hostile + TEXT


def test_the_file_asks_for_nothing_from_outside():
    html = page()
    assert "default-src 'none'" in html
    assert not re.search(r"https?://|\b(src|href)=|@import|url\(", html)


def test_a_text_left_out_is_nowhere_in_the_file():
    words = " ".join(f"sesquipedalian{i}" for i in range(40))
    assert "sesquipedalian7" in page(words)
    silent = page(words, show_text=False)
    assert "sesquipedalian" not in silent
    assert data_of(silent)["text"] is None
    assert data_of(silent)["characters"] == len(words)


def test_greedy_decoding_needs_no_threshold_and_comes_last():
    scores = {
        "greedy": np.where(np.arange(40) % 3, -np.inf, 0.0),
        "near-verbatim": random_scores(40, 3),
        "top-40": random_scores(40, 4),
    }
    found, heat, thresholds = census(TEXT, scores, STARTS)
    views = data_of(reader(found, heat, thresholds, BUDGET, show_text=True))["views"]
    names = ["verbatim, top-40", "near-verbatim", "verbatim, greedy"]
    assert [view["label"].partition(";")[0] for view in views] == names
    assert [view["has_threshold"] for view in views] == [True, True, False]
    assert [view["log10_tau"] for view in views] == [-12, -12, None]


def test_the_book_of_a_pair_is_its_document_in_order():
    found, _, _ = census(TEXT, {"base": random_scores(40, 0)}, STARTS)
    control, _, _ = census(TEXT[5:], {"base": random_scores(40, 0)}, STARTS, "control")
    windows = pd.concat([control.windows, found.windows[::-1]])
    texts = pd.DataFrame({"document_id": ["control", "book"], "text": [TEXT[5:], TEXT]})
    again = book("pair", "tiny", "book", texts, windows)
    assert again.text == TEXT
    assert again.windows["window_id"].tolist() == found.windows["window_id"].tolist()
    with pytest.raises(InvalidTable, match=r"document_id: other, the document of pair pair"):
        book("pair", "tiny", "other", texts, windows)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda b, h, t: (b._replace(pair="else"), h, t), "pair else, model tiny: no row"),
        (lambda b, h, t: (b._replace(text=b.text + "x"), h, t), "do not cover the 385 characters"),
        (lambda b, h, t: (b, h.drop(index=3), t), "do not cover the 384 characters"),
        (lambda b, h, t: (b, h, t.assign(decontaminated=False)), "no threshold"),
        (
            lambda b, h, t: (b._replace(windows=b.windows[:3]), h, t),
            r"window book:\d+ is not a window of book",
        ),
    ],
)
def test_tables_of_different_runs_are_refused(damage, message):
    found, heat, thresholds = damage(*census(TEXT, {"base": random_scores(40, 0)}, STARTS))
    with pytest.raises(InvalidTable, match=message):
        reader(found, heat, thresholds, BUDGET, show_text=True)
