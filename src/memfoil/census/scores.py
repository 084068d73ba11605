"""Scores of every window: teacher forcing, shard by shard."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from memfoil.errors import InvalidConfiguration
from memfoil.models import Model
from memfoil.scoring import derive, teacher_forced
from memfoil.tables import CENSUS_SCORES, CENSUS_WINDOWS, Provenance, footer, write_in_shards

SHARD = 4096  # windows


def score_windows(
    model: Model,
    windows: str | Path,
    path: str | Path,
    *,
    prefix_tokens: Sequence[int],
    procedures: Sequence[str],
    top_k: Sequence[int],
    provenance: Provenance,
    progress: Callable[..., Iterator[Any]],
) -> None:
    """Score the suffix of every window under every procedure and length of prefix.

    Parameters
    ----------
    windows : path of a CENSUS_WINDOWS table
        Read a shard of 4096 windows at a time.
    path : path of the CENSUS_SCORES table to write
    prefix_tokens : sequence of int
        Lengths of the prefix, each cut from the window's: the suffixes stay the same.

    Raises
    ------
    InvalidConfiguration
        If a prefix is longer than the windows have.
    InvalidModel
        As `teacher_forced` does.
    """

    def work(shard: pd.DataFrame) -> pd.DataFrame:
        return pd.concat(
            [
                _scores(model, shortened(shard, length), procedures, top_k)
                for length in prefix_tokens
            ]
        )

    shards = -(-footer(windows).num_rows // SHARD)
    parts = progress(CENSUS_WINDOWS.read_parts(windows, SHARD), "scoring windows", shards)
    write_in_shards(parts, work, CENSUS_SCORES, path, provenance)


def shortened(windows: pd.DataFrame, prefix_tokens: int) -> pd.DataFrame:
    """Windows as sequences whose prefix has the last `prefix_tokens` of theirs.

    Returns
    -------
    DataFrame
        `sequence_id` (the window's), `token_ids`, `prefix_tokens`.

    Raises
    ------
    InvalidConfiguration
        If a window has a shorter prefix.
    """
    longest = int(windows["prefix_tokens"].min())
    if prefix_tokens > longest:
        raise InvalidConfiguration(
            f"census/prefix_tokens: {prefix_tokens} is more than the {longest} that the windows "
            "were cut with"
        )
    cut = windows["prefix_tokens"] - prefix_tokens
    return pd.DataFrame(
        {
            "sequence_id": windows["window_id"],
            "token_ids": [ids[n:] for ids, n in zip(windows["token_ids"], cut, strict=True)],
            "prefix_tokens": prefix_tokens,
        }
    )


def _scores(
    model: Model, sequences: pd.DataFrame, procedures: Sequence[str], top_k: Sequence[int]
) -> pd.DataFrame:
    token_scores = teacher_forced(model, sequences, top_k=top_k)
    suffix_tokens = len(sequences["token_ids"].iloc[0]) - sequences["prefix_tokens"].iloc[0]
    scores = derive(token_scores, procedures=procedures, suffix_lengths=[suffix_tokens])
    scores["prefix_tokens"] = sequences["prefix_tokens"].iloc[0]
    return scores.drop(columns="suffix_tokens").rename(columns={"sequence_id": "window_id"})
