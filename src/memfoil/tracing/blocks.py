"""Matching blocks of two word sequences, as Python's difflib finds them, compiled.

Ratcliff and Obershelp's scheme: the longest common block, of several the one that starts first in
a, then first in b; then the same to its left and to its right. The result is exactly that of
`difflib.SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()` without its sentinel.
"""

from __future__ import annotations

import numpy as np

from memfoil.index.kernel import compiled


@compiled
def matching_blocks(a: np.ndarray, b: np.ndarray, n_words: int) -> np.ndarray:
    """Blocks that a and b share, in order.

    Parameters
    ----------
    a, b : int64 arrays
        Words as numbers 0..n_words-1.

    Returns
    -------
    (n, 3) int64
        Start in a, start in b, length; blocks that touch in both are one.
    """
    # A stretch whose end in a is -1 is a block: what waits behind it lies to its right.
    places, first = _places(b, n_words)
    here, above = np.zeros(b.size + 1, np.int64), np.zeros(b.size + 1, np.int64)
    waiting = np.empty((2 * min(a.size, b.size) + 3, 4), np.int64)
    blocks = np.empty((min(a.size, b.size), 3), np.int64)
    waiting[0] = 0, a.size, 0, b.size
    n_waiting, n = 1, 0
    while n_waiting:
        n_waiting -= 1
        a_low, a_high, b_low, b_high = waiting[n_waiting]
        if a_high < 0:
            n = _append(blocks, n, a_low, b_low, b_high)
            continue
        start_a, start_b, length = _longest(
            a, places, first, here, above, a_low, a_high, b_low, b_high
        )
        if length:
            waiting[n_waiting] = start_a + length, a_high, start_b + length, b_high
            waiting[n_waiting + 1] = start_a, -1, start_b, length
            waiting[n_waiting + 2] = a_low, start_a, b_low, start_b
            n_waiting += 3
    return blocks[:n]


@compiled
def _append(blocks: np.ndarray, n: int, start_a: int, start_b: int, length: int) -> int:
    """Put a block behind the others, or make the last longer if it touches it in both texts."""
    if n:
        last = blocks[n - 1]
        if last[0] + last[2] == start_a and last[1] + last[2] == start_b:
            last[2] += length
            return n
    blocks[n] = start_a, start_b, length
    return n + 1


@compiled
def _places(b: np.ndarray, n_words: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each word stands in b: word w at places[first[w]:first[w + 1]], rising."""
    first = np.zeros(n_words + 1, np.int64)
    for word in b:
        first[word + 1] += 1
    for word in range(n_words):
        first[word + 1] += first[word]
    free = first.copy()
    places = np.empty(b.size, np.int64)
    for j in range(b.size):
        places[free[b[j]]] = j
        free[b[j]] += 1
    return places, first


@compiled
def _longest(
    a: np.ndarray,
    places: np.ndarray,
    first: np.ndarray,
    here: np.ndarray,
    above: np.ndarray,
    a_low: int,
    a_high: int,
    b_low: int,
    b_high: int,
) -> tuple[int, int, int]:
    """The longest common block inside a[a_low:a_high], b[b_low:b_high].

    `here[j + 1]` is the length of the block that ends at the current word of a and at b[j],
    `above` the same for the word before; both are zeros between calls.
    """
    best_a, best_b, best = a_low, b_low, 0
    for i in range(a_low, a_high):
        for k in range(first[a[i]], first[a[i] + 1]):
            j = places[k]
            if j < b_low:
                continue
            if j >= b_high:
                break
            length = above[j] + 1
            here[j + 1] = length
            if length > best:
                best_a, best_b, best = i - length + 1, j - length + 1, length
        if i > a_low:
            _clear(above, places, first, a[i - 1])
        here, above = above, here
    if a_high > a_low:
        _clear(above, places, first, a[a_high - 1])
    return best_a, best_b, best


@compiled
def _clear(row: np.ndarray, places: np.ndarray, first: np.ndarray, word: int) -> None:
    for k in range(first[word], first[word + 1]):
        row[places[k] + 1] = 0


@compiled
def merged(blocks: np.ndarray, gap: int, difference: int, keep: int) -> np.ndarray:
    """Join neighbouring blocks over small gaps, then drop what is still short.

    Parameters
    ----------
    blocks : (n, 5) int64
        Start and end in a, start and end in b, matched words; in order.
    gap, difference, keep : int
        In hundredths of a word: two blocks are joined where both gaps between them are at most
        `gap` and differ by at most `difference`; a block stays if it matches at least `keep`.
    """
    result = np.empty_like(blocks)
    n = 0
    for block in blocks:
        if n:
            last = result[n - 1]
            gap_a, gap_b = block[0] - last[1], block[2] - last[3]
            if 100 * max(gap_a, gap_b) <= gap and 100 * abs(gap_a - gap_b) <= difference:
                last[1], last[3] = block[1], block[3]
                last[4] += block[4]
                continue
        result[n] = block
        n += 1
    kept = 0
    for i in range(n):
        if 100 * result[i, 4] >= keep:
            result[kept] = result[i]
            kept += 1
    return result[:kept]
