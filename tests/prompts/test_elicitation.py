"""Gradients against finite differences, losses against direct evaluation in float64."""

import numpy as np
import pytest
import torch
from tiny_models import CHAT, UNKNOWN, byte_level, elicit, tiny_gpt2, tiny_llama

from memfoil.prompts.chance import generator_of, random_ids
from memfoil.prompts.elicitation import Elicitation

MODELS = {
    "llama": lambda: elicit(tiny_llama(byte_level(), dtype=torch.float64), UNKNOWN),
    "llama without start": lambda: elicit(
        tiny_llama(byte_level(), start=False, dtype=torch.float64), UNKNOWN
    ),
    "llama in a chat": lambda: elicit(
        tiny_llama(byte_level(CHAT), dtype=torch.float64), UNKNOWN, "chat"
    ),
    "gpt-2": lambda: elicit(tiny_gpt2(byte_level()), UNKNOWN),
}


def loss_of_vectors(task: Elicitation, vectors: torch.Tensor) -> float:
    """All logits of the whole input, log-softmax in float64."""
    logits = task.model.network(inputs_embeds=vectors[None], use_cache=False).logits[0].double()
    n = len(task.target)
    logs = logits[-n - 1 : -1].log_softmax(-1)
    return -float(logs[torch.arange(n), list(task.target)].mean())


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("llama")])
def test_gradient_is_the_limit_of_finite_differences(name):
    task = MODELS[name]()
    prompt = random_ids(task.frame, 4, generator_of(0))
    gradient = task.gradient(prompt)
    table = task.model.network.get_input_embeddings().weight
    (before,) = task.frame.inputs([prompt])
    vectors = table[torch.tensor([*before, *task.target])]
    first, h = len(task.frame.before), 1e-5
    for position in range(4):
        for token in (5, 77, 300):
            up, down = vectors.clone(), vectors.clone()
            up[first + position] += h * table[token]
            down[first + position] -= h * table[token]
            slope = (loss_of_vectors(task, up) - loss_of_vectors(task, down)) / (2 * h)
            assert gradient[position, token] == pytest.approx(slope, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_losses_are_those_of_direct_evaluation_whatever_the_lengths(name):
    task = MODELS[name]()
    prompts = [random_ids(task.frame, 1 + i % 4, generator_of(i)) for i in range(9)]
    losses, matched = task.losses(task.frame.inputs(prompts))
    table = task.model.network.get_input_embeddings().weight
    for prompt, loss in zip(prompts, losses, strict=True):
        ids = torch.tensor([*task.frame.before, *prompt, *task.frame.after, *task.target])
        assert loss == pytest.approx(loss_of_vectors(task, table[ids]), rel=1e-5)
    assert not matched.any()


def test_a_match_is_the_arg_max_at_every_token_and_a_tie_is_none(untrained):
    task = elicit(untrained, UNKNOWN)
    prompt = task.frame.read(["mat"])[0]
    with torch.inference_mode():
        written: list[int] = []
        for _ in range(4):
            logits = task.model.network(torch.tensor([[*prompt, *written]])).logits
            written.append(int(logits[0, -1].argmax()))
    said = Elicitation(task.model, task.frame, tuple(written))
    assert said.losses([prompt])[1].tolist() == [True]
    other = Elicitation(task.model, task.frame, (*written[:-1], (written[-1] + 1) % 300))
    assert other.losses([prompt])[1].tolist() == [False]


def test_bfloat16_moves_losses_a_little_only():
    exact = elicit(tiny_llama(byte_level()), UNKNOWN)
    coarse = elicit(tiny_llama(byte_level(), dtype=torch.bfloat16), UNKNOWN)
    prompts = [random_ids(exact.frame, 3, generator_of(i)) for i in range(5)]
    wanted, _ = exact.losses(exact.frame.inputs(prompts))
    losses, _ = coarse.losses(coarse.frame.inputs(prompts))
    assert np.allclose(losses, wanted, atol=0.05)
    assert coarse.gradient(prompts[0]).dtype == torch.float32
