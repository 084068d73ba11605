"""Whether a window holds the whole generation, token by token or in its normal form."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

from memfoil.index.kernel import compiled
from memfoil.index.query import Batch
from memfoil.index.windows import Windows
from memfoil.tracing.texts import normalized
from memfoil.tracing.words import Reader


def holds(windows: Windows, sequence: np.ndarray, generations: Batch) -> np.ndarray:
    """Whether each window holds the generation `sequence[i]`, token by token; (n,) bool."""
    found = np.zeros(len(windows), bool)
    _search(
        *(generations.ids.astype(np.int32), generations.bounds),
        *(windows.ids, windows.bounds, sequence, found),
    )
    return found


def holds_normalized(
    windows: Windows, sequence: np.ndarray, generations: Batch, reader: Reader
) -> np.ndarray:
    """The same after NFKC and with every run of white space as one space.

    The visible ASCII characters are compared first, compiled: where these do not agree, nothing
    does. What passes is decoded and compared in full.
    """
    needles = _visible(generations.ids, generations.bounds, reader.pieces)
    texts = _visible(windows.ids, windows.bounds, reader.pieces)
    found = np.zeros(len(windows), bool)
    _search(*needles, *texts, sequence, found)
    for i in np.flatnonzero(found).tolist():
        start, stop = generations.bounds[sequence[i] : sequence[i] + 2]
        window = windows.ids[windows.bounds[i] : windows.bounds[i + 1]]
        needle, text = reader.texts([generations.ids[start:stop], window])
        found[i] = normalized(needle) in normalized(text)
    return found


def _visible(
    ids: np.ndarray, bounds: np.ndarray, pieces: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Sequences of ids as their visible ASCII characters, end to end, with new bounds.

    Of the decomposed form (NFKD): it is made of each character alone, so it can be put together
    from tokens.
    """
    used, number = np.unique(ids, return_inverse=True)
    parts = [
        "".join(unicodedata.normalize("NFKD", pieces[id_]).split()).encode("ascii", "ignore")
        for id_ in used.tolist()
    ]
    lengths = np.array([len(part) for part in parts], np.int64)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(ends)[number])])
    text = np.empty(before[-1], np.uint8)
    _spell(np.frombuffer(b"".join(parts), np.uint8), ends, number, text)
    return text, before[bounds]


@compiled
def _spell(parts: np.ndarray, ends: np.ndarray, number: np.ndarray, text: np.ndarray) -> None:
    at = 0
    for k in number:
        for i in range(ends[k], ends[k + 1]):
            text[at] = parts[i]
            at += 1


@compiled
def _search(
    needles: np.ndarray,
    needle_bounds: np.ndarray,
    texts: np.ndarray,
    text_bounds: np.ndarray,
    which: np.ndarray,
    found: np.ndarray,
) -> None:
    """found[i]: text i holds needle which[i]."""
    for i in range(which.size):
        first, n = needle_bounds[which[i]], needle_bounds[which[i] + 1] - needle_bounds[which[i]]
        for start in range(text_bounds[i], text_bounds[i + 1] - n + 1):
            same = 0
            while same < n and texts[start + same] == needles[first + same]:
                same += 1
            if same == n:
                found[i] = True
                break
