"""The suffix array against sorting all suffixes, and against another implementation."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydivsufsort import divsufsort

from memfoil.index.suffixes import FAR, FEW, suffix_array

# Ids whose order by value and by bytes differ; the separators; few ids, so that much repeats.
TWO_BYTES = st.lists(st.sampled_from([0, 1, 255, 256, 257, 65_534, 65_535]), max_size=60)
FOUR_BYTES = st.lists(st.sampled_from([0, 1, 256, 65_536, 2**24, 2**32 - 1]), max_size=60)
REPEATED = st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=5), st.integers(1, 60))


def by_sorting(tokens):
    raw = tokens.tobytes()
    size = tokens.itemsize
    return sorted(range(len(tokens)), key=lambda i: raw[i * size :])


def by_bytes(tokens):
    found = divsufsort(tokens.view(np.uint8)).astype(np.int64)
    return found[found % tokens.itemsize == 0] // tokens.itemsize


@settings(max_examples=60, deadline=None)
@given(TWO_BYTES, st.integers(1, 3))
@example([], 1)
@example([65_535], 2)
def test_ids_of_two_bytes(ids, threads):
    tokens = np.array(ids, "<u2")
    assert suffix_array(tokens, threads).tolist() == by_sorting(tokens)


@settings(max_examples=60, deadline=None)
@given(FOUR_BYTES)
def test_ids_of_four_bytes(ids):
    tokens = np.array(ids, "<u4")
    assert suffix_array(tokens, 2).tolist() == by_sorting(tokens)


@settings(max_examples=60, deadline=None)
@given(REPEATED)
def test_texts_that_repeat_themselves(repeated):
    unit, times = repeated
    tokens = np.array(unit * times, "<u2")
    assert suffix_array(tokens, 2).tolist() == by_sorting(tokens)


def texts():
    rng = np.random.default_rng(0)
    zipf = (1 / np.arange(1, 3001)) / (1 / np.arange(1, 3001)).sum()
    natural = rng.choice(3000, 60_000, p=zipf)
    document = rng.integers(0, 40_000, FAR // 6)
    return {
        "natural": natural,
        "all one id": np.zeros(30_000, np.int64),
        "two ids": rng.integers(0, 2, 30_000),
        "every id": rng.permutation(np.repeat(np.arange(65_536), 2)),
        "a period": np.tile(np.arange(700), 60),
        "as few copies as are compared": np.concatenate([document] * FEW),
        "more copies": np.concatenate([document] * (3 * FEW)),
        "copies that end apart": np.concatenate([[*document, i] for i in range(3 * FEW)]),
        "copies inside a text": np.concatenate([natural[:20_000], *[natural[500:1500]] * 20]),
        "a doubled text": np.concatenate([natural, natural]),
    }


@pytest.mark.parametrize("name", texts())
@pytest.mark.parametrize("dtype", ["<u2", "<u4"])
def test_long_and_adversarial_texts(name, dtype):
    tokens = texts()[name].astype(dtype)
    expected = by_bytes(tokens)
    for threads in (1, 3):
        found = suffix_array(tokens, threads)
        assert found.dtype == np.int32
        assert np.array_equal(found, expected)


@pytest.mark.slow
def test_what_was_compiled_before_works_in_a_new_process():
    """numba crashes when it loads a recursive function that it compiled in an earlier process."""
    code = (
        "import numpy as np; from memfoil.index.suffixes import suffix_array;"
        "tokens = np.random.default_rng(0).integers(0, 9, 5000).astype('<u2');"
        "print(suffix_array(tokens, 2).sum())"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert int(done.stdout) == 5000 * 4999 // 2
