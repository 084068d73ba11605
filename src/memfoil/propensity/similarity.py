"""Which sentences are close to the training text, whatever their length."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

ROWS = 4096


def nearest(vectors: np.ndarray, documents: np.ndarray) -> np.ndarray:
    """Cosine of each vector to the nearest document, (n,) float64; both with rows of length 1.

    Source: PropMe 2026, section 4.2.
    """
    parts = [
        (vectors[first : first + ROWS] @ documents.T).max(axis=1)
        for first in range(0, len(vectors), ROWS)
    ]
    return np.concatenate([np.empty(0), *parts]).astype(np.float64)


def without_length(similarity: pd.Series, tokens: pd.Series) -> pd.Series:
    """Similarity minus the mean of all sentences of the same length.

    So that a choice by similarity does not favour long sentences.

    Source: PropMe 2026, appendix H.
    """
    return similarity - similarity.groupby(tokens.to_numpy()).transform("mean")


def equal_shares(available: Mapping[str, int], wanted: int) -> dict[str, int]:
    """How many to take from each source: as equal as can be.

    What a small source cannot give, the others share; of what does not divide, the sources
    named first take one more. All is taken where less is there than wanted.

    Source: PropMe 2026, appendix H.
    """
    shares = dict.fromkeys(available, 0)
    open_ = {name for name, count in available.items() if count}
    left = min(wanted, sum(available.values()))
    while left:
        each = max(1, left // len(open_))
        for name in [name for name in available if name in open_]:
            taken = min(each, available[name] - shares[name], left)
            shares[name] += taken
            left -= taken
            if shares[name] == available[name]:
                open_.discard(name)
    return shares


def closest(candidates: pd.DataFrame, wanted: int) -> pd.DataFrame:
    """The candidates closest to the training text, in equal shares of their sources.

    Parameters
    ----------
    candidates : DataFrame
        `prompt_id`, `source`, `tokens` (length) and `similarity` to the nearest document.

    Returns
    -------
    DataFrame
        The rows kept; of equally close ones those whose name comes first.
    """
    ranked = candidates.assign(
        adjusted=without_length(candidates["similarity"], candidates["tokens"])
    ).sort_values(["adjusted", "prompt_id"], ascending=[False, True])
    counts = candidates["source"].value_counts()
    shares = equal_shares({name: int(counts[name]) for name in sorted(counts.index)}, wanted)
    rank = ranked.groupby("source").cumcount()
    kept = ranked[rank < ranked["source"].map(shares)]
    return candidates.loc[kept.index.sort_values()]
