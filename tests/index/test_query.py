"""Every answer of an index against brute force, on small and mean corpora."""

from dataclasses import replace

import brute_force
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfoil.errors import InvalidIndex
from memfoil.index.files import map_shard, page_tables

# Ids whose order by value, by bytes, and by swapped bytes differ; the largest of either width.
TWO_BYTES = (65_535, (0, 1, 255, 256, 257, 511, 512, 65_534))
FOUR_BYTES = (2**24 + 2, (0, 1, 256, 65_535, 65_536, 65_537, 2**24, 2**24 + 1))
REPETITIVE = (3, (1, 2))
ALPHABETS = st.sampled_from([TWO_BYTES, FOUR_BYTES, REPETITIVE])


@st.composite
def corpora(draw):
    """(vocabulary size, documents, queries): some queries cut from the documents, some not."""
    vocab_size, alphabet = draw(ALPHABETS)
    ids = st.sampled_from(alphabet)
    documents = draw(st.lists(st.lists(ids, max_size=14), min_size=1, max_size=6))
    stretch = st.tuples(st.sampled_from(documents), st.integers(0, 13), st.integers(1, 14))
    cut = stretch.map(lambda s: s[0][s[1] : s[1] + s[2]]).filter(len)
    queries = draw(st.lists(st.one_of(cut, st.lists(ids, min_size=1, max_size=20)), max_size=12))
    return vocab_size, documents, queries


@given(corpora(), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_counts_places_and_longest_matches_are_those_of_brute_force(indexed, case, shards):
    vocab_size, documents, queries = case
    with indexed(documents, vocab_size=vocab_size, shards=shards) as index:
        assert index.n_documents == len(documents)
        assert index.n_tokens == sum(map(len, documents))
        counts = index.count_many(queries)
        matches = index.longest_matches(queries)
        for query, count, lengths in zip(queries, counts, matches, strict=True):
            expected = brute_force.places(documents, query)
            assert index.count(query) == count == len(expected)
            found = index.occurrences(query, limit=1000)
            assert [(place.document_id, place.start_token) for place in found] == [
                (f"doc {document}", start) for document, start in expected
            ]
            assert index.occurrences(query, limit=2) == found[:2]
            assert lengths.tolist() == brute_force.longest_matches(documents, query)
            for place in found:
                assert index.window(place, len(query)).tolist() == query
                assert index.place(place.document_id, place.start_token) == place


@given(corpora())
@settings(max_examples=30, deadline=None)
def test_every_document_comes_back_as_it_was(indexed, case):
    vocab_size, documents, _ = case
    with indexed(documents, vocab_size=vocab_size, shards=2) as index:
        for number, document in enumerate(documents):
            assert index.document(index.place(f"doc {number}")).tolist() == document


@pytest.mark.parametrize("shards", [1, 3])
def test_hundreds_of_sequences_side_by_side(indexed, shards):
    """More than are searched together, of very different lengths, many of them empty."""
    rng = np.random.default_rng(11)
    documents = [rng.integers(0, 3, n).tolist() for n in rng.integers(0, 30, 12)]
    sequences = [rng.integers(0, 4, n).tolist() for n in rng.choice([0, 0, 1, 2, 9, 40], 300)]
    sequences += [documents[3], documents[3] * 2, []]
    with indexed(documents, vocab_size=4, shards=shards) as index:
        for threads in (1, 2):
            found = replace(index, threads=threads).longest_matches(sequences)
            assert [lengths.tolist() for lengths in found] == [
                brute_force.longest_matches(documents, sequence) for sequence in sequences
            ]


def test_answers_do_not_change_when_files_are_mapped_anew(indexed, monkeypatch):
    """After every lookup of every shard, while threads go on reading."""
    rng = np.random.default_rng(12)
    documents = [rng.integers(0, 3, 30).tolist() for _ in range(9)]
    sequences = [rng.integers(0, 4, 20).tolist() for _ in range(100)]
    with indexed(documents, vocab_size=4, shards=3) as index:
        expected = [lengths.tolist() for lengths in index.longest_matches(sequences)]
        counts = index.count_many(sequences).tolist()
        reopened = []
        monkeypatch.setattr("memfoil.index.query.page_tables", lambda: 2 << 30)
        monkeypatch.setattr("memfoil.index.query.MANY_LOOKUPS", 0)
        original = type(index.shards[0]).reopen
        monkeypatch.setattr(
            type(index.shards[0]), "reopen", lambda s: (reopened.append(s.number), original(s))
        )
        assert [lengths.tolist() for lengths in index.longest_matches(sequences)] == expected
        assert index.count_many(sequences).tolist() == counts
        assert reopened == [0, 1, 2] * 6


@pytest.mark.skipif(not page_tables(), reason="the system does not tell the size of page tables")
def test_mapping_anew_gives_page_tables_back(tmp_path):
    """Two gigabytes of holes, read in 4,000 places far apart."""
    n = 1 << 28
    for name, size in {"tokenized.0": 2 * n, "table.0": 4 * n, "offset.0": 8}.items():
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    shard = map_shard(tmp_path, 0, np.dtype("<u2"))
    before = page_tables()
    for _ in range(3):
        assert shard.table[:: n // 1000].sum() == shard.tokens[:: n // 1000].sum() == 0
        assert page_tables() > before + (2 << 20)
        shard.reopen()
        assert page_tables() < before + (1 << 19)


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ('{"document_id": "a"}\n{"document_id": "b"}\n', ["b", "a", "b"]),
        ('{"document_id": "a"}\n{"path": "x"}\n', ["0:1", "a", "0:1"]),
        ('{"document_id": "a"}\n\n', ["0:1", "a", "0:1"]),
        ('{"document_id": 1},{"document_id": 2}\n{"document_id": 3}\n', ["3", "0:0", "3"]),
    ],
)
def test_documents_are_named_by_their_lines_of_metadata(indexed, lines, names):
    """As infini-gram or a person may have written them."""
    with indexed([[1], [2]], vocab_size=4) as index:
        starts = np.array([0, lines.index("\n") + 1], np.uint64)
        (shard,) = index.shards
        shard = replace(shard, metadata=np.frombuffer(lines.encode(), np.uint8), lines=starts)
        assert shard.document_ids(np.array([1, 0, 1])) == names


def test_nothing_matches_across_documents(indexed):
    with indexed([[1, 2], [3, 4], []], vocab_size=10) as index:
        assert index.count([1, 2]) == 1
        assert index.count([2, 3]) == 0
        assert index.longest_matches([[1, 2, 3, 4]])[0].tolist() == [2, 1, 2, 1]
        assert index.window(index.place("doc 0"), 4).tolist() == [1, 2]


def test_the_empty_sequence_occurs_at_every_token_and_separator(indexed):
    with indexed([[1, 2], [], [1]], vocab_size=10) as index:
        assert index.count([]) == 3 + 3
        assert index.longest_matches([[], [1]])[0].tolist() == []
        assert index.count_many([]).tolist() == []
        with pytest.raises(InvalidIndex, match="empty sequence"):
            index.occurrences([], limit=1)


def test_unigrams_count_every_id(indexed):
    with indexed([[1, 2, 2], [2, 9]], vocab_size=10, shards=2) as index:
        assert index.unigrams.tolist() == [0, 1, 3, 0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(("vocab_size", "bad"), [(10, 10), (10, -1), (65_535, 65_535)])
@pytest.mark.parametrize("query", ["count", "find", "longest_matches"])
def test_ids_outside_the_vocabulary_and_the_separator_are_refused(indexed, vocab_size, bad, query):
    with indexed([[1, 2], [3]], vocab_size=vocab_size) as index:
        sequence = [1, 2, bad]
        argument = [[1], sequence] if query == "longest_matches" else sequence
        with pytest.raises(InvalidIndex, match=f"token 2: id {bad} is not of"):
            getattr(index, query)(argument)


def test_a_document_that_is_not_there_is_refused(indexed):
    with (
        indexed([[1]], vocab_size=10) as index,
        pytest.raises(InvalidIndex, match="no document doc 1"),
    ):
        index.place("doc 1")


def test_threads_and_shards_do_not_change_an_answer(indexed):
    rng = np.random.default_rng(0)
    documents = [rng.integers(0, 5, rng.integers(0, 40)).tolist() for _ in range(60)]
    queries = [rng.integers(0, 5, 30).tolist() for _ in range(200)]
    answers = []
    for shards in (1, 2, 7):
        with indexed(documents, vocab_size=5, shards=shards) as index:
            assert len(index.shards) == shards
            lengths = np.concatenate(index.longest_matches(queries))
            pieces = [query[:3] for query in queries]
            places = [index.occurrences(piece, limit=5) for piece in pieces]
            named = [[(p.document_id, p.start_token) for p in found] for found in places]
            answers.append((lengths.tolist(), index.count_many(pieces).tolist(), named))
    assert answers[0] == answers[1] == answers[2]
