"""Models judged on the same candidates: differences with their paired interval."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pandas as pd

from memfoil.nulls import NULL_KEY
from memfoil.stats.proportions import newcombe_paired
from memfoil.tables import PAIRED

KEY = [*NULL_KEY, "alpha"]


def differences(claims: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Compare the claims of every two models, candidate by candidate.

    Each model is judged by its own threshold from the same controls. The interval is that of the
    shares claimed as they came out; it does not hold the chance of the thresholds.

    Parameters
    ----------
    claims : mapping from model name to CLAIMS table
        Of models that share a tokenizer, so that their sequences are the same.

    Returns
    -------
    PAIRED table

    Source: Cooper et al. 2026, appendix D.1; Newcombe 1998.
    """
    rows = [
        {
            "model": first,
            "minus": second,
            **dict(zip(KEY, null, strict=True)),
            **_difference(joined),
        }
        for first, second in combinations(claims, 2)
        for null, joined in _joined(claims[first], claims[second])
    ]
    return pd.DataFrame(rows, columns=PAIRED.names)


def _joined(first: pd.DataFrame, second: pd.DataFrame) -> Any:
    columns = [*KEY, "sequence_id"]
    both = first[[*columns, "claimed"]].merge(
        second[[*columns, "claimed"]], on=columns, suffixes=("_first", "_second")
    )
    return both.groupby(KEY, sort=False)


def _difference(joined: pd.DataFrame) -> dict[str, Any]:
    first, second = joined["claimed_first"], joined["claimed_second"]
    both, only_first, only_second, neither = (
        int((a & b).sum())
        for a, b in ((first, second), (first, ~second), (~first, second), (~first, ~second))
    )
    low, high = newcombe_paired(both, only_first, only_second, neither)
    return {
        "n_candidates": len(joined),
        "both": both,
        "only_model": only_first,
        "only_minus": only_second,
        "difference": (only_first - only_second) / len(joined),
        "low": low,
        "high": high,
    }
