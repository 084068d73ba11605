"""The task of a prompt: a model, what it reads around the prompt, and what it is to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from memfoil import models
from memfoil.prompts.frames import Frame, Ids


@dataclass(frozen=True)
class Elicitation:
    """A model, the frame its prompts stand in, and the target that it is to say."""

    model: models.TorchModel
    frame: Frame
    target: Ids

    def losses(
        self, inputs: Sequence[Sequence[int]]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The target's loss after each input, and whether teacher forcing matches it.

        Parameters
        ----------
        inputs : n lists of token ids
            All that stands before the target, start-of-text with it.

        Returns
        -------
        losses : (n,) float64
            Mean negative log-probability of the target's tokens, nats.
        matched : (n,) bool
            Each target token is the arg max after the true ones before it; ties count against.
        """
        start = len(self.frame.start)
        sequences = [
            models.Sequence(f"prompt {i}", [*ids[start:], *self.target], len(ids) - start)
            for i, ids in enumerate(inputs)
        ]
        scores = self.model.score(sequences, ())
        shape = len(inputs), len(self.target)
        losses = -scores.log_probability.reshape(shape).mean(axis=1)
        return losses, (scores.rank.reshape(shape) == 1).all(axis=1)

    def gradient(self, prompt: Sequence[int]) -> Tensor:
        """Gradient of the target's loss with respect to the prompt's one-hot tokens.

        Returns
        -------
        (prompt tokens, vocabulary) float32, on the CPU
            Entry [i, v]: by how much the loss changes, to first order, per unit of token v at
            position i.
        """
        network = self.model.network
        embedding = network.get_input_embeddings()
        (before,) = self.frame.inputs([prompt])
        ids = torch.tensor([*before, *self.target[:-1]], device=network.device)
        embedded = embedding(ids).detach()
        first = len(self.frame.before)
        slot = embedded[first : first + len(prompt)].clone().requires_grad_()
        inputs = torch.cat([embedded[:first], slot, embedded[first + len(prompt) :]])
        logits = network(
            inputs_embeds=inputs[None], use_cache=False, logits_to_keep=len(self.target)
        ).logits[0]
        target = torch.tensor(self.target, device=network.device)
        loss = torch.nn.functional.cross_entropy(logits.float(), target)
        (gradient,) = torch.autograd.grad(loss, slot)
        return (gradient @ embedding.weight.detach().T).float().cpu()
