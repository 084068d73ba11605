"""Teacher forcing: every suffix token scored given all tokens before it, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Many
from typing import Any

import numpy as np
import pandas as pd

from memfoil.errors import InvalidTable
from memfoil.models import Model, Sequence, TokenScores

BLOCK = 1024  # sequences between two steps of the progress bar


def teacher_forced(
    model: Model,
    sequences: pd.DataFrame,
    *,
    top_k: Many[int] = (40,),
    progress: Callable[..., Iterator[Any]] | None = None,
) -> pd.DataFrame:
    """Log-probability, rank and top-k log-masses of every suffix token at temperature 1.

    Parameters
    ----------
    model : Model
    sequences : DataFrame
        SEQUENCES table: prefix and suffix in `token_ids`, `prefix_tokens` long the first.
    top_k : sequence of int
        k of each log-mass column; may be empty.
    progress : callable, optional
        `progress(items, label, total)` gives the items back while it shows how far they are.

    Returns
    -------
    DataFrame
        TOKEN_SCORES table, sequences in the order given. Sequences reach the model in an order
        of their own, so the order of rows changes nothing.

    Raises
    ------
    InvalidTable
        If there is no sequence.
    InvalidModel, InvalidConfiguration
        As `model.score` does.
    """
    if sequences.empty:
        raise InvalidTable("sequences: there is no sequence to score")
    columns = (sequences[name] for name in ("sequence_id", "token_ids", "prefix_tokens"))
    items = [Sequence(name, list(ids), prefix) for name, ids, prefix in zip(*columns, strict=True)]
    order = sorted(range(len(items)), key=lambda i: (len(items[i].token_ids), items[i].name))
    blocks: Iterable[list[int]] = [
        order[first : first + BLOCK] for first in range(0, len(order), BLOCK)
    ]
    if progress is not None:
        blocks = progress(blocks, "scoring", -(-len(order) // BLOCK))
    parts = [model.score([items[i] for i in block], top_k) for block in blocks]
    return _frame(items, order, TokenScores(*map(np.concatenate, zip(*parts, strict=True))), top_k)


def _frame(
    items: list[Sequence], order: list[int], scores: TokenScores, top_k: Many[int]
) -> pd.DataFrame:
    """Scores that came in `order` as a table in the order of the items."""
    suffixes = np.array([len(item.token_ids) - item.prefix_tokens for item in items])
    owner = np.repeat(order, suffixes[order])
    rows = np.argsort(owner, kind="stable")
    frame = pd.DataFrame(
        {
            "sequence_id": pd.Index([item.name for item in items]).repeat(suffixes.tolist()),
            "position": np.concatenate([np.arange(1, n + 1) for n in suffixes]),
            "log_probability": scores.log_probability[rows],
            "rank": scores.rank[rows],
        }
    )
    for column, k in enumerate(top_k):
        frame[f"log_mass_top_{k}"] = scores.log_mass[rows, column]
    return frame
