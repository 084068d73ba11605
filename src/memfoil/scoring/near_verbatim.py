"""How probable a suffix is up to a few token edits, and what beam search recovers of it.

A continuation is as long as its suffix. Of the continuations within `epsilon` edits of it there
are far too many to add up, so a search that keeps the likeliest of them bounds their mass from
below.

Source: Cooper et al. 2026, section 5 and appendices F.4 and H.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from memfoil.scoring.beam import Beam, Children, Metric

SAMPLES = 20
BRANCHES = 40


@dataclass(frozen=True)
class Mass:
    """Lower bounds on the mass of the continuations near each suffix, and what they cost.

    `log_mass[i, r]`: window i, at most r edits, (n, epsilon + 1) float64, natural log; column 0
    is the suffix itself. `forward_tokens[i]`: positions run through the model, prefix included.
    """

    log_mass: np.ndarray
    forward_tokens: np.ndarray


@dataclass(frozen=True)
class Recovery:
    """What beam search finds that does not know the suffix, (n,) int64 each.

    Edits between the suffix and the likeliest continuation (`top_distance`), and the nearest of
    all continuations in the pool (`pool_distance`); epsilon + 1 stands for more than epsilon,
    and for an empty pool.
    """

    top_distance: np.ndarray
    pool_distance: np.ndarray
    pool: np.ndarray
    forward_tokens: np.ndarray


def sampling_tokens(prefix_tokens: int, suffix_tokens: int, samples: int = SAMPLES) -> int:
    """Positions run through a model that draws samples after one prefix, with a cache.

    The prefix runs once, and the last token of a sample not at all. A start-of-text token belongs
    to the prefix.
    """
    return prefix_tokens + samples * (suffix_tokens - 1)


@torch.inference_mode()
def near_verbatim(
    model: Any,
    prefixes: Tensor,
    suffixes: Tensor,
    *,
    epsilon: int,
    width: int = SAMPLES,
    top_k: int | None = None,
    metric: Metric = "levenshtein",
) -> Mass:
    """Bound from below the mass of the continuations within 0, 1, ... `epsilon` edits.

    Constrained beam search. A hypothesis from which no continuation within `epsilon` can come is
    dropped; the suffix itself is always kept, so no bound is below its own probability. Where a
    hypothesis is not followed up but any continuation of it would be near enough, its whole mass
    counts. Nothing counts twice: every mass belongs to another beginning.

    One search serves all radii, so the bounds grow with the radius. They grow with `width` too
    (ties of probability aside): place i of the beam takes the likeliest child of places 0 to i
    that is still free, so a wider beam holds everything that a narrower one holds.

    Parameters
    ----------
    model : causal language model of transformers, in evaluation mode
    prefixes : (n, p) int64
        Token ids, start-of-text included where the model wants it.
    suffixes : (n, l) int64
    epsilon : int
        Token edits: substitutions, insertions and deletions, or with `metric="hamming"`
        substitutions alone.
    width : int
        Hypotheses kept per window. At 20 the search costs at most what 20 samples cost.
    top_k : int, optional
        Decode from the k likeliest tokens; by default from the base distribution at T = 1.
    """
    beam = Beam(model, prefixes, suffixes, epsilon, metric, top_k)
    log_mass = torch.full((len(suffixes), epsilon + 1), -math.inf, dtype=torch.float64)
    while beam.live:
        children = beam.children(torch.cat([beam.near(), beam.likeliest(width)], 2))
        kept = beam.none if beam.at_last else _nested_choice(children, width)
        for safe, log_p in (children.left_by(kept), beam.unlisted(children)):
            _add(log_mass, beam.windows.cpu(), safe.cpu(), log_p.cpu())
        beam.advance(children, kept)
    return Mass(log_mass.clamp(max=0.0).cummax(1).values.numpy(), beam.forward_tokens)


def _nested_choice(children: Children, width: int) -> Tensor:
    """Which children a beam of `width` keeps, (n, width); -1 leaves a place empty.

    Place 0 is the suffix itself, as long as it is possible. Place i is the likeliest viable child
    of the places up to i, less what the places before it took.
    """
    free = children.log_p.masked_fill(~children.viable, -math.inf)
    kept = [torch.where(free[:, 0, 0] > -math.inf, 0, -1)]
    free[:, 0, 0] = -math.inf
    for place in range(1, width):
        best, index = free[:, : place + 1].flatten(1).max(1)
        kept.append(torch.where(best > -math.inf, index, -1))
        free.view(len(free), -1).scatter_(1, index[:, None], -math.inf)
    return torch.stack(kept, 1)


def _add(log_mass: Tensor, windows: Tensor, safe: Tensor, log_p: Tensor) -> None:
    """Add masses (n, m) to every radius from `safe` (n, m) on, in the rows of their windows."""
    for radius in range(int(safe.min()), log_mass.shape[1]):
        more = log_p.masked_fill(safe > radius, -math.inf).logsumexp(1)
        log_mass[windows, radius] = torch.logaddexp(log_mass[windows, radius], more)


@torch.inference_mode()
def recover(
    model: Any,
    prefixes: Tensor,
    suffixes: Tensor,
    *,
    epsilon: int,
    width: int = SAMPLES,
    branches: int = BRANCHES,
    top_k: int | None = None,
    metric: Metric = "levenshtein",
) -> Recovery:
    """Ordinary beam search, which does not know the suffix, and how near it comes to it.

    After the last step the `branches` likeliest children of each of the `width` hypotheses are
    the pool (20 x 40 = 800), without another pass of the model. Parameters as in
    `near_verbatim`; distances above `epsilon` are not told apart.
    """
    beam = Beam(model, prefixes, suffixes, epsilon, metric, top_k)
    distances = torch.full((2, len(suffixes)), epsilon + 1)
    pool = torch.zeros(len(suffixes), dtype=torch.int64)
    while beam.live:
        children = beam.children(beam.likeliest(branches if beam.at_last else width))
        log_p, index = children.log_p.flatten(1).sort(dim=1, descending=True, stable=True)
        found = log_p > -math.inf
        if beam.at_last:
            safe = children.safe.flatten(1).gather(1, index).masked_fill(~found, epsilon + 1)
            at = beam.windows.cpu()
            distances[:, at] = torch.stack([safe[:, 0], safe.amin(1)]).cpu()
            pool[at] = found.sum(1).cpu()
        beam.advance(children, torch.where(found, index, -1)[:, :width])
    return Recovery(distances[0].numpy(), distances[1].numpy(), pool.numpy(), beam.forward_tokens)
