"""The page of a run: escaped, without network, and holding what the table holds."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from memfoil.tables import TRACES, Provenance
from memfoil.tracing import trace
from memfoil.tracing.page import page, write_page

NASTY = '<script>alert(1)</script> & "quotes" \' </blockquote> The clocks were striking thirteen!'


class Reading(HTMLParser):
    """The page's elements by name, and the text inside each `p.text`."""

    def __init__(self, html):
        super().__init__()
        self.elements = {}
        self.texts = []
        self._inside = 0
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.elements.setdefault(tag, []).append(dict(attributes))
        if self._inside or ("class", "text") in attributes:
            self._inside += 1
            if self._inside == 1:
                self.texts.append("")

    def handle_endtag(self, tag):
        self._inside -= self._inside > 0

    def handle_data(self, data):
        if self._inside:
            self.texts[-1] += data


@pytest.fixture(scope="module")
def run(indexed, reader):
    """(generations, traces) of four generations, one of them nasty in text and name."""
    encode = lambda text: reader.tokenizer.encode(text, add_special_tokens=False)  # noqa: E731
    texts = [NASTY, "nothing", "It was a bright cold day", "Winston said: nobody", ""]
    frame = pd.DataFrame(
        {
            "generation_id": ["<b>bold</b>", "g1", "g2", "g3", "g4"],
            "token_ids": [np.array(encode(text), np.int32) for text in texts],
            "setting": ["prefix<i>", None, None, None, None],
        }
    )
    corpus = [encode("Before. " + NASTY + " After."), *[encode("It was a bright cold day")] * 5]
    with indexed(corpus, vocab_size=reader.vocab_size) as index:
        traces = pd.concat(trace(frame, index, seed=1, reader=reader))
    return frame, traces, texts


def test_every_text_is_escaped(run, reader):
    frame, traces, _ = run
    html = page(frame, traces, reader, title="<title> & run")
    read = Reading(html)
    assert len(read.elements["script"]) == 1
    assert "alert(1)" not in html[html.index('<script>\n  "use strict"') :]
    assert "b" not in read.elements
    assert "i" not in read.elements
    assert "&lt;title&gt; &amp; run" in html


def test_nothing_is_fetched(run, reader):
    frame, traces, _ = run
    read = Reading(page(frame, traces, reader, title="run"))
    attributes = [item for items in read.elements.values() for item in items]
    assert not any({"src", "href"} & set(item) for item in attributes)
    policy = next(item for item in read.elements["meta"] if "http-equiv" in item)
    assert policy["content"].startswith("default-src 'none'")


def test_generations_are_whole_and_sorted_by_their_longest_span(run, reader):
    frame, traces, texts = run
    read = Reading(page(frame, traces, reader, title="run"))
    articles = read.elements["article"]
    longest = [int(item["data-longest"]) for item in articles]
    assert longest == sorted(longest, reverse=True)
    order = [-int(item["data-order"]) for item in articles]
    assert sorted(order) == [0, 1, 2, 3, 4]
    assert [int(item["data-tokens"]) for item in articles] == [
        len(frame.token_ids[number]) for number in order
    ]
    assert [text.strip("\n ") for text in read.texts] == [texts[number].strip() for number in order]


def test_three_documents_of_a_span_are_shown_and_the_others_counted(run, reader):
    frame, traces, _ = run
    mine = traces[traces.generation_id == "g2"]
    html = page(frame[frame.generation_id == "g2"], mine, reader, title="run")
    assert html.count("<blockquote>") == 3
    assert "and 2 more in the table" in html
    assert "5 occurrences" in html
    assert html.count(": the whole generation") == 3


def test_generations_left_out_are_counted(run, reader, monkeypatch):
    frame, traces, _ = run
    monkeypatch.setattr("memfoil.tracing.page.MOST_GENERATIONS", 2)
    html = page(frame, traces, reader, title="run")
    assert html.count("<article") == 2
    assert "3 more generations, with shorter spans, are in the table." in html


@pytest.mark.parametrize("most", [1, 2, 3, 500])
def test_the_page_of_a_file_is_the_page_of_its_frame(run, reader, tmp_path, monkeypatch, most):
    """Also where only some of the generations with spans as long are shown."""
    frame, traces, _ = run
    frame = pd.concat([frame.assign(generation_id=frame.generation_id + i) for i in "zyx"])
    traces = pd.concat([traces.assign(generation_id=traces.generation_id + i) for i in "zyx"])
    monkeypatch.setattr("memfoil.tracing.page.MOST_GENERATIONS", most)
    TRACES.write(traces, tmp_path / "traces.parquet", Provenance("test"))
    write_page(frame, tmp_path / "traces.parquet", reader, tmp_path / "page.html", title="t")
    written = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert written == page(frame, TRACES.read(tmp_path / "traces.parquet"), reader, title="t")


def test_a_window_of_unknown_place_is_shown_around_its_span(run, reader):
    frame, traces, _ = run
    mine = traces[traces.generation_id == "<b>bold</b>"].assign(
        document_start=None, window_start=None
    )
    html = page(frame[:1], mine, reader, title="run")
    assert "<blockquote>Before. <mark" in html


def test_a_run_without_generations(run, reader):
    frame, traces, _ = run
    assert "All 0 generations" in page(frame[:0], traces[:0], reader, title="run")
