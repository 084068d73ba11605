"""What teacher forcing reads off the logits."""

from __future__ import annotations

from collections.abc import Sequence as Many

import torch


def token_scores(
    logits: torch.Tensor, targets: torch.Tensor, top_k: Many[int]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Scores of target tokens under softmax(logits), sums and logs in float64.

    Parameters
    ----------
    logits : (rows, vocabulary)
        Any float type; -inf is an impossible token.
    targets : (rows,) int64
    top_k : k of each wanted log-mass

    Returns
    -------
    log_probability (rows,), rank (rows,), log_mass (rows, number of k)
        Natural logs, float64. The rank counts the tokens whose logit is at least the target's:
        ties count against it. Where logits make no distribution the logs are NaN.
    """
    logits = logits if logits.dtype == torch.float64 else logits.float()
    own = logits.gather(1, targets[:, None])
    rank = (logits >= own).sum(1)
    highest = logits.amax(1, keepdim=True)
    weights = (logits - highest).exp_()
    log_total = weights.sum(1, keepdim=True, dtype=torch.float64).log()
    log_probability = (own.double() - highest.double() - log_total).clamp_(max=0.0)
    if not top_k:
        return log_probability[:, 0], rank, log_total[:, :0]
    ks = torch.tensor(top_k, device=logits.device).clamp(max=logits.shape[1])
    mass = weights.topk(int(ks.max())).values.double().cumsum(1)
    log_mass = (mass[:, ks - 1].log() - log_total).clamp_(max=0.0)
    return log_probability[:, 0], rank, log_mass
