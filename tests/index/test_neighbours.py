"""Near-duplicates against brute force: every stretch of every document is compared."""

import brute_force
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfoil.errors import InvalidIndex
from memfoil.index import neighbours

EVERYTHING = 10**9


@st.composite
def cases(draw):
    """(documents, windows, distance): windows are stretches of documents after a few edits."""
    ids = st.sampled_from(draw(st.sampled_from([(1, 256), (0, 1, 2, 256, 257)])))
    documents = draw(st.lists(st.lists(ids, max_size=20), min_size=1, max_size=4))
    max_distance = draw(st.integers(0, 3))
    windows = draw(st.lists(st.lists(ids, min_size=4, max_size=14), max_size=3))
    for document in documents:
        start, length = draw(st.integers(0, 10)), draw(st.integers(4, 14))
        window = document[start : start + length]
        for _ in range(draw(st.integers(0, 4))):
            place = draw(st.integers(0, len(window)))
            window[place : place + draw(st.integers(0, 1))] = draw(st.lists(ids, max_size=1))
        if len(window) > max_distance:
            windows.append(window)
    return documents, windows, max_distance


@given(cases(), st.integers(1, 2))
@settings(max_examples=60, deadline=None)
def test_the_nearest_stretch_is_that_of_brute_force(indexed, case, shards):
    documents, windows, max_distance = case
    with indexed(documents, vocab_size=300, shards=shards) as index:
        found = neighbours(windows, index, max_distance=max_distance, max_piece_count=EVERYTHING)
        for window, neighbour in zip(windows, found, strict=True):
            expected = brute_force.nearest(documents, window, max_distance)
            assert neighbour.skipped_pieces == 0
            if expected is None:
                assert (neighbour.distance, neighbour.place) == (None, None)
                continue
            distance, document, start, length = expected
            assert neighbour.distance == distance
            assert neighbour.place == index.place(f"doc {document}", start)
            assert neighbour.n_tokens == length


def test_long_windows_after_few_edits_are_all_found(indexed):
    rng = np.random.default_rng(1)
    documents = [rng.integers(0, 2000, 500).tolist() for _ in range(20)]
    windows = []
    for _ in range(300):
        start = rng.integers(0, 440)
        window = documents[rng.integers(0, 20)][start : start + 50]
        for place in rng.choice(40, 3, replace=False):
            edits = {0: [2000], 1: [], 2: [2000, window[place]]}
            window[place : place + 1] = edits[int(rng.integers(0, 3))]
        windows.append(window)
    with indexed(documents, vocab_size=2001) as index:
        found = neighbours(windows, index, max_distance=3, max_piece_count=EVERYTHING)
        assert all(neighbour.distance is not None for neighbour in found)
        closer = neighbours(windows, index, max_distance=2, max_piece_count=EVERYTHING)
        for near, nearer in zip(found, closer, strict=True):
            assert nearer.distance == (near.distance if near.distance <= 2 else None)


def test_frequent_pieces_are_skipped_and_counted_over_all_shards(indexed):
    documents = [[1, 2, 3, 4, 5, 6]] * 6
    for shards in (1, 3):
        with indexed(documents, vocab_size=10, shards=shards) as index:
            window = [1, 2, 3, 4, 5, 9]
            (kept,) = neighbours([window], index, max_distance=1, max_piece_count=6)
            assert (kept.distance, kept.skipped_pieces) == (1, 0)
            (skipped,) = neighbours([window], index, max_distance=1, max_piece_count=5)
            assert (skipped.distance, skipped.skipped_pieces) == (None, 1)


def test_a_window_that_occurs_as_it_stands_is_found_however_frequent(indexed):
    with indexed([[7] + [1] * 500, [1] * 3], vocab_size=10) as index:
        (found,) = neighbours([[1, 1, 1]], index, max_distance=1, max_piece_count=1)
        assert (found.distance, found.skipped_pieces) == (0, 0)
        assert found.place == index.place("doc 0", 1)


def test_a_window_too_short_for_the_distance_is_refused(indexed):
    with (
        indexed([[1, 2, 3]], vocab_size=10) as index,
        pytest.raises(InvalidIndex, match="sequence 1: a window of 2 tokens is too short"),
    ):
        neighbours([[1, 2, 3], [1, 2]], index, max_distance=2, max_piece_count=1)
