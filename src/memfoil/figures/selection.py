"""What the figures take out of the tables: the rows of one null, pools in a fixed order, scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

FIRST_CONTROLS = ("held-out", "post-cutoff")
FIRST_CANDIDATES = ("planted", "seen once")
LOG_10 = np.log(10.0)


def rows(frame: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """The rows in which each named column has the given value (reals to 12 digits)."""
    keep = np.ones(len(frame), dtype=bool)
    for name, value in values.items():
        column = frame[name].to_numpy()
        same = (
            np.isclose(column, value, rtol=1e-12) if isinstance(value, float) else column == value
        )
        keep &= same
    return frame[keep]


def control_pools(frame: pd.DataFrame) -> list[str]:
    """Names of the control pools of a table that has `control_pool`, exchangeable ones first."""
    return _ordered(set(frame["control_pool"]), FIRST_CONTROLS)


def pools(sequences: pd.DataFrame, role: str) -> list[str]:
    """Names of the pools that play a role."""
    names = set(sequences.loc[sequences["role"] == role, "pool"])
    return _ordered(names, FIRST_CONTROLS if role == "control" else FIRST_CANDIDATES)


def candidate_strata(rates: pd.DataFrame) -> list[str]:
    """The pools of candidates where there are several, else all candidates as one.

    A mixture of pools drawn in arbitrary proportion has no rate worth showing.
    """
    names = {n for n in set(rates["stratum"]) if n != "all" and not n.startswith("repetitions ")}
    return _ordered(names, FIRST_CANDIDATES) if len(names) > 1 else ["all"]


def called(stratum: str) -> str:
    """How a stratum is named in a figure."""
    return "all candidates" if stratum == "all" else f"candidates: {stratum}"


def procedure_named(procedure: str) -> str:
    """A procedure in words."""
    if procedure == "greedy":
        return "greedy decoding"
    if procedure == "base":
        return "sampling at temperature 1"
    stated = procedure.startswith("temperature-")
    return f"{procedure} sampling" if stated else f"{procedure} sampling at temperature 1"


def pool_named(decontaminated: bool) -> str:
    """Which version of the control pools a figure uses, in words."""
    return (
        "controls found in the training text taken out" if decontaminated else "controls as drawn"
    )


def smallest_level(n_controls: int) -> str:
    """The smallest false-positive rate N controls can certify, in words."""
    return f"{n_controls} controls certify\n{100 / (n_controls + 1):.4g}% at the least"


def tokens(length: int) -> str:
    """A suffix length in words."""
    return f"{length} token suffix" if length == 1 else f"{length}-token suffix"


def scored(
    scores: pd.DataFrame,
    sequences: pd.DataFrame,
    contamination: pd.DataFrame | None,
    procedure: str,
) -> pd.DataFrame:
    """Scores of one procedure with `pool` and `role`, without controls known to be members.

    `contamination` None keeps every control: the pools as drawn.
    """
    frame = rows(scores, procedure=procedure).merge(
        sequences[["sequence_id", "pool", "role"]], on="sequence_id", how="inner"
    )
    if contamination is None:
        return frame
    members = contamination.loc[contamination["member"].astype(bool), "sequence_id"]
    return frame[~((frame["role"] == "control") & frame["sequence_id"].isin(members))]


def log_scores(frame: pd.DataFrame, pool: str, suffix_tokens: int) -> np.ndarray:
    """Natural log scores of a pool at one suffix length, ascending, -inf first."""
    kept = rows(frame, pool=pool, suffix_tokens=suffix_tokens)
    return np.sort(kept["log_score"].to_numpy(dtype=np.float64))


def zero_share(log_score: np.ndarray) -> float:
    """Share of scores that are exactly zero; 0 of nothing is 0."""
    return float(np.mean(np.isneginf(log_score))) if len(log_score) else 0.0


def _ordered(names: set[str], first: tuple[str, ...]) -> list[str]:
    return [name for name in first if name in names] + sorted(names - set(first))
