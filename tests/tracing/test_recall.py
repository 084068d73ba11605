"""Near-verbatim recall against difflib and on examples worked by hand."""

import difflib

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memfoil.tracing import recall
from memfoil.tracing.blocks import matching_blocks

WORDS = st.lists(st.integers(0, 4), max_size=40)


def by_difflib(a, b):
    blocks = difflib.SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return [tuple(block) for block in blocks[:-1]]


def blocks_of(a, b):
    found = matching_blocks(np.array(a, np.int64), np.array(b, np.int64), 5)
    return [tuple(row) for row in found.tolist()]


@given(WORDS, WORDS)
@example([0, 1, 0, 1, 2], [0, 1, 2, 0, 1])
@example([1] * 12, [1] * 300)
def test_blocks_are_those_of_difflib(a, b):
    assert blocks_of(a, b) == by_difflib(a, b)


def test_blocks_are_those_of_difflib_on_long_texts():
    """Where autojunk would have thrown the frequent words away."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 5, 180).tolist()
    b = [*rng.integers(0, 5, 500).tolist(), *a[40:110], *rng.integers(0, 5, 300).tolist()]
    assert blocks_of(a, b) == by_difflib(a, b)


def words(*parts):
    """`(name, n)` is n words that occur nowhere else."""
    return [f"{name}{i}" for name, n in parts for i in range(n)]


def test_verbatim_text_is_recalled_whole():
    reference = words(("a", 120))
    assert recall.near_verbatim_recall(reference, ["x", *reference, "y"]) == 1.0


def test_blocks_below_the_last_minimum_do_not_count():
    """99 words in one piece: kept by the first pass (20), dropped by the second (100)."""
    reference = words(("a", 200))
    assert recall.near_verbatim_recall(reference, reference[:99]) == 0.0
    assert recall.near_verbatim_recall(reference, reference[:100]) == 0.5


def test_two_substituted_words_do_not_break_a_block():
    reference = words(("a", 60), ("b", 2), ("c", 60))
    text = words(("a", 60), ("x", 2), ("c", 60))
    assert recall.near_verbatim_recall(reference, text) == 120 / 122


def test_the_second_pass_joins_what_the_first_could_not():
    """A gap of 10 words on both sides: two pieces of 60 after pass 1, one of 120 after pass 2."""
    reference = words(("a", 60), ("b", 10), ("c", 60))
    assert (
        recall.near_verbatim_recall(reference, words(("a", 60), ("x", 10), ("c", 60))) == 120 / 130
    )
    assert (
        recall.near_verbatim_recall(reference, words(("a", 60), ("x", 7), ("c", 60))) == 120 / 130
    )
    assert recall.near_verbatim_recall(reference, words(("a", 60), ("x", 6), ("c", 60))) == 0.0
    assert recall.near_verbatim_recall(reference, words(("a", 60), ("x", 11), ("c", 60))) == 0.0


def test_short_pieces_are_dropped_before_the_second_pass_can_join_them():
    reference = words(("a", 19), ("b", 5), ("c", 100))
    text = words(("a", 19), ("x", 5), ("c", 100))
    assert recall.near_verbatim_recall(reference, text) == 100 / 124


def test_matched_words_are_counted_in_order_only():
    reference = words(("a", 100), ("b", 120))
    swapped = words(("b", 120), ("a", 100))
    assert recall.near_verbatim_recall(reference, swapped) == 120 / 220


@pytest.mark.parametrize(
    ("n_words", "first", "second"),
    [
        (10, (100, 100, 200), (200, 100, 400)),
        (100, (200, 100, 1500), (800, 300, 3500)),
        (133, (266, 133, 1995), (1064, 399, 4655)),
        (1000, (600, 300, 2000), (1200, 500, 10000)),
    ],
)
def test_adaptive_bounds(n_words, first, second):
    assert recall.adaptive_passes(n_words) == (recall.Pass(*first), recall.Pass(*second))


def test_adaptive_recall_worked_by_hand():
    """20 words: pass 1 wants 3 matched words, gaps of 1; pass 2 wants 7, gaps of 2."""
    generation = words(("a", 8), ("b", 2), ("c", 4), ("d", 6))
    document = words(("z", 50), ("a", 8), ("x", 2), ("c", 4), ("y", 3), ("d", 2))
    assert recall.adaptive_recall(" ".join(generation), " ".join(document)) == 12 / 20


def test_minimum_is_not_rounded():
    """22 words: pass 2 wants 7.7 of them, so 7 are too few."""
    generation = words(("a", 22))
    assert recall.adaptive_recall(" ".join(generation), " ".join(generation[:7])) == 0.0
    assert recall.adaptive_recall(" ".join(generation), " ".join(generation[:8])) == 8 / 22


def test_nothing_recalls_nothing():
    assert recall.adaptive_recall("", "some words") == 0.0
    assert recall.adaptive_recall("some words", "") == 0.0


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=60), st.data())
def test_recall_is_a_share_and_whole_for_a_copy(reference, data):
    text = data.draw(st.lists(st.sampled_from("abcde"), max_size=60))
    passes = recall.adaptive_passes(len(reference))
    assert 0 <= recall.near_verbatim_recall(reference, text, passes) <= 1
    if len(reference) >= 4:
        assert recall.near_verbatim_recall(reference, reference, passes) == 1
