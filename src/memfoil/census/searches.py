"""Near-verbatim mass and beam search for the windows of a census, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from memfoil.census.scores import shortened
from memfoil.errors import InvalidConfiguration, InvalidModel
from memfoil.models import TorchModel
from memfoil.models.transformer import is_out_of_memory
from memfoil.scoring.beam import Metric
from memfoil.scoring.near_verbatim import near_verbatim, recover, sampling_tokens
from memfoil.tables import BEAM_SEARCHES, NEAR_VERBATIM, Provenance, write_in_shards

# Measured on a CPU: more is hardly faster. Cut in two when memory runs out.
BATCH = {"cpu": 32, "cuda": 64}

Progress = Callable[..., Iterator[Any]]


@dataclass(frozen=True)
class Search:
    """How near-verbatim is searched: `decoding` is `base` or `top-<k>`, `distance` a metric."""

    epsilon: int
    width: int
    decoding: str
    distance: Metric

    @property
    def top_k(self) -> int | None:
        return None if self.decoding == "base" else int(self.decoding.removeprefix("top-"))


class Batch(NamedTuple):
    """Windows of one length of prefix, side by side, in the memory of the processor."""

    window_ids: list[str]
    prefix_tokens: int
    prefixes: torch.Tensor
    suffixes: torch.Tensor


def planned(
    model: TorchModel,
    windows: pd.DataFrame,
    scores: pd.DataFrame,
    document: str,
    prefix_tokens: Sequence[int],
    *,
    windows_searched: int | str,
    **settings: Any,
) -> tuple[Search, list[Batch], list[Batch]]:
    """The search, its batches, and those of the document alone.

    Parameters
    ----------
    windows, scores : CENSUS_WINDOWS and CENSUS_SCORES tables of document and control
    windows_searched : int or "all"
        Of each text so many windows are searched, those with the largest score.
    settings : as `Search` has them
    """
    search = Search(**settings)
    most = len(windows) if windows_searched == "all" else int(windows_searched)
    todo, book = [], []
    for length in prefix_tokens:
        chosen = most_probable(
            windows, scores, decoding=search.decoding, prefix_tokens=length, most=most
        )
        todo += batches(model, chosen, length)
        book += batches(model, chosen[chosen["document_id"] == document], length)
    return search, todo, book


def most_probable(
    windows: pd.DataFrame, scores: pd.DataFrame, *, decoding: str, prefix_tokens: int, most: int
) -> pd.DataFrame:
    """Of each document the `most` windows with the largest score, in the order of the table.

    Parameters
    ----------
    windows : CENSUS_WINDOWS table
    scores : CENSUS_SCORES table
    decoding : procedure by whose score they are chosen

    Raises
    ------
    InvalidConfiguration
        If that procedure was not scored.
    """
    own = scores[(scores["procedure"] == decoding) & (scores["prefix_tokens"] == prefix_tokens)]
    if own.empty:
        raise InvalidConfiguration(
            f"census/near_verbatim/decoding: {decoding} at {prefix_tokens} prefix tokens was not "
            "scored; add it to census/procedures"
        )
    ranked = windows.merge(own[["window_id", "log_score"]], on="window_id", validate="one_to_one")
    ranked = ranked.sort_values("log_score", ascending=False, kind="stable")
    chosen = ranked.groupby("document_id", sort=False).head(most)["window_id"]
    return windows[windows["window_id"].isin(chosen)]


def batches(model: TorchModel, windows: pd.DataFrame, prefix_tokens: int) -> list[Batch]:
    """The windows of a table, start-of-text before each prefix."""
    sequences = shortened(windows, prefix_tokens)
    ids = torch.from_numpy(np.stack(sequences["token_ids"].tolist()).astype(np.int64))
    start = torch.tensor([model.start_of_text], dtype=torch.int64).expand(len(ids), -1)
    prefixes = torch.cat([start, ids[:, :prefix_tokens]], 1)
    size = BATCH[model.network.device.type]
    names = sequences["sequence_id"].tolist()
    return [
        Batch(
            names[i : i + size],
            prefix_tokens,
            prefixes[i : i + size],
            ids[i : i + size, prefix_tokens:],
        )
        for i in range(0, len(ids), size)
    ]


def write_near_verbatim(
    model: TorchModel,
    todo: list[Batch],
    path: str | Path,
    search: Search,
    provenance: Provenance,
    progress: Progress,
) -> None:
    """Bound the mass around every suffix; writes a NEAR_VERBATIM table, resumable by batch."""

    def work(batch: Batch) -> pd.DataFrame:
        found = near_verbatim(
            model.network,
            batch.prefixes.to(model.network.device),
            batch.suffixes.to(model.network.device),
            epsilon=search.epsilon,
            width=search.width,
            top_k=search.top_k,
            metric=search.distance,
        )
        radii = search.epsilon + 1
        n = len(batch.window_ids)
        return pd.DataFrame(
            {
                "window_id": np.repeat(batch.window_ids, radii),
                "prefix_tokens": batch.prefix_tokens,
                "radius": np.tile(np.arange(radii), n),
                "log_mass": found.log_mass.ravel(),
                "forward_tokens": np.repeat(found.forward_tokens, radii),
                "sampling_tokens": sampling_tokens(
                    batch.prefixes.shape[1], batch.suffixes.shape[1]
                ),
            }
        )

    items = progress(todo, "near-verbatim search")
    write_in_shards(items, _in_halves(work), NEAR_VERBATIM, path, provenance)


def write_beam_searches(
    model: TorchModel,
    todo: list[Batch],
    path: str | Path,
    search: Search,
    provenance: Provenance,
    progress: Progress,
) -> None:
    """See what beam search recovers; writes a BEAM_SEARCHES table, resumable by batch."""

    def work(batch: Batch) -> pd.DataFrame:
        found = recover(
            model.network,
            batch.prefixes.to(model.network.device),
            batch.suffixes.to(model.network.device),
            epsilon=search.epsilon,
            width=search.width,
            top_k=search.top_k,
            metric=search.distance,
        )
        return pd.DataFrame(
            {
                "window_id": batch.window_ids,
                "prefix_tokens": batch.prefix_tokens,
                "top_distance": _within(found.top_distance, search.epsilon),
                "pool_distance": _within(found.pool_distance, search.epsilon),
                "pool": found.pool,
                "forward_tokens": found.forward_tokens,
            }
        )

    items = progress(todo, "beam search")
    write_in_shards(items, _in_halves(work), BEAM_SEARCHES, path, provenance)


def _within(distances: np.ndarray, epsilon: int) -> pd.Series:
    """Distances above epsilon are empty cells."""
    values = pd.Series(distances, dtype="Int64")
    return values.where(values <= epsilon)


def _in_halves(work: Callable[[Batch], pd.DataFrame]) -> Callable[[Batch], pd.DataFrame]:
    """The same work, a batch that memory does not hold cut in two."""

    def attempt(batch: Batch) -> pd.DataFrame:
        try:
            return work(batch)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        # Here and not in the handler, whose traceback keeps the tensors alive.
        n = len(batch.window_ids)
        if n == 1:
            raise InvalidModel(
                f"window {batch.window_ids[0]}: memory does not hold its search; use a smaller "
                "census/near_verbatim/width, a smaller dtype or a larger device"
            )
        torch.cuda.empty_cache()
        halves = (slice(0, n // 2), slice(n // 2, n))
        return pd.concat(
            [
                attempt(
                    Batch(
                        batch.window_ids[part],
                        batch.prefix_tokens,
                        batch.prefixes[part],
                        batch.suffixes[part],
                    )
                )
                for part in halves
            ]
        )

    return attempt
