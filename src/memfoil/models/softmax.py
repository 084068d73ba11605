"""What teacher forcing reads off the logits."""

from __future__ import annotations

import math
from collections.abc import Sequence as Many

import torch


def token_scores(
    logits: torch.Tensor, targets: torch.Tensor, top_k: Many[int]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Scores of target tokens under softmax(logits).

    Compiled, its passes become reductions that cast as they read: logits in a narrow type never
    lie in memory as float32.

    Parameters
    ----------
    logits : (rows, vocabulary)
        Any float type; -inf is an impossible token. Used up: overwritten.
    targets : (rows,) int64
    top_k : k of each wanted log-mass

    Returns
    -------
    log_probability (rows,), rank (rows,), log_mass (rows, number of k)
        Natural logs, float64. The rank counts the tokens whose logit is at least the target's:
        ties count against it. Where logits make no distribution the logs are NaN.
    """
    wide = torch.promote_types(logits.dtype, torch.float32)
    own = logits.gather(1, targets[:, None])
    # Summing booleans is four times slower; float32 counts exactly to 2^24.
    at_least = torch.ge(logits, own, out=torch.empty_like(logits, dtype=torch.float32))
    rank = at_least.sum(1).long()
    largest = _largest(logits, min(max(top_k), logits.shape[1])) if top_k else logits[:, :0]
    highest, place = logits.max(1, keepdim=True)
    # The largest has weight 1 and is left out of the sum, so that a probability near one keeps
    # its distance from one.
    logits.scatter_(1, place, -math.inf)
    highest = highest.to(wide)
    others = logits.to(wide).sub_(highest).exp_().sum(1, keepdim=True)
    # Infinity minus itself is NaN: such logits make no distribution.
    log_total = others.double().log1p() + (highest - highest).double()
    log_probability = (own.double() - highest.double() - log_total).clamp_(max=0.0)
    if not top_k:
        return log_probability[:, 0], rank, log_total[:, :0]
    mass = (largest.to(wide) - highest).exp_().double().cumsum(1)
    columns = [mass[:, min(k, mass.shape[1]) - 1] for k in top_k]
    log_mass = (torch.stack(columns, 1).log() - log_total).clamp_(max=0.0)
    return log_probability[:, 0], rank, log_mass


def _largest(values: torch.Tensor, k: int) -> torch.Tensor:
    """The k largest of each row in descending order, as `topk` gives them, but sooner.

    They lie in the k groups whose maxima are largest; sorting sees the maxima and those groups.
    """
    rows, width = values.shape
    size = math.isqrt(width // (2 * k))
    if size < 2:
        return values.topk(k).values
    count = width // size
    groups = values[:, : size * count].view(rows, size, count)  # a group is a column: stride 1
    chosen = groups.amax(1).topk(k, sorted=False).indices
    members = groups.gather(2, chosen[:, None, :].expand(-1, size, -1)).flatten(1)
    return torch.cat([members, values[:, size * count :]], 1).topk(k).values
