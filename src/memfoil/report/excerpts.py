"""The parts of long tables that a person reads."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd


def judged_at(frame: pd.DataFrame, suffix_tokens: Sequence[int]) -> pd.DataFrame:
    """Rows of a RATES or THRESHOLDS table at the suffix lengths that claims are made for."""
    return frame[frame["suffix_tokens"].isin(suffix_tokens)]


def shown_claims(claims: pd.DataFrame, sequences: pd.DataFrame, procedure: str) -> pd.DataFrame:
    """What is claimed by one procedure on its longest suffix at the smallest rate, with its text.

    Only the decontaminated nulls; the surest claims first.
    """
    kept = claims[
        claims["claimed"]
        & claims["decontaminated"]
        & (claims["procedure"] == procedure)
        & (claims["alpha"] == claims["alpha"].min())
        & (claims["suffix_tokens"] == claims["suffix_tokens"].max())
    ]
    about = sequences[["sequence_id", "pool", "date", "text"]]
    return kept.merge(about, on="sequence_id").sort_values(
        ["control_pool", "log_score"], ascending=[True, False]
    )


def contaminated(contamination: pd.DataFrame) -> pd.DataFrame:
    """Controls that were found or reviewed, with the evidence."""
    return contamination[
        (contamination["verdict"] != "none found") | contamination["review"].notna()
    ]
