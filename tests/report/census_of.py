"""A small census by trying all characters, and the pages made of it."""

import math

import numpy as np
import pandas as pd

from memfoil.census.case import Budget
from memfoil.report.reader import Book

PREFIX, SUFFIX = 40, 60  # characters here: a reader does not know of tokens
BUDGET = Budget(100_000, 0.95)
TAU = -12.0


def naive_heat(starts, ends, log_scores, characters):
    """The best window over each character, the earlier of equals; -1 where there is none."""
    best = np.full(characters, -1)
    for character in range(characters):
        for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if start <= character < end and (
                best[character] < 0 or log_scores[row] > log_scores[best[character]]
            ):
                best[character] = row
    return best


def census(text, scores, starts, document_id="book"):
    """A Book with its heat and thresholds; `scores` maps a procedure to one score a window."""
    starts = np.asarray(starts)
    suffix, end = starts + PREFIX, starts + PREFIX + SUFFIX
    windows = pd.DataFrame(
        {
            "window_id": [f"{document_id}:{i}" for i in range(len(starts))],
            "document_id": document_id,
            "window": range(len(starts)),
            "start_char": starts,
            "suffix_start_char": suffix,
            "end_char": end,
        }
    )
    parts, thresholds = [], []
    for procedure, log_scores in scores.items():
        best = naive_heat(suffix, end, log_scores, len(text))
        edges = [0, *(np.flatnonzero(np.diff(best)) + 1), len(text)]
        rows = best[edges[:-1]]
        parts.append(
            pd.DataFrame(
                {
                    "start_char": edges[:-1],
                    "end_char": edges[1:],
                    "window_id": [None if r < 0 else f"{document_id}:{r}" for r in rows],
                    "log_score": [math.nan if r < 0 else log_scores[r] for r in rows],
                }
            ).assign(pair="pair", model="tiny", prefix_tokens=50, procedure=procedure)
        )
        if procedure != "greedy":
            thresholds.append(("pair", "tiny", 50, procedure, True, "control:7", TAU))
    columns = [
        "pair", "model", "prefix_tokens", "procedure", "decontaminated", "window_id", "log10_tau",
    ]  # fmt: skip
    return (
        Book("pair", "tiny", document_id, text, windows),
        pd.concat(parts, ignore_index=True),
        pd.DataFrame(thresholds, columns=columns),
    )


def random_scores(n, seed):
    """Some impossible, some above the threshold, some just at it."""
    rng = np.random.default_rng(seed)
    log10 = np.where(rng.random(n) < 0.5, rng.uniform(-30, TAU, n), rng.uniform(TAU, 0, n))
    log10[rng.random(n) < 0.1] = -np.inf
    log10[rng.random(n) < 0.1] = TAU
    return log10 * math.log(10)
