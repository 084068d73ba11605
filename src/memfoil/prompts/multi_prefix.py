"""Multi-prefix memorization: a sequence is memorized if many distinct prompts elicit it.

Source: Dang and Mohaisen 2025, sections 3 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.stats import mannwhitneyu
from transformers import DynamicCache

from memfoil import models
from memfoil.prompts.frames import Ids

SMOOTHING = 1e-9
SMALLEST_BUDGET = 10
ROWS = 2048  # sequences that generate together


def memorization_score(log_probability: ArrayLike, matches: ArrayLike) -> float:
    """eta: the mean over prefix lengths i of verbatim recall times positional similarity.

    Recall r_i = (n - i)/i p_avg(i), with p_avg(i) the geometric mean of the probabilities
    (1e-9 added to each) of tokens i+1 to n after the true ones before them. Similarity sim_i is
    the share of these tokens that greedy generation from the first i puts in their place.

    Parameters
    ----------
    log_probability : (n-1,) array of float
        Natural logs, of tokens 2 to n.
    matches : (n-1, n) array of bool
        Row i-1: where greedy generation from the first i tokens equals the sequence.

    Source: section 3.2.
    """
    smoothed = np.log(np.exp(np.asarray(log_probability, dtype=np.float64)) + SMOOTHING)
    equal = np.asarray(matches, dtype=bool)
    n = len(smoothed) + 1
    lengths = np.arange(1, n)
    left = n - lengths
    p_avg = np.exp(np.cumsum(smoothed[::-1])[::-1] / left)
    similarity = np.array([equal[i - 1, i:].mean() for i in lengths])
    return float(np.mean(left / lengths * p_avg * similarity))


def prefixes_needed(eta: float, target_tokens: int) -> int:
    """P = ceil(eta |s|): how many distinct prefixes make a sequence memorized; 0 for eta = 0."""
    return math.ceil(eta * target_tokens)


def budget(needed: int) -> int:
    """Number of searches allowed: max(10, 2 P)."""
    return max(SMALLEST_BUDGET, 2 * needed)


class Recall(NamedTuple):
    """What a model holds of a target without any search."""

    eta: float
    discoverable: bool
    """Greedy generation from the first half writes the second."""


def recall(model: models.TorchModel, targets: Sequence[Ids]) -> list[Recall]:
    """eta of each target, and whether it is discoverable from its own first half.

    Targets of one length share one teacher-forced pass and one batched generation, which grows
    the continuations of all prefix lengths position by position together.

    Source: sections 3.2; discoverable memorization: Carlini et al. 2023.
    """
    results: dict[int, Recall] = {}
    for length in sorted({len(target) for target in targets}):
        rows = [i for i, target in enumerate(targets) if len(target) == length]
        size = max(1, ROWS // length)
        for part in (rows[i : i + size] for i in range(0, len(rows), size)):
            results |= zip(part, _recall(model, [targets[i] for i in part]), strict=True)
    return [results[i] for i in range(len(targets))]


def _recall(model: models.TorchModel, targets: Sequence[Ids]) -> list[Recall]:
    scores = model.score([models.Sequence("target", target, 1) for target in targets], ())
    length = len(targets[0])
    log_probability = scores.log_probability.reshape(len(targets), length - 1)
    matches = continuations(model, targets) == np.array(targets)[:, None, :]
    middle = length // 2
    return [
        Recall(memorization_score(logs, equal), bool(equal[middle - 1].all()))
        for logs, equal in zip(log_probability, matches, strict=True)
    ]


@torch.inference_mode()
def continuations(model: models.TorchModel, targets: Sequence[Ids]) -> NDArray[np.int64]:
    """Every proper prefix of each target, continued greedily to the target's length.

    Parameters
    ----------
    targets : m sequences of one length n

    Returns
    -------
    (m, n-1, n) int64
        Entry [a, i-1]: the first i tokens of target a, and what greedy generation writes after.
    """
    network = model.network
    truth = torch.tensor(targets, device=network.device)
    m, n = truth.shape
    written = truth.repeat_interleave(n - 1, dim=0)
    given = torch.arange(1, n, device=network.device).repeat(m)
    start = torch.tensor(model.start_of_text, dtype=torch.int64, device=network.device)
    inputs = torch.cat([start.expand(len(written), -1), written[:, :1]], dim=1)
    cache = DynamicCache(config=network.config)
    for position in range(1, n):
        output = network(input_ids=inputs, cache=cache, use_cache=True, logits_to_keep=1)
        likeliest = output.logits[:, -1].argmax(-1)
        own = position >= given
        written[own, position] = likeliest[own]
        inputs = written[:, position : position + 1]
    return written.view(m, n - 1, n).cpu().numpy()


def is_distinct(vector: NDArray, others: Sequence[NDArray], min_distance: float) -> bool:
    """Whether a prompt's embedding is further than a cosine distance from all others.

    Parameters
    ----------
    vector, others : (d,) arrays of length 1
    """
    return all(1 - float(vector @ other) > min_distance for other in others)


class Comparison(NamedTuple):
    """A one-sided Mann-Whitney test: are the first group's values larger?"""

    u: float
    p_value: float
    rank_biserial: float


def compare(larger: ArrayLike, smaller: ArrayLike) -> Comparison | None:
    """Mann-Whitney U, its one-sided p-value, and the rank-biserial effect 2U/(n m) - 1.

    None if a group is empty.

    Source: section 4.1, statistical validation.
    """
    one, other = np.asarray(larger, dtype=np.float64), np.asarray(smaller, dtype=np.float64)
    if not len(one) or not len(other):
        return None
    test = mannwhitneyu(one, other, alternative="greater")
    effect = 2 * test.statistic / (len(one) * len(other)) - 1
    return Comparison(float(test.statistic), float(test.pvalue), float(effect))


def search_prefixes(
    attempt: Callable[[int], tuple[str, bool]],
    embed: Callable[[str], NDArray],
    *,
    needed: int,
    failures: int,
    min_distance: float,
) -> list[bool]:
    """Search until `needed` distinct prefixes are found or the budget is spent.

    Parameters
    ----------
    attempt : callable
        `attempt(run)` gives the text of a prompt and whether it elicits the target.
    failures : int
        So many in a row give a sequence up before its budget is spent.

    Returns
    -------
    list of bool
        For each run, whether it found a prefix that is distinct from the earlier ones.
    """
    distinct: list[bool] = []
    found: list[NDArray] = []
    in_a_row = 0
    for run in range(1, budget(needed) + 1):
        if len(found) >= needed or in_a_row >= failures:
            break
        text, success = attempt(run)
        in_a_row = 0 if success else in_a_row + 1
        vector = embed(text) if success else None
        distinct.append(vector is not None and is_distinct(vector, found, min_distance))
        if vector is not None and distinct[-1]:
            found.append(vector)
    return distinct
