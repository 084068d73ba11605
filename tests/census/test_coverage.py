"""Heat and coverage against a computation character by character."""

import math
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memfoil.census.coverage import heat, runs

LENGTH = 40
SPANS = st.tuples(
    st.integers(0, LENGTH - 1),
    st.integers(1, 15),
    st.sampled_from([-math.inf, -30.0, -20.0, -10.0, -5.0, 0.0]),
)


@given(st.lists(SPANS, max_size=25))
def test_each_character_has_the_best_of_the_suffixes_that_hold_it(spans):
    starts = np.array([start for start, _, _ in spans], np.int64)
    ends = np.array([min(start + n, LENGTH) for start, n, _ in spans], np.int64)
    scores = np.array([score for _, _, score in spans], np.float64)
    found = heat(starts, ends, scores, LENGTH)
    for char in range(LENGTH):
        over = [row for row in range(len(spans)) if starts[row] <= char < ends[row]]
        if over:
            best = max(over, key=lambda row: (scores[row], -row))
            assert (found.row[char], found.log_score[char]) == (best, scores[best])
        else:
            assert found.row[char] == -1
            assert math.isnan(found.log_score[char])


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=30))
def test_runs_are_the_longest_stretches_of_one_window(rows):
    edges = runs(np.array(rows)).tolist()
    pieces = [rows[a:b] for a, b in pairwise(edges)]
    assert [row for piece in pieces for row in piece] == rows
    assert all(len(set(piece)) == 1 for piece in pieces)
    assert all(a[0] != b[0] for a, b in pairwise(pieces))
