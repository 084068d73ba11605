"""Spans against brute force, in memory and through an index of one shard and of many."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from by_trying_all import count, maximal_spans, occurs
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memfoil import index
from memfoil.tracing import spans

TEXT = st.lists(st.integers(0, 3), max_size=14)
CORPUS = st.lists(TEXT, min_size=1, max_size=5)
ADVERSARIAL = [
    ([[0] * 9], [[0] * 14, [0] * 3, []]),
    ([[0, 1] * 6, [1, 0] * 5], [[0, 1, 0], [1] * 7]),
    ([[3, 3, 3]], [[0, 0, 0], [2, 3, 3, 3, 3]]),
    ([[0, 1, 2]], [[2, 0, 1, 2, 3], [0, 1, 2]]),
    ([[], [1]], [[1, 1], [2]]),
    ([[0, 1], [1, 2]], [[0, 1, 1, 2], [0, 1, 2]]),
    # the first id sorts before all suffixes: the insertion point is rank 0
    ([[2, 1], [1, 3]], [[0, 2, 1, 0], [0], [0, 0, 1, 3]]),
    ([[3, 1, 3, 1]], [[3, 1, 3, 1, 3, 1], [2, 3, 1, 3, 1]]),
]


def flat(sequences):
    bounds = np.cumsum([0, *map(len, sequences)])
    return np.concatenate([np.empty(0, np.int64), *sequences]).astype(np.int64), bounds


def longest(sequences, documents):
    """The longest match at every token, by brute force."""
    return np.array(
        [
            max((j - i for j in range(i, len(s) + 1) if occurs(s[i:j], documents)), default=0)
            for s in sequences
            for i in range(len(s))
        ],
        np.int64,
    )


def of_each(found, bounds):
    """Spans as lists of (start, end) per sequence, counted from its own first token."""
    return [
        [
            (int(a - bounds[i]), int(b - bounds[i]))
            for k, a, b in zip(found.sequence, found.start, found.end, strict=True)
            if k == i
        ]
        for i in range(len(bounds) - 1)
    ]


@given(CORPUS, st.lists(TEXT, max_size=4))
@example(*ADVERSARIAL[0])
@example(*ADVERSARIAL[1])
@example(*ADVERSARIAL[2])
@example(*ADVERSARIAL[3])
@example(*ADVERSARIAL[4])
@example(*ADVERSARIAL[6])
@example(*ADVERSARIAL[7])
def test_maximal_spans_are_those_of_brute_force(documents, sequences):
    _, bounds = flat(sequences)
    found = spans.maximal(longest(sequences, documents), bounds)
    assert of_each(found, bounds) == [maximal_spans(s, documents) for s in sequences]


@given(CORPUS, st.lists(TEXT, max_size=3), st.data())
def test_spans_of_words_are_those_of_brute_force(documents, sequences, data):
    """Every (start, end) of whole words with no stop in between, without those inside another."""
    _, bounds = flat(sequences)
    n = int(bounds[-1])
    words, stops = (
        np.array(data.draw(st.lists(st.booleans(), min_size=n + 1, max_size=n + 1))) for _ in "ab"
    )
    words[bounds], stops[bounds] = True, True
    found = spans.within(longest(sequences, documents), bounds, words, stops)
    for i, sequence in enumerate(sequences):
        at = bounds[i]

        def fits(start, end, at=at):
            return (
                words[at + start] and words[at + end] and not stops[at + start + 1 : at + end].any()
            )

        assert of_each(found, bounds)[i] == maximal_spans(sequence, documents, fits)


@pytest.mark.parametrize("vocab_size", [4, 70_000])
@pytest.mark.parametrize("shards", [1, 3])
@settings(max_examples=20)
@given(data=st.data())
def test_spans_through_an_index(tmp_path_factory, vocab_size, shards, data):
    documents, sequences = data.draw(
        st.one_of(st.sampled_from(ADVERSARIAL), st.tuples(CORPUS, st.lists(TEXT, max_size=4)))
    )
    big = vocab_size - 4
    documents = [[big + token for token in document] for document in documents]
    sequences = [[big + token for token in sequence] for sequence in sequences]
    folder = tmp_path_factory.mktemp("spans") / "index"
    corpus = pd.DataFrame(
        {"document_id": [f"d{i}" for i in range(len(documents))], "token_ids": documents}
    )
    index.build(corpus, folder, vocab_size=vocab_size, shards=shards)
    opened = index.open_index(folder)
    _, bounds = flat(sequences)
    lengths = np.concatenate([np.empty(0, np.int64), *opened.longest_matches(sequences)])
    found = of_each(spans.maximal(lengths.astype(np.int64), bounds), bounds)
    assert found == [maximal_spans(s, documents) for s in sequences]
    for sequence, pairs in zip(sequences, found, strict=True):
        pieces = [sequence[a:b] for a, b in pairs]
        counted = opened.count_many(pieces).tolist()
        assert counted == [count(piece, documents) for piece in pieces]


@given(CORPUS, TEXT)
def test_the_union_of_two_maximal_spans_never_occurs(documents, sequence):
    """It would be a longer match: between maximal spans there is nothing to merge."""
    found = maximal_spans(sequence, documents)
    for (a, b), (c, d) in pairwise(found):
        assert not (c < b and occurs(sequence[a:d], documents))


def test_the_rarest_are_kept_to_the_twentieth_token():
    """60 tokens keep 3, though 0.05 * 60 is above 3 in floating point; 61 keep 4."""
    for n, kept in [(1, 1), (20, 1), (21, 2), (60, 3), (61, 4), (0, 0)]:
        starts = np.arange(0, n, 2)
        every = spans.Spans(np.zeros(len(starts), np.int64), starts, starts + 1)
        which = spans.rarest(every, -np.arange(len(starts), dtype=float), np.array([0, n]))
        assert which.sum() == min(kept, len(starts))
        assert which[len(starts) - which.sum() :].all()


def test_of_equally_rare_spans_the_first_are_kept():
    every = spans.Spans(
        np.repeat([0, 1], 5), np.tile(np.arange(5), 2) + 20 * np.repeat([0, 1], 5), np.arange(10)
    )
    which = spans.rarest(every, np.full(10, -3.0), np.array([0, 20, 60]))
    assert which.tolist() == [True, *[False] * 4, True, True, *[False] * 3]


def test_probabilities_of_long_spans_do_not_underflow():
    every = spans.Spans(np.zeros(2, np.int64), np.array([0, 0]), np.array([2000, 1999]))
    logs = spans.log_unigrams(every, np.full(2000, np.log(1e-6)))
    assert np.allclose(logs, [2000 * np.log(1e-6), 1999 * np.log(1e-6)], rtol=1e-12)
    assert logs[0] < logs[1]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(1, 6)), max_size=12))
def test_unions_cover_what_their_parts_cover(parts):
    parts = sorted(parts)
    bounds = np.array([0, 20, 40, 60])
    sequence, start, tokens = np.array(parts, np.int64).reshape(-1, 3).T
    every = spans.Spans(sequence, start + bounds[sequence], start + bounds[sequence] + tokens)
    joined = spans.unions(every)

    def edges_inside(group):
        """Places between two tokens of one span: they tell touching from overlapping."""
        return {
            place
            for a, b in zip(group.start.tolist(), group.end.tolist(), strict=True)
            for place in range(a + 1, b)
        }

    assert (joined.end[:-1] <= joined.start[1:]).all()
    assert edges_inside(every) == edges_inside(joined)
    assert len(joined) <= len(every)
