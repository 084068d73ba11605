"""The search itself: what it finds is real, repeatable, and better than chance."""

import math

import numpy as np
import pytest
import torch
from tiny_models import (
    CHAT,
    KNOWN,
    UNKNOWN,
    byte_level,
    elicit,
    sentence_piece,
    tiny_gpt2,
    tiny_llama,
)

from memfoil.models import TorchModel
from memfoil.prompts import gcg
from memfoil.prompts.chance import generator_of, random_ids
from memfoil.prompts.elicitation import Elicitation
from memfoil.prompts.success import greedy, judge

QUICK = gcg.Settings(steps=15, top_k=32, width=32)


def find(task: Elicitation, seed: int = 0, **options) -> gcg.Found:
    settings = options.pop("settings", QUICK)
    return gcg.search(task, 3, settings, generator=generator_of(seed), **options)


def test_a_prompt_found_makes_the_model_write_the_target_from_its_text_alone(knowing: TorchModel):
    found = find(elicit(knowing, " " + KNOWN), settings=gcg.Settings(60, 64, 64))
    assert found.success.generated
    inputs = knowing.tokenizer(found.text, return_tensors="pt", add_special_tokens=False).input_ids
    whole = torch.cat([torch.tensor([knowing.start_of_text]), inputs], dim=1)
    written = knowing.network.generate(
        whole,
        attention_mask=torch.ones_like(whole),
        do_sample=False,
        max_new_tokens=40,
        pad_token_id=0,
    )[0, whole.shape[1] :]
    assert knowing.tokenizer.decode(written).startswith(" " + KNOWN)
    assert found.prompt == tuple(inputs[0].tolist())


def test_what_the_model_does_not_know_is_not_found(knowing: TorchModel):
    found = find(elicit(knowing, " " + UNKNOWN))
    assert not found.success.generated
    assert len(found.steps) == QUICK.steps + 1


@pytest.mark.parametrize(
    "task",
    [
        lambda: elicit(tiny_llama(byte_level()), UNKNOWN),
        lambda: elicit(tiny_llama(byte_level(CHAT)), UNKNOWN, "chat"),
        lambda: elicit(tiny_llama(sentence_piece()), UNKNOWN),
        lambda: elicit(tiny_gpt2(byte_level()), UNKNOWN),
        lambda: elicit(tiny_llama(byte_level(), dtype=torch.bfloat16), UNKNOWN),
    ],
    ids=["llama", "chat", "sentence-piece", "no start token", "bfloat16"],
)
def test_the_loss_falls_and_every_prompt_on_the_way_survives(task):
    task = task()
    found = find(task)
    losses = [step.loss for step in found.steps]
    assert min(losses) < losses[0] - 0.01
    for step in found.steps:
        assert task.frame.surviving([step.prompt]) == {step.prompt: step.text}
        assert len(step.prompt) == 3
    best = found.steps[int(np.argmin(losses))]
    assert (found.prompt, found.text) == (best.prompt, best.text)
    assert found.success == judge(task, found.text)


@pytest.mark.slow
def test_the_seed_alone_decides(untrained: TorchModel):
    task = elicit(untrained, UNKNOWN)
    assert find(task, 1) == find(task, 1)
    assert find(task, 1).steps[0] != find(task, 2).steps[0]


def test_substitutions_change_one_token_to_one_of_its_position_s_best():
    gradient = torch.arange(12.0).reshape(2, 6) * torch.tensor([[1.0], [-1.0]])
    allowed = torch.tensor([0, 1, 3, 4])
    ranked = gcg.ranked_substitutions(gradient, allowed, top_k=2)
    assert ranked.tolist() == [[0, 1], [4, 3]]
    drawn = gcg.substitute((9, 9), ranked, 100, generator_of(0))
    assert sorted(drawn) == [(0, 9), (1, 9), (9, 3), (9, 4)]
    assert len(gcg.substitute((9, 9), ranked, 3, generator_of(0))) == 3


def test_a_gradient_s_best_substitutions_beat_random_ones(knowing: TorchModel):
    task = elicit(knowing, " " + KNOWN)
    prompt = random_ids(task.frame, 3, generator_of(5))
    ranked = gcg.ranked_substitutions(task.gradient(prompt), task.frame.allowed, 10)
    spread = torch.randint(len(task.frame.allowed), (3, 10), generator=generator_of(6))

    def mean_loss(tokens: torch.Tensor) -> float:
        drawn = gcg.substitute(prompt, tokens, 30, generator_of(7))
        return float(task.losses(task.frame.inputs(drawn))[0].mean())

    assert mean_loss(ranked) < mean_loss(task.frame.allowed[spread])


def candidates_of(task: Elicitation) -> dict[tuple[int, ...], str]:
    prompt = random_ids(task.frame, 3, generator_of(3))
    ranked = gcg.ranked_substitutions(task.gradient(prompt), task.frame.allowed, 100)
    return task.frame.surviving(gcg.substitute(prompt, ranked, 100, generator_of(4)))


def test_probe_sampling_with_the_model_as_its_own_draft_evaluates_few_and_finds_the_best(untrained):
    task = elicit(untrained, UNKNOWN)
    candidates = candidates_of(task)
    _, losses, _ = gcg.evaluate(task, candidates, None, generator_of(0))
    prompts, probed, _ = gcg.evaluate(task, candidates, task, generator_of(0))
    assert len(losses) == len(candidates)
    assert len(probed) <= len(candidates) // gcg.PROBE_SHARE + 1
    assert probed.min() == pytest.approx(losses.min())
    assert task.losses(task.frame.inputs(prompts))[0] == pytest.approx(probed)


def test_a_draft_that_knows_nothing_makes_the_model_evaluate_more(untrained: TorchModel):
    task = elicit(untrained, UNKNOWN)
    other = elicit(tiny_gpt2(sentence_piece()), UNKNOWN)
    candidates = candidates_of(task)
    prompts, losses, _ = gcg.evaluate(task, candidates, other, generator_of(1))
    agreeing, _, _ = gcg.evaluate(task, candidates, task, generator_of(1))
    assert (
        len(agreeing)
        < len(prompts)
        <= len(candidates) / gcg.PROBE_SHARE + len(candidates) / gcg.KEPT_SHARE
    )
    assert task.losses(task.frame.inputs(prompts))[0] == pytest.approx(losses)


def test_probe_sampling_searches_too(knowing: TorchModel):
    draft = elicit(tiny_gpt2(sentence_piece()), KNOWN)
    found = find(elicit(knowing, " " + KNOWN), draft=draft)
    assert min(step.loss for step in found.steps) < found.steps[0].loss


def test_the_two_success_tests_are_two(knowing: TorchModel):
    """A target whose last token alone is likely passes neither; its greedy text passes both."""
    task = elicit(knowing, " " + KNOWN)
    prompt = "droppeth"
    written = greedy(knowing, torch.tensor(task.frame.read([prompt])), len(task.target))
    assert tuple(written[0].tolist()) == task.target
    success = judge(task, prompt)
    assert success.teacher_forced
    assert success.generated
    assert success.relaxed == (math.exp(-success.loss) >= 0.9)
    wrong = Elicitation(knowing, task.frame, (task.target[1], *task.target[1:]))
    failed = judge(wrong, prompt)
    assert not failed.teacher_forced
    assert not failed.generated
    assert failed.generation == task.target


def test_generation_is_that_of_transformers(untrained: TorchModel):
    prompts = torch.tensor([[1, 40, 50, 60], [1, 70, 80, 90]])
    wanted = untrained.network.generate(prompts, do_sample=False, max_new_tokens=9, pad_token_id=0)
    assert greedy(untrained, prompts, 9).tolist() == wanted[:, 4:].tolist()
