"""Teacher forcing: every suffix token scored given all tokens before it, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Sequence as Many
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from memfoil.encoding import encode
from memfoil.errors import InvalidModel, InvalidTable
from memfoil.models import Model, Sequence, TokenScores
from memfoil.policies import column_of, policy_of
from memfoil.tables import SEQUENCES, TOKEN_SCORES, Provenance, footer, share, write_in_shards

CHUNK = 1024  # sequences whose scores are kept together


def require_own_tokens(sequences: str | Path, tokenizer: Any, folder: Path) -> None:
    """Refuse sequences that another tokenizer made than the model's own.

    Parameters
    ----------
    sequences : path of a SEQUENCES table
        Of its first 1024 sequences the text is tokenized again. The last token of a prefix may
        come out otherwise where the text ends soon behind it, so that most must agree, not all.
    tokenizer, folder : the model's own

    Raises
    ------
    InvalidModel
    """
    for first in islice(SEQUENCES.read_parts(sequences, CHUNK), 1):
        columns = (first[name] for name in ("token_ids", "prefix_tokens"))
        others = sum(
            one.token_ids[:prefix] != list(ids[:prefix])
            for one, ids, prefix in zip(
                encode(tokenizer, first["text"].tolist()), *columns, strict=True
            )
        )
        if 2 * others > len(first):
            raise InvalidModel(
                f"{sequences}: {others} of {len(first)} texts are other tokens to the tokenizer of "
                f"{folder}; give the model a `tokenizer` of its own in config/models.yaml"
            )


def write_token_scores(
    model: Model,
    sequences: str | Path,
    path: str | Path,
    *,
    part: tuple[int, int] = (1, 1),
    top_k: Many[int],
    policies: Many[str] = (),
    provenance: Provenance,
    progress: Callable[..., Iterator[Any]],
) -> None:
    """Score the sequences of a table, resumable by chunk; memory holds one chunk.

    Parameters
    ----------
    sequences : path of a SEQUENCES table
    path : path of the TOKEN_SCORES table to write, rows in the order of the sequences
    part : (int, int)
        Which of how many parts to score, from 1. A part is of whole chunks, so that the same
        sequences reach the model together however many parts there are; some may be empty.
    top_k, policies : as `teacher_forced` has them
    progress : callable
        `progress(items, label, total)` gives the items back while it shows how far they are.

    Raises
    ------
    InvalidTable
        If there is no sequence.
    InvalidModel, InvalidConfiguration
        As `model.score` does.
    """
    chunks = -(-footer(sequences).num_rows // CHUNK)
    if not chunks:
        raise InvalidTable(f"{sequences}: there is no sequence to score")
    own = share(chunks, *part)
    read = islice(SEQUENCES.read_parts(sequences, CHUNK), own.start, own.stop)
    write_in_shards(
        progress(read, "scoring", len(own)),
        lambda chunk: teacher_forced(model, chunk, top_k=top_k, policies=policies),
        TOKEN_SCORES,
        path,
        provenance,
    )


def teacher_forced(
    model: Model,
    sequences: pd.DataFrame,
    *,
    top_k: Many[int] = (40,),
    policies: Many[str] = (),
) -> pd.DataFrame:
    """Scores of every suffix token at temperature 1, and under decoding policies.

    Parameters
    ----------
    model : Model
    sequences : DataFrame
        SEQUENCES table: prefix and suffix in `token_ids`, `prefix_tokens` long the first.
    top_k : sequence of int
        k of each log-mass column; may be empty.
    policies : names of decoding policies, as `policy_of` reads them

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
    scores = model.score([items[i] for i in order], top_k, [policy_of(name) for name in policies])
    return _frame(items, order, scores, top_k, policies)


def _frame(
    items: list[Sequence],
    order: list[int],
    scores: TokenScores,
    top_k: Many[int],
    policies: Many[str],
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
    for column, policy in enumerate(map(column_of, policies)):
        frame[f"log_probability_{policy}"] = scores.policy_log_probability[rows, column]
        frame[f"log_mass_{policy}"] = scores.policy_log_mass[rows, column]
    return frame
