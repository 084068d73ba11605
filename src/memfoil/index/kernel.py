"""Compiled queries over the arrays of one shard: everything that numba sees, in one file.

numba keeps compiled code on disk and renews it when the file of a function changes, but not when
a function that it calls in another file does: what calls each other stays together here.

`tokens` are the ids of a shard with its separators, `table` the bytes of its suffix array,
`width` the bytes of one pointer. `queries` are many sequences end to end; sequence i is
`queries[bounds[i]:bounds[i + 1]]`. Each function answers for a slice of them and runs without
the interpreter lock, so that slices can share the cores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
from numba import njit

LANES = 32
"""Sequences searched side by side."""

Function = TypeVar("Function", bound=Callable)


def compiled(function: Function) -> Function:
    """Compile at the first call, keep the result on disk, release the interpreter lock."""
    return cast(Function, njit(nogil=True, cache=True)(function))


@compiled
def pointer(table: np.ndarray, width: int, rank: int) -> int:
    """Byte offset at which the suffix of a rank starts."""
    value = 0
    for k in range(width):
        value |= np.int64(table[rank * width + k]) << (8 * k)  # type: ignore[assignment]
    return value


@compiled
def position(tokens: np.ndarray, table: np.ndarray, width: int, rank: int) -> int:
    """Token at which the suffix of a rank starts."""
    return pointer(table, width, rank) >> (tokens.itemsize // 2)


@compiled
def below(a: int, b: int) -> bool:
    """Whether id a comes before a different id b: by their bytes, the lowest first."""
    x, y = np.int64(a), np.int64(b)
    while x & 255 == y & 255:
        x >>= 8
        y >>= 8
    return bool(x & 255 < y & 255)


@compiled
def agreement(
    tokens: np.ndarray, at: int, queries: np.ndarray, start: int, stop: int, known: int
) -> int:
    """Length of the longest prefix that the suffix at `at` shares with a query.

    `known` tokens are known to agree.
    """
    same = known
    most = min(stop - start, tokens.size - at)
    while same < most and tokens[at + same] == queries[start + same]:
        same += 1
    return same


@compiled
def insertion(
    tokens: np.ndarray, table: np.ndarray, width: int, queries: np.ndarray, start: int, stop: int
) -> tuple[int, int, int]:
    """Rank of the first suffix not below a query, and its agreement with both neighbours.

    The suffix with the longest common prefix is next to the insertion point, before it or
    behind it.
    """
    low, high = 0, tokens.size
    before, behind = 0, 0
    while low < high:
        middle = (low + high) // 2
        at = position(tokens, table, width, middle)
        same = agreement(tokens, at, queries, start, stop, min(before, behind))
        if same < stop - start and (
            at + same == tokens.size or below(tokens[at + same], queries[start + same])
        ):
            low, before = middle + 1, same
        else:
            high, behind = middle, same
    return low, before, behind


@compiled
def find(
    tokens: np.ndarray,
    table: np.ndarray,
    width: int,
    queries: np.ndarray,
    bounds: np.ndarray,
    first: int,
    last: int,
    low: np.ndarray,
    high: np.ndarray,
) -> None:
    """Ranks low <= r < high of the suffixes that start with each query, for first <= i < last."""
    for i in range(first, last):
        start, stop = bounds[i], bounds[i + 1]
        rank, _, behind = insertion(tokens, table, width, queries, start, stop)
        low[i] = rank
        inside, outside = rank - 1, tokens.size
        if behind < stop - start:
            outside = rank
        step = 1
        while inside + 1 < outside:
            middle = min(inside + step, (inside + outside) // 2)
            at = position(tokens, table, width, middle)
            if agreement(tokens, at, queries, start, stop, 0) == stop - start:
                inside, step = middle, 2 * step
            else:
                outside = middle
        high[i] = outside


@compiled
def longest_matches(
    tokens: np.ndarray,
    table: np.ndarray,
    width: int,
    queries: np.ndarray,
    bounds: np.ndarray,
    first: int,
    last: int,
    lengths: np.ndarray,
) -> None:
    """Length of the longest match that starts at each token of the sequences first..last-1.

    Where a match of length L starts, one of at least L - 1 starts at the next token; where that
    already reaches the sequence's end, there is nothing to look up.

    The search of `insertion`, for many sequences side by side, a step of each at a time: a step
    waits for memory twice, and so the processor fetches for all of them together.
    """
    start, stop = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    low, high = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    before, behind = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    at, fetched = np.empty(LANES, np.int64), np.empty(LANES, tokens.dtype)
    n, following = 0, first
    while n or following < last:
        while n < LANES and following < last:
            start[n], stop[n] = bounds[following], bounds[following + 1]
            low[n], high[n], before[n], behind[n] = 0, tokens.size, 0, 0
            n += start[n] < stop[n]
            following += 1
        for k in range(n):
            at[k] = position(tokens, table, width, (low[k] + high[k]) // 2)
        for k in range(n):
            fetched[k] = tokens[at[k]]
        k = 0
        while k < n:
            known = min(before[k], behind[k])
            same = agreement(tokens, at[k], queries, start[k], stop[k], known)
            end = at[k] + same
            if same < stop[k] - start[k] and (
                end == tokens.size or below(tokens[end], queries[start[k] + same])
            ):
                low[k], before[k] = (low[k] + high[k]) // 2 + 1, same
            else:
                high[k], behind[k] = (low[k] + high[k]) // 2, same
            if low[k] < high[k]:
                k += 1
                continue
            length = max(before[k], behind[k])
            reaches_end = start[k] + length == stop[k]
            lengths[start[k]] = length
            start[k] += 1
            while reaches_end and start[k] < stop[k]:
                length -= 1
                lengths[start[k]] = length
                start[k] += 1
            low[k], high[k], before[k], behind[k] = 0, tokens.size, 0, 0
            if start[k] < stop[k]:
                k += 1
            else:
                n -= 1
                start[k], stop[k], at[k] = start[n], stop[n], at[n]
                low[k], high[k], before[k], behind[k] = low[n], high[n], before[n], behind[n]


@compiled
def extension(
    tokens: np.ndarray,
    at: int,
    queries: np.ndarray,
    start: int,
    n: int,
    step: int,
    limit: int,
    row: np.ndarray,
) -> tuple[int, int, int]:
    """Least edit distance of n query tokens to a stretch of text that begins at `at`.

    Both are read in direction `step` (1 or -1), the text no further than its document goes.
    Returns the distance (limit + 1 if it is larger than the limit), and the lengths of the
    shortest and the longest stretch at this distance. The band of the dynamic program: row[b]
    is the distance between the first i query tokens and the first i + b - limit of the text.
    """
    separator = np.iinfo(tokens.dtype).max
    room = 0
    while room < n + limit:
        here = at + step * room
        if here < 0 or here >= tokens.size or tokens[here] == separator:
            break
        room += 1
    beyond, band = limit + 1, 2 * limit + 1
    for b in range(band):
        row[b] = b - limit if limit <= b <= limit + room else beyond
    for i in range(1, n + 1):
        token = queries[start + step * (i - 1)]
        least = beyond
        for b in range(band):
            j = i + b - limit
            cost = beyond
            if 0 <= j <= room:
                if b + 1 < band:
                    cost = min(cost, row[b + 1] + 1)
                if j > 0:
                    cost = min(cost, row[b] + (token != tokens[at + step * (j - 1)]))
                    if b > 0:
                        cost = min(cost, row[b - 1] + 1)
            row[b] = cost
            least = min(least, cost)
        if least > limit:
            return beyond, 0, 0
    distance, shortest, longest = beyond, 0, 0
    for b in range(band):
        if row[b] < distance:
            distance, shortest = row[b], n + b - limit
        if row[b] == distance:
            longest = n + b - limit
    return distance, shortest, longest


@compiled
def nearest(
    tokens: np.ndarray,
    table: np.ndarray,
    width: int,
    queries: np.ndarray,
    windows: np.ndarray,
    pieces: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    first: int,
    last: int,
    best: np.ndarray,
) -> None:
    """For each window the stretch of text with the least edit distance, then the first, shortest.

    `windows` and `pieces` are bounds in `queries`; each window consists of the same number of
    pieces, one more than the largest distance, so that one piece at least is untouched by so
    few edits. From each occurrence of a piece (ranks low..high-1) the window is aligned to both
    sides. best[i] = (distance, start, length) is written where something was found.
    """
    per_window = (pieces.size - 1) // (windows.size - 1)
    row = np.empty(2 * per_window, np.int64)
    for i in range(first, last):
        limit, found = per_window - 1, False
        for piece in range(i * per_window, (i + 1) * per_window):
            start, stop = pieces[piece], pieces[piece + 1]
            for rank in range(low[piece], high[piece]):
                at = position(tokens, table, width, rank)
                left, _, back = extension(
                    tokens, at - 1, queries, start - 1, start - windows[i], -1, limit, row
                )
                if left > limit:
                    continue
                end = at + stop - start
                right, ahead, _ = extension(
                    tokens, end, queries, stop, windows[i + 1] - stop, 1, limit - left, row
                )
                distance, begin, length = left + right, at - back, end + ahead - (at - back)
                if distance > limit:
                    continue
                if not found or (distance, begin, length) < (best[i, 0], best[i, 1], best[i, 2]):
                    best[i, 0], best[i, 1], best[i, 2] = distance, begin, length
                    limit, found = distance, True


@compiled
def sample_fault(
    tokens: np.ndarray, table: np.ndarray, width: int, ranks: np.ndarray, depth: int
) -> int:
    """First of the ranks whose pointer names no token, or whose suffix is not below the next.

    At most `depth` tokens of two suffixes are compared. -1 if there is no fault.
    """
    size = tokens.size * tokens.itemsize
    for rank in ranks:
        a, b = pointer(table, width, rank), pointer(table, width, min(rank + 1, tokens.size - 1))
        if a >= size or b >= size or a % tokens.itemsize or b % tokens.itemsize:
            return rank
        if rank + 1 == tokens.size:
            continue
        a, b = a // tokens.itemsize, b // tokens.itemsize
        same = agreement(tokens, a, tokens, b, min(b + depth, tokens.size), 0)
        if a == b or b + same == tokens.size:
            return rank
        if same < depth and a + same < tokens.size and below(tokens[b + same], tokens[a + same]):
            return rank
    return -1


@compiled
def order_fault(
    tokens: np.ndarray,
    table: np.ndarray,
    width: int,
    first: int,
    last: int,
    patience: int,
    depth: int,
    undecided: np.ndarray,
) -> tuple[int, int]:
    """First of the ranks first..last-1 with a false pointer, or above the next rank's suffix.

    Once `patience` tokens per rank have been compared, ranks whose suffix agrees with the next for
    `depth` tokens go into `undecided`. Returns the rank, -1 if there is none, and how many are
    undecided.
    """
    at, fetched = np.empty(LANES + 1, np.int64), np.empty(LANES + 1, tokens.dtype)
    n, compared = 0, 0
    for begin in range(first, last, LANES):
        end = min(begin + LANES, last, tokens.size - 1)
        for rank in range(begin, min(begin + LANES + 1, last + 1, tokens.size)):
            pointed = pointer(table, width, rank)
            if pointed % tokens.itemsize or pointed >= tokens.size * tokens.itemsize:
                return rank, n
            at[rank - begin] = pointed >> (tokens.itemsize // 2)
        for k in range(end - begin + 1):  # for all together: a comparison waits for its tokens
            fetched[k] = tokens[at[k]]
        for rank in range(begin, end):
            a, b = at[rank - begin], at[rank - begin + 1]
            limit = depth if compared >= patience * (last - first) else tokens.size
            same = agreement(tokens, a, tokens, b, min(b + limit, tokens.size), 0)
            compared += same
            if a == b or b + same == tokens.size:
                return rank, n
            if same == limit:
                undecided[n] = rank
                n += 1
            elif a + same < tokens.size and below(tokens[b + same], tokens[a + same]):
                return rank, n
    return -1, n


@compiled
def place(
    tokens: np.ndarray, table: np.ndarray, width: int, first: int, last: int, rank_of: np.ndarray
) -> None:
    """The ranks first..last-1 at the tokens where their suffixes start."""
    for rank in range(first, last):
        rank_of[position(tokens, table, width, rank)] = rank


@compiled
def rank_fault(
    tokens: np.ndarray, table: np.ndarray, width: int, undecided: np.ndarray, rank_of: np.ndarray
) -> int:
    """First of the undecided ranks whose suffix is above the next, -1 if there is none.

    Two suffixes that start with the same token are in order if those behind them are; it is enough
    that this holds for every pair of neighbours that was not compared to its end.
    """
    for rank in undecided:
        a = position(tokens, table, width, rank)
        b = position(tokens, table, width, rank + 1)
        if a + 1 < tokens.size and (b + 1 == tokens.size or rank_of[a + 1] > rank_of[b + 1]):
            return rank
    return -1
