"""Hypotheses of a beam search over continuations, and their edit distances from a suffix.

All hypotheses of a window share one row of the model's batch and of its key-value cache: they are
a tree, and an attention mask lets each see its own ancestors only. So nothing is copied when a
hypothesis branches or dies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache

Metric = Literal["levenshtein", "hamming"]


class Edits:
    """Rows of the edit-distance matrix of hypotheses and suffixes, the cells near the diagonal.

    A row after t tokens of a hypothesis holds the distances to the first t - band ... t + band
    tokens of the suffix; above epsilon they are not told apart (Ukkonen 1985). Substitutions
    alone are a band of 0.
    """

    def __init__(self, suffixes: Tensor, epsilon: int, metric: Metric) -> None:
        self.suffixes = suffixes
        self.epsilon = epsilon
        self.band = epsilon if metric == "levenshtein" else 0
        self.offsets = torch.arange(-self.band, self.band + 1, device=suffixes.device)

    def first(self) -> Tensor:
        """The row of the empty hypothesis, (n, 1, cells)."""
        row = self._valid(self.offsets.clone(), 0)
        return row.expand(len(self.suffixes), 1, -1)

    def near(self, position: int) -> Tensor:
        """The suffix's tokens around a position, its own first, (n, cells)."""
        around = (position + self.offsets).clamp(0, self.suffixes.shape[1] - 1)
        return self.suffixes[:, around[self.offsets.abs().argsort(stable=True)]]

    def extended(self, rows: Tensor, tokens: Tensor, position: int) -> Tensor:
        """Rows (n, places, cells) after one more token: (n, places, children, cells)."""
        around = position + self.offsets
        target = self.suffixes[:, around.clamp(0, self.suffixes.shape[1] - 1)]
        differs = tokens[..., None] != target[:, None, None, :]
        inserted = torch.nn.functional.pad(rows[..., 1:], (0, 1), value=self.epsilon + 1) + 1
        best = torch.minimum(rows[:, :, None] + differs, inserted[:, :, None])
        best = self._valid(best, position + 1)
        steps = torch.arange(len(self.offsets), device=rows.device)
        return self._valid((best - steps).cummin(-1).values + steps, position + 1)

    def nearest(self, rows: Tensor) -> Tensor:
        """Distance of the best continuation of a hypothesis."""
        return (rows + self.offsets.abs()).amin(-1)

    def farthest(self, rows: Tensor, position: int) -> Tensor:
        """Distance of the worst: all its further tokens differ from all of the suffix."""
        left = self.suffixes.shape[1] - position
        return (rows + (left - self.offsets).clamp(min=left)).amin(-1).clamp(max=self.epsilon + 1)

    def _valid(self, rows: Tensor, position: int) -> Tensor:
        """Cells outside the suffix, and distances above epsilon, all as epsilon + 1."""
        prefix = position + self.offsets
        outside = (prefix < 0) | (prefix > self.suffixes.shape[1])
        return rows.clamp(max=self.epsilon + 1).masked_fill(outside, self.epsilon + 1)


@dataclass(frozen=True)
class Children:
    """What the hypotheses can grow into, (n, places, children) each, rows one dimension more.

    `viable`: some continuation is within epsilon. `safe`: the radius that holds all of them.
    """

    tokens: Tensor
    log_p: Tensor
    rows: Tensor
    viable: Tensor
    safe: Tensor

    def left_by(self, kept: Tensor) -> tuple[Tensor, Tensor]:
        """Radius and mass of what is not kept, (n, places * children) each."""
        log_p = self.log_p.flatten(1)
        spare = torch.zeros(len(kept), log_p.shape[1] + 1, dtype=torch.bool, device=kept.device)
        spare.scatter_(1, kept % spare.shape[1], True)
        return self.safe.flatten(1), log_p.masked_fill(spare[:, :-1], -math.inf)


class Beam:
    """The hypotheses of a batch of windows, all of the same length `position`.

    `windows` (m,) are the windows in which some hypothesis is alive; `forward_tokens` (n,) counts
    the positions run through the model for every window, dead hypotheses beside live ones
    included.
    """

    def __init__(
        self,
        model: Any,
        prefixes: Tensor,
        suffixes: Tensor,
        epsilon: int,
        metric: Metric,
        top_k: int | None,
    ) -> None:
        n, prefix_tokens = prefixes.shape
        self.model, self.top_k = model, top_k
        self.length, self.prefix_tokens = suffixes.shape[1], prefix_tokens
        self.edits = Edits(suffixes, epsilon, metric)
        self.position = 0
        self.windows = torch.arange(n, device=prefixes.device)
        self.log_p = torch.zeros(n, 1, dtype=torch.float64, device=prefixes.device)
        self.rows = self.edits.first()
        self.ancestors = torch.zeros(n, 1, 0, dtype=torch.bool, device=prefixes.device)
        self.forward_tokens = np.full(n, prefix_tokens)
        self.cache = DynamicCache(config=model.config)
        output = model(prefixes, cache=self.cache, use_cache=True, logits_to_keep=1)
        self.next_log_p = _policy(output.logits, top_k)

    @property
    def live(self) -> bool:
        return len(self.windows) > 0

    @property
    def at_last(self) -> bool:
        """Is the next token the last?"""
        return self.position + 1 == self.length

    @property
    def none(self) -> Tensor:
        """The choice of no child."""
        return torch.full_like(self.windows, -1)[:, None]

    def near(self) -> Tensor:
        """The suffix's tokens around this position, its own first, (m, places, cells)."""
        near = self.edits.near(self.position)
        return near[:, None].expand(-1, self.log_p.shape[1], -1)

    def likeliest(self, count: int) -> Tensor:
        """The likeliest next tokens of each hypothesis, (m, places, count)."""
        return self.next_log_p.topk(min(count, self.next_log_p.shape[-1]), -1).indices

    def children(self, tokens: Tensor) -> Children:
        """The hypotheses, each with each of its tokens (m, places, children) once."""
        log_p = self.log_p[..., None] + self.next_log_p.gather(-1, tokens)
        twice = (tokens[..., None] == tokens[..., None, :]).tril(-1).any(-1)
        rows = self.edits.extended(self.rows, tokens, self.position)
        return Children(
            tokens,
            log_p.masked_fill(twice, -math.inf),
            rows,
            self.edits.nearest(rows) <= self.edits.epsilon,
            self.edits.farthest(rows, self.position + 1),
        )

    def unlisted(self, children: Children) -> tuple[Tensor, Tensor]:
        """Radius and mass of each hypothesis with any token but those of its children, (m, places).

        The children must hold all tokens of the suffix near this position, so that the others
        are alike.
        """
        foreign = torch.full_like(children.tokens[..., :1], -1)
        rows = self.edits.extended(self.rows, foreign, self.position)
        safe = self.edits.farthest(rows, self.position + 1)[..., 0]
        if safe.amin() > self.edits.epsilon:
            return safe, torch.full_like(self.log_p, -math.inf)
        others = self.next_log_p.scatter(-1, children.tokens, -math.inf)
        return safe, self.log_p + others.logsumexp(-1)

    def advance(self, children: Children, kept: Tensor) -> None:
        """Go on with the children chosen, (m, places) numbers among all of a window; -1 is none."""
        self.position += 1
        empty = kept < 0
        chosen = kept.clamp(min=0)
        log_p = children.log_p.flatten(1).gather(1, chosen).masked_fill(empty, -math.inf)
        alive = (log_p > -math.inf).any(1).nonzero()[:, 0]
        if self.position == self.length or not len(alive):
            self.windows = self.windows[:0]
            return
        cells = chosen[..., None].expand(-1, -1, self.rows.shape[-1])
        parents = chosen // children.tokens.shape[2]
        seen = parents[..., None].expand(-1, -1, self.ancestors.shape[-1])
        own = torch.eye(kept.shape[1], dtype=torch.bool, device=kept.device)
        self.log_p, tokens = log_p, children.tokens.flatten(1).gather(1, chosen)
        self.rows = children.rows.flatten(1, 2).gather(1, cells)
        self.ancestors = torch.cat(
            [self.ancestors.gather(1, seen), own.expand(len(kept), -1, -1)], -1
        )
        if 2 * len(alive) <= len(self.windows):
            tokens = tokens[alive]
            self._keep(alive)
        self._forward(tokens)

    def _keep(self, alive: Tensor) -> None:
        """Let go of the windows without a live hypothesis."""
        self.windows, self.log_p, self.rows = (
            self.windows[alive],
            self.log_p[alive],
            self.rows[alive],
        )
        self.ancestors = self.ancestors[alive]
        self.edits.suffixes = self.edits.suffixes[alive]
        self.cache.batch_select_indices(alive)

    def _forward(self, tokens: Tensor) -> None:
        dtype = self.model.dtype
        hidden = torch.zeros(self.ancestors.shape, dtype=dtype, device=tokens.device)
        hidden.masked_fill_(~self.ancestors, torch.finfo(dtype).min)
        mask = torch.nn.functional.pad(hidden, (self.prefix_tokens, 0))[:, None]
        output = self.model(
            tokens,
            cache=self.cache,
            use_cache=True,
            attention_mask=mask,
            position_ids=torch.full_like(tokens, self.prefix_tokens + self.position - 1),
        )
        self.next_log_p = _policy(output.logits, self.top_k)
        self.forward_tokens[self.windows.cpu().numpy()] += tokens.shape[1]


def _policy(logits: Tensor, top_k: int | None) -> Tensor:
    """Log-probabilities of the next token under the decoding policy, (n, places, vocabulary)."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if top_k is None or top_k >= logits.shape[-1]:
        return logits.log_softmax(-1)
    top = logits.topk(top_k + 1, -1).values
    log_p = logits - top[..., :-1].logsumexp(-1, keepdim=True)
    return log_p.masked_fill(logits <= top[..., -1:], -math.inf)
