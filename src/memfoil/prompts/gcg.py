"""Greedy coordinate gradient: a search for a prompt after which a model says a target.

One step: the gradient of the target's loss with respect to the prompt's tokens proposes
substitutions of one token; those that do not survive decoding and encoding in context are
dropped; the one with the lowest loss becomes the prompt, better or worse than the last.

Source: Zou et al. 2023. Probe sampling: Zhao et al. 2024.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from torch import Tensor

from memfoil.prompts.chance import random_ids
from memfoil.prompts.elicitation import Elicitation
from memfoil.prompts.frames import Ids
from memfoil.prompts.success import Success, judge

PROBE_SHARE = 16  # a probe set holds 1/16 of the candidates (Zhao et al. 2024)
KEPT_SHARE = 8  # and the draft model keeps at most 1/8 of them


@dataclass(frozen=True)
class Settings:
    """`width` candidates a step, drawn from each position's `top_k` best substitutions."""

    steps: int
    top_k: int
    width: int


@dataclass(frozen=True)
class Step:
    """One step's new prompt, its loss, and how many candidates survived their own text."""

    loss: float
    candidates: int
    prompt: Ids
    text: str


@dataclass(frozen=True)
class Found:
    """The outcome of one search.

    `success` is what the prompt's text does when it is read alone: the prompt that generated the
    target, which ended the search, or else the one with the lowest loss of all `steps` (the first
    of which is the prompt it started from). `first_teacher_forced` is the first step at which a
    candidate passed the teacher-forced test, `first_generated` whether that one generated too.
    """

    text: str
    prompt: Ids
    success: Success
    first_teacher_forced: int | None
    first_generated: bool | None
    steps: tuple[Step, ...]


def search(
    task: Elicitation,
    prompt_tokens: int,
    settings: Settings,
    *,
    generator: torch.Generator,
    draft: Elicitation | None = None,
    start: Ids | None = None,
) -> Found:
    """Look for a prompt of a given length after which the model says the target.

    The search ends when a prompt, read from its text alone, makes the model generate the target
    greedily; a teacher-forced match is only the sign to try that.

    Parameters
    ----------
    generator : torch.Generator
        On the CPU; see `memfoil.prompts.chance`.
    draft : Elicitation, optional
        A smaller model's, for probe sampling (see `evaluate`); its tokenizer may be another.
    start : token ids, optional
        The prompt to start from; random tokens if it is not given.

    Raises
    ------
    InvalidModel
        If no prompt survives the way through its text.
    """
    prompt = start or random_ids(task.frame, prompt_tokens, generator)
    candidates = task.frame.surviving([prompt])
    steps: list[Step] = []
    first: int | None = None
    first_generated: bool | None = None
    for number in range(settings.steps + 1):
        if number:
            ranked = ranked_substitutions(
                task.gradient(steps[-1].prompt), task.frame.allowed, settings.top_k
            )
            drawn = substitute(steps[-1].prompt, ranked, settings.width, generator)
            candidates = task.frame.surviving(drawn)
            if not candidates:
                steps.append(replace(steps[-1], candidates=0))
                continue
        prompts, losses, matched = evaluate(task, candidates, draft, generator)
        best = prompts[int(losses.argmin())]
        steps.append(Step(float(losses.min()), len(candidates), best, candidates[best]))
        if matched.any():
            likeliest = prompts[int(np.where(matched, losses, math.inf).argmin())]
            text = candidates[likeliest]
            success = judge(task, text)
            if first is None:
                first, first_generated = number, success.generated
            if success.generated:
                return Found(text, likeliest, success, first, first_generated, tuple(steps))
    lowest = min(steps, key=lambda step: step.loss)
    success = judge(task, lowest.text)
    return Found(lowest.text, lowest.prompt, success, first, first_generated, tuple(steps))


def ranked_substitutions(gradient: Tensor, allowed: Tensor, top_k: int) -> Tensor:
    """Each position's tokens that promise the lowest loss, best first: (prompt tokens, top_k)."""
    best = gradient[:, allowed].topk(min(top_k, len(allowed)), largest=False).indices
    return allowed[best]


def substitute(prompt: Ids, ranked: Tensor, width: int, generator: torch.Generator) -> list[Ids]:
    """At most `width` different prompts, each with one token replaced by one of its `ranked`."""
    chosen = torch.randperm(ranked.numel(), generator=generator)[:width]
    positions, tokens = chosen // ranked.shape[1], ranked.flatten()[chosen]
    return [
        (*prompt[:position], token, *prompt[position + 1 :])
        for position, token in zip(positions.tolist(), tokens.tolist(), strict=True)
    ]


def evaluate(
    task: Elicitation,
    candidates: Mapping[Ids, str],
    draft: Elicitation | None,
    generator: torch.Generator,
) -> tuple[list[Ids], NDArray[np.float64], NDArray[np.bool_]]:
    """The candidates that the model itself evaluates, their losses and teacher-forced matches.

    Without a draft model all of them. With one, a random probe set, and the more of those that
    the draft model finds best the less it agrees with the model on the probe set.

    Source: Zhao et al. 2024, section 3.
    """
    prompts = list(candidates)
    if draft is None:
        return prompts, *task.losses(task.frame.inputs(prompts))
    order = torch.randperm(len(prompts), generator=generator).numpy()
    probe = order[: max(2, len(prompts) // PROBE_SHARE)]
    drafted, _ = draft.losses(draft.frame.read(list(candidates.values())))
    probed, probe_matched = task.losses(task.frame.inputs([prompts[i] for i in probe]))
    agreement = (1 + _rank_correlation(probed, drafted[probe])) / 2
    n_kept = max(1, int((1 - agreement) * len(prompts) / KEPT_SHARE))
    kept = np.argsort(drafted, kind="stable")[:n_kept]
    losses, matched = task.losses(task.frame.inputs([prompts[i] for i in kept]))
    evaluated = [prompts[i] for i in (*probe, *kept)]
    return evaluated, np.append(probed, losses), np.append(probe_matched, matched)


def _rank_correlation(one: NDArray, other: NDArray) -> float:
    """Spearman's; 0 where one side is constant."""
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    return float(spearmanr(one, other).statistic)
