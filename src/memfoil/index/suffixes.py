"""The suffix array of a text of ids, sorted by several ids at a time.

First by one id, by counting. Then each bucket by its next ids, as many together as 64 bits hold,
again and again where suffixes still agree (Bentley and Sedgewick's multikey idea); few suffixes
that agree are compared directly. What agrees for very long is sorted by the ranks of what follows,
over twice the length with each round (Larsson and Sadakane 2007), so that no text is slow.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from memfoil.index.kernel import compiled

ROUNDS = 8
"""So many times suffixes are sorted by their next ids, before ranks are used."""
FEW = 8
FAR = 8192
"""Ids after which the direct comparison of n suffixes gives up, times n squared."""
SMALL = 24
LARGE = 2048


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
    symbols = _symbols(swapped)
    bits = len(symbols).bit_length()
    text = _ranked(swapped, symbols, np.empty(len(tokens), np.uint16 if bits <= 16 else np.uint32))
    del swapped
    small = len(text) < np.iinfo(np.int32).max
    suffixes = np.empty(len(text), np.int32 if small else np.int64)
    starts = np.zeros(len(symbols) + 2, np.int64)
    _bucket(text, suffixes, starts)

    goals = np.linspace(0, len(text), 8 * threads + 1)
    cuts = np.unique(np.searchsorted(starts, goals))

    def part(first: int, last: int) -> np.ndarray:
        alike = np.empty(((starts[last] - starts[first]) // 2 + 1, 2), np.int64)
        return alike[: _sort_buckets(text, bits, suffixes, starts, first, last, alike)].copy()

    with ThreadPoolExecutor(threads) as pool:
        parts = pool.map(part, cuts[:-1], cuts[1:])
        alike = np.concatenate([np.empty((0, 2), np.int64), *parts])
    if len(alike):
        rank = np.empty(len(text), suffixes.dtype)
        _refine(suffixes, rank, alike, 1 + ROUNDS * (64 // bits))
    return suffixes


def _symbols(swapped: np.ndarray) -> np.ndarray:
    """The ids that occur, in order."""
    if swapped.itemsize > 2:
        return np.unique(swapped)
    occurs = np.zeros(1 << 16, np.bool_)
    _mark(swapped, occurs)
    return np.flatnonzero(occurs).astype(swapped.dtype)


@compiled
def _mark(ids: np.ndarray, occurs: np.ndarray) -> None:
    for id_ in ids:
        occurs[id_] = True


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


@compiled
def _bucket(text: np.ndarray, suffixes: np.ndarray, starts: np.ndarray) -> None:
    """Sort by the first id; suffixes that begin with id s are then starts[s]..starts[s + 1]-1."""
    for s in text:
        starts[s + 1] += 1
    for s in range(starts.size - 1):
        starts[s + 1] += starts[s]
    free = starts.copy()
    for position in range(text.size):
        suffixes[free[text[position]]] = position
        free[text[position]] += 1


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
                n_alike = _sort_few(text, suffixes, low, high, depth, alike, n_alike)
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
    alike: np.ndarray,
    n_alike: int,
) -> int:
    """Sort suffixes that agree in `depth` ids by comparing them."""
    far = FAR // (high - low) ** 2
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
def _compare(text: np.ndarray, a: int, b: int, far: int) -> int:
    """Negative if what starts at a comes before what starts at b; 0 if they agree for `far` ids."""
    most = min(far, text.size - a, text.size - b)
    for k in range(most):
        if text[a + k] != text[b + k]:
            return -1 if text[a + k] < text[b + k] else 1
    return 0 if most == far else b - a


@compiled
def _refine(suffixes: np.ndarray, rank: np.ndarray, alike: np.ndarray, depth: int) -> None:
    """Sort ranges whose suffixes agree in `depth` ids by the ranks of what follows.

    The rank of a suffix is the first place of its range; with each round they tell twice as much.
    """
    for i in range(suffixes.size):
        rank[suffixes[i]] = i
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
    """The same byte by byte, from the last; `differing` has no bit above those that differ."""
    counts = np.empty(257, np.int64)
    here, there = keys[:n], spare[:n]
    values_here, values_there = values[low : low + n], spare_values[:n]
    shift, passes = np.uint64(0), 0
    while shift < 64 and differing >> shift:
        counts[:] = 0
        for i in range(n):
            counts[((here[i] >> shift) & np.uint64(255)) + np.uint64(1)] += 1
        for digit in range(256):
            counts[digit + 1] += counts[digit]
        for i in range(n):
            digit = (here[i] >> shift) & np.uint64(255)
            there[counts[digit]], values_there[counts[digit]] = here[i], values_here[i]
            counts[digit] += 1
        here, there = there, here
        values_here, values_there = values_there, values_here
        shift += np.uint64(8)
        passes += 1
    if passes % 2:
        there[:] = here
        values_there[:] = values_here
