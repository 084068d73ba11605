"""What teacher forcing reads off the logits."""

from __future__ import annotations

import math
from collections.abc import Sequence as Many

import torch

from memfoil.policies import Policy

CANDIDATES = 256
"""So many of the likeliest tokens are looked at first for a top-p; more only where too few."""


def token_scores(
    logits: torch.Tensor,
    targets: torch.Tensor,
    top_k: Many[int],
    policies: Many[Policy] = (),
) -> tuple[torch.Tensor, ...]:
    """Scores of target tokens under softmax(logits).

    Compiled, its passes become reductions that cast as they read: logits in a narrow type never
    lie in memory as float32.

    Parameters
    ----------
    logits : (rows, vocabulary)
        Any float type; -inf is an impossible token. Used up: overwritten.
    targets : (rows,) int64
    top_k : k of each wanted log-mass
    policies : decoding policies whose log-probabilities and log-masses are wanted
        With a top-p but no top-k the rows of flat distributions are sorted whole.

    Returns
    -------
    log_probability (rows,), rank (rows,), log_mass (rows, number of k),
    policy_log_probability and policy_log_mass (rows, number of policies)
        Natural logs, float64. The rank counts the tokens whose logit is at least the target's:
        ties count against it. Where logits make no distribution the logs are NaN.
    """
    wide = torch.promote_types(logits.dtype, torch.float32)
    own = logits.gather(1, targets[:, None])
    # Summing booleans is four times slower; float32 counts exactly to 2^24.
    at_least = torch.ge(logits, own, out=torch.empty_like(logits, dtype=torch.float32))
    rank = at_least.sum(1).long()
    cut = (policy.top_k or CANDIDATES for policy in policies if policy.top_k or policy.top_p < 1)
    most = max([*top_k, *cut], default=0)
    largest = _largest(logits, min(most, logits.shape[1])) if most else logits[:, :0]
    highest, place = logits.max(1, keepdim=True)
    # The largest has weight 1 and is left out of the sum, so that a probability near one keeps
    # its distance from one.
    logits.scatter_(1, place, -math.inf)
    highest = highest.to(wide)
    under = [_under(policy, logits, highest, own, rank, largest) for policy in policies]
    # Infinity minus itself is NaN: such logits make no distribution.
    log_total = _log_total(logits.to(wide).sub_(highest)) + (highest - highest).double()
    log_probability = (own.double() - highest.double() - log_total).clamp_(max=0.0)
    log_mass = log_total[:, :0]
    if top_k:
        mass = (largest.to(wide) - highest).exp_().double().cumsum(1)
        columns = [mass[:, min(k, mass.shape[1]) - 1] for k in top_k]
        log_mass = (torch.stack(columns, 1).log() - log_total).clamp_(max=0.0)
    of_policies = [
        torch.stack([each[i] for each in under], 1) if under else log_total[:, :0] for i in (0, 1)
    ]
    return log_probability[:, 0], rank, log_mass, *of_policies


def _log_total(others: torch.Tensor) -> torch.Tensor:
    """(rows, 1) log-sum-exp over 0 and other logits, which are used up."""
    return others.exp_().sum(1, keepdim=True).double().log1p()


def _under(
    policy: Policy,
    logits: torch.Tensor,
    highest: torch.Tensor,
    own: torch.Tensor,
    rank: torch.Tensor,
    largest: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probability of the targets and log-mass of one policy; the logits lack `highest`."""
    log_total = _log_total((logits - highest).div_(policy.temperature))[:, 0]
    behind = (own.double() - highest)[:, 0]
    if policy.top_k is None and policy.top_p == 1:
        log_p = (behind / policy.temperature - log_total).clamp_(max=0.0)
        return log_p, torch.zeros_like(log_total)
    falling = largest.double() - highest
    if policy.top_k is None:
        held = (falling / policy.temperature).logsumexp(1) - log_total
        short = held < math.log(policy.top_p)
        log_p, log_kept = kept(policy, behind, rank, falling, log_total)
        if short.any():
            falling = logits[short].sort(1, descending=True).values.double() - highest[short]
            everything = torch.nn.functional.pad(falling[:, :-1], (1, 0))
            log_p[short], log_kept[short] = kept(
                policy, behind[short], rank[short], everything, log_total[short]
            )
    else:
        log_p, log_kept = kept(policy, behind, rank, falling[:, : policy.top_k])
    return log_p, (log_kept - log_total).clamp_(max=0.0)


def kept(
    policy: Policy,
    own: torch.Tensor,
    rank: torch.Tensor,
    falling: torch.Tensor,
    log_total: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """What a policy makes of target tokens and of the likeliest tokens of each row.

    Parameters
    ----------
    own : (rows,) float64
        Logits of the targets, or their log-probabilities at T = 1, less the row's largest.
    rank : (rows,) int64
        As `token_scores` gives it: a token that ties at the edge is not taken.
    falling : (rows, n) float64
        The same of the n likeliest tokens in descending order, 0 the first: the top-k, or as many
        as the top-p needs.
    log_total : (rows,) float64
        Log-sum-exp over all tokens of the same divided by the temperature, where that is not the
        sum over `falling`.

    Returns
    -------
    log_probability, log_kept : (rows,) float64
        Under the policy, -inf outside it; and the log-sum-exp of `falling` divided by the
        temperature over the tokens that it takes.
    """
    weights = (falling / policy.temperature).exp()
    # the first weighs 1
    others = torch.nn.functional.pad(weights[:, 1:].cumsum(1), (1, 0))
    count = torch.full_like(rank, weights.shape[1])
    if policy.top_p < 1:
        whole = 1 + others[:, -1:] if log_total is None else log_total.exp()[:, None]
        # a token is taken while those before it hold less than top_p
        count = 1 + (1 + others[:, :-1] < policy.top_p * whole).sum(1)
    log_kept = others.gather(1, count[:, None] - 1)[:, 0].log1p()
    log_p = (own / policy.temperature - log_kept).clamp(max=0.0)
    return log_p.masked_fill(rank > count, -math.inf), log_kept


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
