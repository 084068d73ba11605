"""When a prompt has succeeded: teacher-forced arg max, and real greedy generation. Never mixed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import DynamicCache

from memfoil.models import TorchModel
from memfoil.prompts.elicitation import Elicitation
from memfoil.prompts.frames import Ids

RELAXED_PROBABILITY = 0.9


@dataclass(frozen=True)
class Success:
    """What one prompt, read from its text alone, does to a target.

    `loss` is the mean negative log-probability per target token, in nats. `teacher_forced`: each
    target token is the arg max after the true ones before it, ties counting against it.
    `generated`: greedy generation writes the target; `generation` is what it wrote.
    """

    loss: float
    teacher_forced: bool
    generated: bool
    generation: Ids

    @property
    def relaxed(self) -> bool:
        """The geometric-mean probability of the target's tokens is at least 0.9."""
        return self.loss <= -math.log(RELAXED_PROBABILITY)


def judge(task: Elicitation, text: str, tokens: int | None = None) -> Success:
    """Both success tests of a prompt's text, alone in its batch.

    Generation goes on for `tokens` (by default as many as the target has); `generated` compares
    the tokens written, and looks at no probability.

    Source: Cooper et al. 2026, appendix A.2, where 11 of 16 prompts that pass the first test
    fail the second; the relaxed test there too.
    """
    (prompt,) = task.frame.read([text])
    losses, matched = task.losses([prompt])
    length = max(tokens or 0, len(task.target))
    written = greedy(task.model, torch.tensor([prompt]), length)[0].tolist()
    generated = tuple(written[: len(task.target)]) == task.target
    return Success(float(losses[0]), bool(matched[0]), generated, tuple(written))


@torch.inference_mode()
def greedy(model: TorchModel, prompts: Tensor, tokens: int) -> Tensor:
    """The next tokens under greedy decoding, with the model's cache.

    Parameters
    ----------
    prompts : (n, length) int64
        Whole inputs, start-of-text with them.

    Returns
    -------
    (n, tokens) int64, on the CPU
    """
    cache = DynamicCache(config=model.network.config)
    inputs, written = prompts.to(model.network.device), []
    for _ in range(tokens):
        output = model.network(input_ids=inputs, cache=cache, use_cache=True, logits_to_keep=1)
        inputs = output.logits[:, -1].argmax(-1, keepdim=True)
        written.append(inputs)
    return torch.cat(written, dim=1).cpu()
