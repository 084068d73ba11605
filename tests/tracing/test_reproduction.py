"""The measures of generations whose reproduction is known, and their rates."""

import numpy as np
import pandas as pd
import pytest

from memfoil import tables
from memfoil.tracing import maximal_spans, reproduced, trace
from memfoil.tracing.recall import adaptive_recall
from memfoil.tracing.reproduction import measures, rates

STORY = (
    "It was a bright cold day in April. The clocks were striking thirteen! Winston said that "
    "nobody knew how many miles it was to the first café, and it was April again; the day was "
    "cold and the clocks were bright, and nobody said how many days there were in a bright April."
)
SORRY = "I was so cold. " * 40


@pytest.fixture(scope="module")
def measured(indexed, reader):
    """name -> row of the measures of generations against an index of STORY, SORRY and code."""
    encode = lambda text: reader.tokenizer.encode(text, add_special_tokens=False)  # noqa: E731
    story = encode(STORY)
    middle = " " + " ".join(STORY.split()[6:30])
    written = {
        "whole": middle,
        "loop": SORRY,
        "short": " said that",
        "near": middle.replace("thirteen", "fifteen"),
        "own": "zzz qqq zzz",
        "code": "import os\nx = f(1);\ny = g(2);\n}\n",
        "symbols": "| --- |\n" * 60,
        "empty": "",
    }
    frame = pd.DataFrame({"generation_id": list(written), "text": list(written.values())})
    frame["token_ids"] = [np.array(encode(text), np.int32) for text in written.values()]
    corpus = [story, encode(SORRY * 2), encode("and " + STORY), encode("something else")]
    with indexed(corpus, vocab_size=reader.vocab_size, shards=2) as index:
        spans = pd.concat(maximal_spans(frame, index))
        traces = pd.concat(trace(frame, index, seed=1, reader=reader))
        rows = reproduced(frame, spans, traces, index, reader)
    return rows.set_index("generation_id", drop=False), frame.set_index("generation_id"), traces


def test_the_table_takes_the_measures(tmp_path, measured):
    path = tmp_path / "reproduction.parquet"
    tables.REPRODUCTION.write(measured[0], path, tables.Provenance("test"))
    assert len(tables.REPRODUCTION.read(path)) == 8


def test_whole_generations(measured):
    assert measured[0].whole[measured[0].whole != "no"].to_dict() == {
        "whole": "exact",
        "loop": "exact",
        "short": "exact",
    }


def test_a_loop_is_the_longest_span_but_not_the_longest_that_is_none(measured):
    rows = measured[0]
    assert rows.longest["loop"] == rows.tokens["loop"] > 50
    assert rows.longest_unlooped["loop"] == 0
    assert rows.longest["whole"] == rows.longest_unlooped["whole"] == rows.tokens["whole"]
    assert rows.longest["own"] < 20


def test_occurrences_of_the_longest_span_and_of_its_first_50_tokens(measured):
    rows = measured[0]
    assert rows.longest_count["whole"] == rows.head_count["whole"] == 2
    assert pd.isna(rows.head_count["short"])
    assert rows.longest["empty"] == rows.longest_count["empty"] == 0


def test_recall_is_taken_once_for_each_document(measured, reader):
    rows, frame, traces = measured
    for name in ("near", "whole"):
        mine = traces[traces.generation_id == name]
        best = {}
        for row in mine.itertuples():
            (window,) = reader.texts([row.window])
            value = adaptive_recall(frame.text[name], window)
            best[row.document_id] = max(value, best.get(row.document_id, 0))
        assert rows.documents[name] == len(best)
        assert rows.recall[name] == pytest.approx(sum(best.values()))
    assert rows.recall["whole"] == rows.recall_50["whole"] == 2
    assert 0.5 < rows.recall["near"] / rows.documents["near"] < 1
    assert rows.recall_50["loop"] == 0 < rows.recall["loop"]


def test_filters(measured):
    rows = measured[0]
    assert rows.index[rows.degenerate].tolist() == ["symbols"]
    assert rows.index[rows.code_like].tolist() == ["code", "symbols"]


def test_generations_of_which_no_span_is_tested_for_loops(indexed, generations, reader):
    """None of 20 tokens, so no text of a span is read; and none at all."""
    ids = [np.array(ids, np.int32) for ids in ([1, 2, 3, 4, 5, 9], [9], [])]
    frame = generations(*ids).assign(text=["a b", "c", ""])
    with indexed([[1, 2, 3, 4, 5, 6]], vocab_size=reader.vocab_size) as index:
        spans = pd.concat(maximal_spans(frame, index))
        traces = pd.concat(trace(frame, index, seed=1, reader=reader))
        rows = reproduced(frame, spans, traces, index, reader)
    assert rows.longest.tolist() == rows.longest_unlooped.tolist() == [5, 0, 0]
    assert rows.documents.tolist() == [1, 0, 0]
    assert rows.head_count.isna().all()


def row(**values):
    fields = {
        "whole": "no",
        "tokens": 100,
        "longest": 0,
        "longest_unlooped": 0,
        "recall": 0.0,
        "recall_50": 0.0,
        "documents": 0,
    }
    return fields | values


def test_rates_worked_by_hand():
    frame = pd.DataFrame(
        [
            row(whole="exact", tokens=3, longest=0, documents=2, recall=2.0),
            row(whole="normalized", tokens=50, longest=49, longest_unlooped=49),
            row(longest=70, longest_unlooped=19, documents=8, recall=1.0, recall_50=0.5),
            row(longest=50, longest_unlooped=50),
        ]
    )
    assert rates(frame).to_dict() == {
        "FMR": 0.5,
        "FMR20": 0.25,
        "FMR50": 0.25,
        "ALS": (49 + 70 + 50) / 4,
        "R20": 0.5,
        "R50": 0.25,
        "NVR": 0.3,
        "NVR50": 0.05,
    }


def test_rates_of_nothing_are_zero():
    assert set(rates(pd.DataFrame([row()])).tolist()) == {0.0}
    assert set(rates(pd.DataFrame([row()])[:0]).tolist()) == {0.0}


def test_measures_are_one_row_for_each_generation():
    frame = pd.DataFrame([row(), row(), row()], index=[5, 6, 7])
    numerators, denominators = measures(frame)
    assert numerators.index.tolist() == denominators.index.tolist() == [5, 6, 7]
    assert numerators.columns.tolist() == denominators.columns.tolist()
