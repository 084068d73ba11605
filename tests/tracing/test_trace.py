"""Traces against what the definition says, found by looking at everything."""

import numpy as np
import pandas as pd
import pytest
from by_trying_all import count, maximal_spans, occurs
from hypothesis import given, settings
from hypothesis import strategies as st

from memfoil import tables
from memfoil.errors import InvalidIndex, InvalidTable
from memfoil.tracing import maximal_spans as all_spans
from memfoil.tracing import trace

TOKENS = st.lists(st.integers(0, 3), max_size=24)
DOCUMENTS = st.lists(TOKENS, min_size=1, max_size=6)


def traced(generations, index, **options):
    parts = list(trace(generations, index, seed=options.pop("seed", 7), **options))
    return pd.concat([pd.DataFrame(columns=parts[0].columns if parts else []), *parts])


@settings(max_examples=40)
@given(documents=DOCUMENTS, sequences=st.lists(TOKENS, max_size=4), shards=st.integers(1, 3))
def test_every_row_is_what_it_says(indexed, generations, documents, sequences, shards):
    frame = generations(*sequences)
    with indexed(documents, vocab_size=4, shards=shards) as index:
        rows = traced(frame, index)
        probability = np.bincount(np.concatenate([*documents, [0] * 0]).astype(int), minlength=4)
        logs = np.log(np.maximum(probability, 1e-300) / max(probability.sum(), 1))
    for number, sequence in enumerate(sequences):
        mine = rows[rows.generation_id == f"g{number}"]
        n = len(sequence)
        spans = [s for s in maximal_spans(sequence, documents) if s[1] - s[0] >= 4]
        weight = {(a, b): round(logs[sequence[a:b]].sum(), 9) for a, b in spans}
        kept = sorted(spans, key=lambda s: (weight[s], s))[: -(-n // 20)]
        if n and occurs(sequence, documents):
            kept = [(0, n)]
        found = mine[["start", "end"]].drop_duplicates().itertuples(index=False)
        assert [tuple(span) for span in found] == sorted(kept)
        for (a, b), part in mine.groupby(["start", "end"]):
            total = count(sequence[a:b], documents)
            assert set(part["count"]) == {total}
            assert part.occurrence.tolist() == list(range(1, min(total, 10) + 1))
            assert np.allclose(part.log_unigram, logs[sequence[a:b]].sum())
            places = list(zip(part.document_id, part.document_start, strict=True))
            assert len(set(places)) == len(places)
            for row in part.itertuples():
                document = documents[int(row.document_id[1:])]
                start = row.document_start
                assert document[start : start + b - a] == sequence[a:b]
                window = list(row.window)
                assert document[row.window_start : row.window_start + len(window)] == window
                assert len(window) <= 5 * n
                margin = (5 * n - (b - a)) // 2
                assert row.window_start == max(start - margin, 0)
                assert row.window_start + len(window) == min(start + b - a + margin, len(document))
                assert (row.match == "whole") == occurs(sequence, [window])


@settings(max_examples=40)
@given(documents=DOCUMENTS, sequences=st.lists(TOKENS, max_size=4), shards=st.integers(1, 3))
def test_maximal_spans_of_any_length_with_their_counts(
    indexed, generations, documents, sequences, shards
):
    with indexed(documents, vocab_size=4, shards=shards) as index:
        parts = list(all_spans(generations(*sequences), index))
    found = [tuple(row) for part in parts for row in part.itertuples(index=False)]
    assert found == [
        (f"g{i}", a, b, count(sequence[a:b], documents))
        for i, sequence in enumerate(sequences)
        for a, b in maximal_spans(sequence, documents)
    ]


FREQUENT = [[9, *([i] if i < 9 else []), 1, 2, 3, 4, 5, i % 9] for i in range(40)]


def test_ten_documents_of_a_frequent_span_drawn_by_seed_and_text_alone(indexed, generations):
    with indexed(FREQUENT, vocab_size=10, shards=3) as index:
        once = traced(generations([1, 2, 3, 4, 5]), index)
        assert once["count"].tolist() == [40] * 10
        assert once.document_id.nunique() == 10
        in_company = traced(generations([0, 0], [1, 2, 3, 4, 5], [4, 1, 2, 3, 4, 5]), index)
        again = in_company[in_company.generation_id == "g1"]
        assert again.document_id.tolist() == once.document_id.tolist()
        other = in_company[in_company.generation_id == "g2"]
        assert other.document_id.tolist() != once.document_id.tolist()
        reseeded = traced(generations([1, 2, 3, 4, 5]), index, seed=8)
        assert reseeded.document_id.tolist() != once.document_id.tolist()
    with indexed(FREQUENT, vocab_size=10) as whole:
        assert traced(generations([1, 2, 3, 4, 5]), whole).document_id.nunique() == 10


def test_every_document_can_be_drawn(indexed, generations):
    """And all about equally often: 40 documents, 10 drawn for each of 400 generations."""
    with indexed(FREQUENT, vocab_size=1000, shards=3) as index:
        drawn = traced(generations(*([1, 2, 3, 4, 5, 500 + i] for i in range(400))), index)
    times = drawn.document_id.value_counts()
    assert len(times) == 40
    assert abs(times - 100).max() < 5 * np.sqrt(400 * 0.25 * 0.75)


def test_odd_generations(indexed, generations):
    """Empty, of one token, all one token, shorter than four tokens, longer than any document."""
    with indexed([[1, 1, 1, 1, 1, 1], [2, 3, 1]], vocab_size=10) as index:
        rows = traced(
            generations([], [1], [1] * 30, [2, 3], [2, 3, 1, 1, 1, 1, 1, 1, 5], [7]), index
        )
        spans = list(all_spans(generations([], [1] * 9, [7]), index))
    kept = rows[["generation_id", "start", "end"]].drop_duplicates().itertuples(index=False)
    assert [tuple(span) for span in kept] == [
        ("g1", 0, 1),
        ("g2", 0, 6),
        ("g2", 1, 7),
        ("g3", 0, 2),
        ("g4", 2, 8),
    ]
    assert rows[rows.generation_id == "g3"].match.tolist() == ["whole"]
    assert pd.concat(spans).to_numpy().tolist() == [["g1", i, i + 6, 1] for i in range(4)]


def test_no_generations(indexed, generations):
    with indexed([[1, 2]], vocab_size=10) as index:
        assert list(trace(generations(), index, seed=1)) == []
        assert list(all_spans(generations(), index)) == []


@pytest.mark.parametrize("written", [[[]], [[], []], [[9, 8, 7, 6, 5]], [[], [9]]])
def test_generations_of_which_nothing_occurs(indexed, generations, reader, written):
    with indexed([[1, 2]], vocab_size=reader.vocab_size) as index:
        assert traced(generations(*written), index, reader=reader).empty


@pytest.mark.parametrize("bad", [-1, 10, 65_535])
def test_ids_that_the_index_cannot_hold_are_refused_by_name(indexed, generations, bad):
    with (
        indexed([[1, 2]], vocab_size=10) as index,
        pytest.raises(InvalidIndex, match=f"generation g1, token 2: id {bad} is not of"),
    ):
        next(trace(generations([1], [1, 2, bad]), index, seed=1))


def test_the_tables_take_what_is_traced(tmp_path, indexed, generations):
    with indexed(FREQUENT, vocab_size=10) as index:
        frame = generations([], [1, 2, 3, 4, 5], [8])
        parts = trace(frame, index, seed=1)
        tables.TRACES.write_parts(parts, tmp_path / "traces.parquet", tables.Provenance("test"))
        parts = all_spans(frame, index)
        tables.SPANS.write_parts(parts, tmp_path / "spans.parquet", tables.Provenance("test"))
    assert len(tables.TRACES.read(tmp_path / "traces.parquet")) == 10 + 5
    assert len(tables.SPANS.read(tmp_path / "spans.parquet")) == 2


def encode(reader, text):
    return reader.tokenizer.encode(text, add_special_tokens=False)


def text_of(reader, ids):
    return "".join(reader.pieces[i] for i in ids)


def test_generations_whole_but_for_space_and_form(indexed, generations, reader):
    document = "Nobody knew the first café.\nThe clocks were striking thirteen and it was cold."
    same = "the ﬁrst  cafe\u0301. The clocks were striking thirteen and it was"
    other = "the last café. The clocks were striking thirteen and it was"
    with indexed([encode(reader, document), [5, 6]], vocab_size=reader.vocab_size) as index:
        frame = generations(*(encode(reader, " " + text) for text in (same, other)))
        rows = traced(frame, index, reader=reader)
        unread = traced(frame, index)
    assert set(rows[rows.generation_id == "g0"].match) == {"normalized"}
    assert set(rows[rows.generation_id == "g1"].match) == {"partial"}
    assert set(unread.match) == {"partial"}


def test_text_mode_keeps_whole_words_of_one_sentence(indexed, generations, reader):
    document = encode(
        reader, "It was a bright cold day in April. The clocks were striking thirteen!"
    )
    text = "He said it was a bright cold day in April. The clocks were strikingly loud"
    sequence = encode(reader, text)
    with indexed([document], vocab_size=reader.vocab_size) as index:
        rows = traced(generations(sequence), index, mode="text", reader=reader)
        mixed = traced(generations(sequence), index)
    found = {
        text_of(reader, sequence[a:b]).strip() for a, b in zip(rows.start, rows.end, strict=True)
    }
    assert "was a bright cold day in April." in found
    assert not any("April. The" in span for span in found)
    longest = max(zip(mixed.start, mixed.end, strict=True), key=lambda s: s[1] - s[0])
    assert "April. The clocks were striking" in text_of(reader, sequence[slice(*longest)])


def test_text_mode_attaches_a_whole_generation_of_two_sentences(indexed, generations, reader):
    text = "Nobody knew. The clocks were striking"
    document = encode(reader, text + " thirteen! It was cold.")
    with indexed([document], vocab_size=reader.vocab_size) as index:
        rows = traced(generations(encode(reader, text)), index, mode="text", reader=reader)
    n = len(encode(reader, text))
    assert (0, n) in set(zip(rows.start, rows.end, strict=True))
    assert set(rows.match) == {"whole"}


@pytest.mark.parametrize("mode", ["text", "olmotrace"])
def test_modes_that_read_words_need_a_tokenizer(indexed, generations, mode):
    with (
        indexed([[1, 2]], vocab_size=10) as index,
        pytest.raises(InvalidTable, match=f"mode {mode} cuts at words"),
    ):
        next(trace(generations([1, 2]), index, seed=1, mode=mode))
