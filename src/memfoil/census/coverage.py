"""Characters of a text and the suffixes that cover them.

Source: Cooper et al. 2026, section 5 and appendix E.2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Heat(NamedTuple):
    """For every character the best window that covers it.

    `log_score` (characters,) float64 natural log, `row` (characters,) int64 of the window among
    those given. A character in no suffix has NaN and -1.
    """

    log_score: NDArray[np.float64]
    row: NDArray[np.int64]


def heat(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    log_scores: NDArray[np.float64],
    characters: int,
) -> Heat:
    """The largest score among the suffixes that cover each character; the earlier of equals.

    Parameters
    ----------
    starts, ends : (windows,) int64
        First character of each suffix, and one past its last.
    log_scores : (windows,) float64
        Natural logs, -inf allowed.
    characters : int
        Length of the text.
    """
    result = Heat(np.full(characters, np.nan), np.full(characters, -1))
    rising = np.lexsort((-np.arange(len(log_scores)), log_scores))
    for row in rising:
        span = slice(starts[row], ends[row])
        result.log_score[span] = log_scores[row]
        result.row[span] = row
    return result


def runs(row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each run of characters with the same best window starts, and where the last ends."""
    changes = np.flatnonzero(np.diff(row)) + 1
    return np.concatenate([[0], changes, [len(row)]])
