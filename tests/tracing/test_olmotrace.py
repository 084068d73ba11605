"""The mode that follows OLMoTrace, beside infini-gram's own implementation of its first step."""

import numpy as np
from infini_gram.engine import InfiniGramEngine

from memfoil.tracing import trace
from memfoil.tracing.olmotrace import K1, B, bm25
from memfoil.tracing.trace import Chunk, _spans

DOCUMENTS = [
    "It was a bright cold day in April. The clocks were striking thirteen!",
    "The clocks were striking. Nobody knew it was a bright cold night\nIs it a bright day",
    "Winston said: nobody knew the day. It was April, a cold day in April",
]
GENERATIONS = [
    "He said it was a bright cold day in April. The clocks were strikingly loud",
    "Nobody knew it was a bright cold day\nThe clocks were striking. It was April",
    "a bright day in April, a cold day. The clocks",
]


def encoded(reader, texts):
    return [reader.tokenizer.encode(" " + text, add_special_tokens=False) for text in texts]


def test_spans_are_those_of_the_engine(tmp_path, indexed, reader):
    """Words begin where a token begins with white space: the engine reads those ids from a file."""
    spaced = [i for i, piece in enumerate(reader.pieces) if piece[:1].isspace()]
    (tmp_path / "bow").write_text("".join(f"{i}\n" for i in spaced))
    delimiters = [
        i for i, piece in enumerate(reader.pieces) if piece.strip() == "." or "\n" in piece
    ]
    with indexed(encoded(reader, DOCUMENTS), vocab_size=reader.vocab_size) as index:
        engine = InfiniGramEngine(
            str(index.folder),
            eos_token_id=0,
            vocab_size=reader.vocab_size,
            bow_ids_path=str(tmp_path / "bow"),
            ds_prefetch_depth=0,
            sa_prefetch_depth=0,
            od_prefetch_depth=0,
            precompute_unigram_logprobs=True,
        )
        for sequence in encoded(reader, GENERATIONS):
            batch = index.batch([sequence])
            chunk = Chunk(np.array(["g"]), batch, index.longest_matches([sequence])[0])
            ours = _spans(chunk, "olmotrace", reader)
            answer = engine.attribute(sequence, delimiters, 1, 10**6, True)
            theirs = [(span["l"], span["r"]) for span in answer["spans"]]
            assert len(theirs) > 3
            assert list(zip(ours.start.tolist(), ours.end.tolist(), strict=True)) == theirs


def test_overlapping_spans_are_shown_as_one_that_need_not_occur(indexed, generations, reader):
    documents = ["one two three four five", "three four five six seven", "nine ten"]
    text = "one two three four five six seven"
    with indexed(encoded(reader, documents), vocab_size=reader.vocab_size) as index:
        frame = generations(*encoded(reader, [text]))
        n = len(frame.token_ids[0])
        rows = next(trace(frame, index, seed=1, mode="olmotrace", reader=reader))
        assert n > 20
        assert len(rows.groupby(["start", "end"])) == 2
        assert set(rows.merged_start) == {0}
        assert set(rows.merged_end) == {n}
        assert index.count(frame.token_ids[0]) == 0
        mixed = next(trace(frame, index, seed=1, reader=reader))
        assert mixed.merged_start.isna().all()
        assert mixed.relevance.isna().all()


def test_bm25_worked_by_hand():
    """Two documents of 3 and 1 words; `a` is in both, `b` in one, `z` in none."""
    scores = bm25(["a", "b", "b", "z"], [["a", "b", "c"], ["a"]])
    idf_a, idf_b = np.log1p(0.5 / 2.5), np.log1p(1.5 / 1.5)
    norm = K1 * (1 - B + B * np.array([3, 1]) / 2)
    of_a, of_b = (K1 + 1) / (1 + norm), (K1 + 1) / (1 + norm[0])
    assert np.allclose(scores, idf_a * of_a + [2 * idf_b * of_b, 0])


def test_bm25_ranks_what_shares_rare_words_first():
    documents = [["the", "clock"], ["the", "the"], ["a", "day"]]
    assert np.argmax(bm25(["the", "clock"], documents)) == 0
    assert bm25([], documents).tolist() == [0, 0, 0]
    assert bm25(["x"], []).tolist() == []
