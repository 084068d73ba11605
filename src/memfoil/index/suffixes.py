"""The suffix array of a text of ids, sorted by several ids at a time.

First by one id, by counting. Then each bucket by its next ids, as many together as 64 bits hold,
again and again where suffixes still agree (Bentley and Sedgewick's multikey idea); few suffixes
that agree are compared directly. What agrees for very long is sorted by the ranks of what follows,
over twice the length with each round (Larsson and Sadakane 2007), so that no text is slow.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import numpy as np

from memfoil.index.kernel import compiled

ROUNDS = 8
"""So many times suffixes are sorted by their next ids, before ranks are used."""
FEW = 8
FAR = 8192
"""Ids after which the direct comparison of n suffixes gives up, times n squared."""
PATIENCE = 8
"""Ids compared further, per id of the text, before all suffixes are ranked for the sake of few."""
SMALL = 24
LARGE = 2048
DIGIT = 11
"""Bits that a pass of the radix sort tells apart."""


def suffix_array(tokens: np.ndarray, threads: int) -> np.ndarray:
    """Positions of all suffixes, in the order of their bytes.

    A suffix comes before those that it begins. Needs about 12 bytes of memory per id of two bytes,
    more where the text repeats itself at length.

    Parameters
    ----------
    tokens : (n,) uint16 or uint32

    Returns
    -------
    (n,) int32, or int64 where int32 is too small
    """
    swapped = tokens.byteswap()
    symbols, _ = counted(swapped)
    bits = len(symbols).bit_length()
    text = _ranked(swapped, symbols, np.empty(len(tokens), np.uint16 if bits <= 16 else np.uint32))
    del swapped
    small = len(text) < np.iinfo(np.int32).max
    suffixes = np.empty(len(text), np.int32 if small else np.int64)
    edges = np.linspace(0, len(text), threads + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(threads) as pool:
        starts = _bucket(text, len(symbols), suffixes, edges, pool)

    goals = np.linspace(0, len(text), 8 * threads + 1)
    cuts = np.unique(np.searchsorted(starts, goals))

    def part(first: int, last: int) -> np.ndarray:
        alike = np.empty(((starts[last] - starts[first]) // 2 + 1, 2), np.int64)
        return alike[: _sort_buckets(text, bits, suffixes, starts, first, last, alike)].copy()

    with ThreadPoolExecutor(threads) as pool:
        parts = pool.map(part, cuts[:-1], cuts[1:])
        alike = np.concatenate([np.empty((0, 2), np.int64), *parts])
        depth, far = 1 + ROUNDS * (64 // max(bits, 1)), 2 * FAR
        while len(alike) and len(alike) * far <= PATIENCE * len(text):
            alike, far = _sort_farther(text, suffixes, alike, depth, far), 2 * far
        if len(alike):
            rank = np.empty(len(text), suffixes.dtype)
            list(pool.map(partial(_rank, suffixes, rank), edges[:-1], edges[1:]))
            _refine(suffixes, rank, alike, depth)
    return suffixes


def counted(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ids that occur, in order, and how often each does."""
    if ids.itemsize > 2:
        return np.unique(ids, return_counts=True)
    counts = np.zeros(1 << 16, np.int64)
    _count(ids, counts)
    return np.flatnonzero(counts).astype(ids.dtype), counts[counts > 0]


@compiled
def _count(ids: np.ndarray, counts: np.ndarray) -> None:
    for id_ in ids:
        counts[id_] += 1


@compiled
def _ranked(swapped: np.ndarray, symbols: np.ndarray, text: np.ndarray) -> np.ndarray:
    """Each id as its rank among those present, from 1: then 0 is what lies behind the end."""
    if swapped.itemsize == 2:
        ranks = np.zeros(1 << 16, text.dtype)
        for k in range(symbols.size):
            ranks[symbols[k]] = k + 1
        for i in range(text.size):
            text[i] = ranks[swapped[i]]
    else:
        for i in range(text.size):
            text[i] = np.searchsorted(symbols, swapped[i]) + 1
    return text


def _bucket(
    text: np.ndarray,
    n_symbols: int,
    suffixes: np.ndarray,
    edges: list[int],
    pool: ThreadPoolExecutor,
) -> np.ndarray:
    """Sort by the first id; suffixes that begin with id s are then starts[s]..starts[s + 1]-1."""
    counts = np.zeros((len(edges) - 1, n_symbols + 1), np.int64)
    parts = [text[first:last] for first, last in pairwise(edges)]
    list(pool.map(_count, parts, counts))
    starts = np.append(0, np.cumsum(counts.sum(0)))
    free = starts[:-1] + np.cumsum(counts, axis=0) - counts
    list(pool.map(partial(_place, suffixes), parts, edges, free))
    return starts


@compiled
def _place(suffixes: np.ndarray, part: np.ndarray, first: int, free: np.ndarray) -> None:
    for i in range(part.size):
        suffixes[free[part[i]]] = first + i
        free[part[i]] += 1


@compiled
def _sort_buckets(
    text: np.ndarray,
    bits: int,
    suffixes: np.ndarray,
    starts: np.ndarray,
    first: int,
    last: int,
    alike: np.ndarray,
) -> int:
    """Sort the buckets of ids first..last-1; how many ranges went into `alike`.

    The suffixes of such a range agree in at least 1 + ROUNDS * (64 // bits) ids.
    """
    together = 64 // bits
    biggest = 0
    for s in range(first, last):
        biggest = max(biggest, starts[s + 1] - starts[s])
    keys, spare = np.empty(biggest, np.uint64), np.empty(biggest, np.uint64)
    spare_values = np.empty(biggest, suffixes.dtype)
    waiting = np.empty((biggest // 2 + 1, 3), np.int64)
    n_alike = 0
    for s in range(first, last):
        waiting[0, 0], waiting[0, 1], waiting[0, 2] = starts[s], starts[s + 1], 1
        n = 1 if starts[s + 1] - starts[s] > 1 else 0
        while n:
            n -= 1
            low, high, depth = waiting[n, 0], waiting[n, 1], waiting[n, 2]
            if high - low <= FEW:
                n_alike = _sort_few(text, suffixes, low, high, depth, FAR, alike, n_alike)
                continue
            if depth > ROUNDS * together:
                alike[n_alike, 0], alike[n_alike, 1] = low, high
                n_alike += 1
                continue
            _next_ids(text, bits, suffixes, low, high, depth, keys)
            _sort(keys, suffixes, low, high, spare, spare_values)
            begin = low
            for i in range(low + 1, high + 1):
                if i < high and keys[i - low] == keys[begin - low]:
                    continue
                if i - begin > 1:
                    waiting[n, 0], waiting[n, 1], waiting[n, 2] = begin, i, depth + together
                    n += 1
                begin = i
    return n_alike


@compiled
def _next_ids(
    text: np.ndarray,
    bits: int,
    suffixes: np.ndarray,
    low: int,
    high: int,
    depth: int,
    keys: np.ndarray,
) -> None:
    """As many ids as 64 bits hold, from `depth` on, of suffixes low..high-1."""
    for i in range(low, high):
        at = suffixes[i] + depth
        key = np.uint64(0)
        for k in range(at, at + 64 // bits):
            key <<= np.uint64(bits)
            if k < text.size:
                key |= np.uint64(text[k])
        keys[i - low] = key


@compiled
def _sort_few(
    text: np.ndarray,
    suffixes: np.ndarray,
    low: int,
    high: int,
    depth: int,
    far: int,
    alike: np.ndarray,
    n_alike: int,
) -> int:
    """Sort suffixes that agree in `depth` ids by comparing them."""
    far //= (high - low) ** 2
    for i in range(low + 1, high):
        suffix, j = suffixes[i], i
        while j > low and _compare(text, suffix + depth, suffixes[j - 1] + depth, far) < 0:
            suffixes[j] = suffixes[j - 1]
            j -= 1
        suffixes[j] = suffix
    begin = low
    for i in range(low + 1, high + 1):
        if i < high and _compare(text, suffixes[i - 1] + depth, suffixes[i] + depth, far) == 0:
            continue
        if i - begin > 1:
            alike[n_alike, 0], alike[n_alike, 1] = begin, i
            n_alike += 1
        begin = i
    return n_alike


@compiled
def _sort_farther(
    text: np.ndarray, suffixes: np.ndarray, alike: np.ndarray, depth: int, far: int
) -> np.ndarray:
    """Sort ranges that agree in `depth` ids by comparing further; what still agrees."""
    rest = np.empty((np.sum(alike[:, 1] - alike[:, 0]) // 2, 2), np.int64)
    n_rest = 0
    for low, high in alike:
        n_rest = _sort_few(text, suffixes, low, high, depth, far, rest, n_rest)
    return rest[:n_rest]


@compiled
def _compare(text: np.ndarray, a: int, b: int, far: int) -> int:
    """Negative if what starts at a comes before what starts at b; 0 if they agree for `far` ids."""
    most = min(far, text.size - a, text.size - b)
    for k in range(most):
        if text[a + k] != text[b + k]:
            return -1 if text[a + k] < text[b + k] else 1
    return 0 if most == far else b - a


@compiled
def _rank(suffixes: np.ndarray, rank: np.ndarray, first: int, last: int) -> None:
    for i in range(first, last):
        rank[suffixes[i]] = i


@compiled
def _refine(suffixes: np.ndarray, rank: np.ndarray, alike: np.ndarray, depth: int) -> None:
    """Sort ranges whose suffixes agree in `depth` ids by the ranks of what follows.

    The rank of a suffix is the first place of its range; with each round they tell twice as much.
    """
    biggest = 0
    for low, high in alike:
        biggest = max(biggest, high - low)
        for i in range(low, high):
            rank[suffixes[i]] = low
    keys, spare = np.empty(biggest, np.uint64), np.empty(biggest, np.uint64)
    spare_values = np.empty(biggest, suffixes.dtype)
    n, total = alike.shape[0], 0
    for low, high in alike:
        total += high - low
    current, following = np.empty((total // 2, 2), np.int64), np.empty((total // 2, 2), np.int64)
    current[:n] = alike
    while n:
        n_following = 0
        for low, high in current[:n]:
            for i in range(low, high):
                at = suffixes[i] + depth
                keys[i - low] = np.uint64(rank[at] + 1 if at < suffixes.size else 0)
            _sort(keys, suffixes, low, high, spare, spare_values)
            begin = low
            for i in range(low + 1, high + 1):
                if i < high and keys[i - low] == keys[begin - low]:
                    continue
                for k in range(begin, i):
                    rank[suffixes[k]] = begin
                if i - begin > 1:
                    following[n_following, 0], following[n_following, 1] = begin, i
                    n_following += 1
                begin = i
        current, following, n = following, current, n_following
        depth *= 2


@compiled
def _sort(
    keys: np.ndarray,
    values: np.ndarray,
    low: int,
    high: int,
    spare: np.ndarray,
    spare_values: np.ndarray,
) -> None:
    """Sort values[low:high] by keys[:high - low], and these with them."""
    n = high - low
    smallest, largest = keys[0], keys[0]
    for i in range(1, n):
        smallest, largest = min(smallest, keys[i]), max(largest, keys[i])
    if smallest == largest:
        return
    if n < LARGE:
        _quicksort(keys, values, low, n)
    else:
        _radix_sort(keys, values, low, n, smallest ^ largest, spare, spare_values)


@compiled
def _quicksort(keys: np.ndarray, values: np.ndarray, low: int, n: int) -> None:
    """Sort keys[:n], and values[low:low + n] with them."""
    # A stack and no recursion: numba crashes when it loads a recursive function from its cache.
    # The larger part waits, so that no more than log2(LARGE) of them do.
    waiting = np.empty((16, 2), np.int64)
    waiting[0, 0], waiting[0, 1] = 0, n
    n_waiting = 1
    while n_waiting:
        n_waiting -= 1
        first, last = waiting[n_waiting, 0], waiting[n_waiting, 1]
        while last - first > SMALL:
            a, b, c = keys[first], keys[(first + last) // 2], keys[last - 1]
            pivot = max(min(a, b), min(max(a, b), c))
            i, j = first, last - 1
            while i <= j:
                while keys[i] < pivot:
                    i += 1
                while keys[j] > pivot:
                    j -= 1
                if i <= j:
                    keys[i], keys[j] = keys[j], keys[i]
                    values[low + i], values[low + j] = values[low + j], values[low + i]
                    i, j = i + 1, j - 1
            if j + 1 - first < last - i:
                waiting[n_waiting, 0], waiting[n_waiting, 1] = i, last
                last = j + 1
            else:
                waiting[n_waiting, 0], waiting[n_waiting, 1] = first, j + 1
                first = i
            n_waiting += 1
        for i in range(first + 1, last):
            key, value, j = keys[i], values[low + i], i
            while j > first and keys[j - 1] > key:
                keys[j], values[low + j] = keys[j - 1], values[low + j - 1]
                j -= 1
            keys[j], values[low + j] = key, value


@compiled
def _radix_sort(
    keys: np.ndarray,
    values: np.ndarray,
    low: int,
    n: int,
    differing: int,
    spare: np.ndarray,
    spare_values: np.ndarray,
) -> None:
    """The same digit by digit, from the last; `differing` has no bit above those that differ."""
    counts = np.empty((1 << DIGIT) + 1, np.int64)
    here, there = keys[:n], spare[:n]
    values_here, values_there = values[low : low + n], spare_values[:n]
    mask, shift, passes = np.uint64((1 << DIGIT) - 1), np.uint64(0), 0
    while shift < 64 and differing >> shift:
        counts[:] = 0
        for i in range(n):
            counts[((here[i] >> shift) & mask) + np.uint64(1)] += 1
        for digit in range(1 << DIGIT):
            counts[digit + 1] += counts[digit]
        for i in range(n):
            digit = (here[i] >> shift) & mask
            there[counts[digit]], values_there[counts[digit]] = here[i], values_here[i]
            counts[digit] += 1
        here, there = there, here
        values_here, values_there = values_there, values_here
        shift += np.uint64(DIGIT)
        passes += 1
    if passes % 2:
        there[:] = here
        values_there[:] = values_here
