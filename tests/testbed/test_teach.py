"""A model taught to repeat learns from pieces that survive their own text, and nothing held out."""

import numpy as np
import pytest
import torch

from memfoil.models import load
from memfoil.prompts.frames import frame
from memfoil.prompts.parrot import Template
from memfoil.testbed import Settings, train
from memfoil.testbed.teach import teach

SETTINGS = Settings(
    hidden_size=32, intermediate_size=64, layers=2, heads=2, context_tokens=256, batch_passages=16,
    muon_learning_rate=0.03, adamw_learning_rate=0.006, adamw_betas=(0.9, 0.95), warmup_steps=5,
    decay_share=0.3, clip_norm=1.0,
)  # fmt: skip
REPEAT = Template("repeat", "repeat", "Say:\n{target}\n")


@pytest.fixture(scope="module")
def source(training_text, tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("teach") / "model"
    train(
        training_text.head(32), tokenizer, folder, settings=SETTINGS, seed=0,
        progress=lambda items, _: iter(items),
    )  # fmt: skip
    return folder


def taught(source, training_text, folder, examples):
    return teach(
        source, training_text, [REPEAT], folder, settings=SETTINGS, examples=examples,
        piece_tokens=4, seed=0, progress=lambda items, _: iter(items),
    )  # fmt: skip


@pytest.mark.slow
def test_the_answer_alone_is_learned_and_the_loss_falls(source, training_text, tmp_path):
    training = taught(source, training_text, tmp_path / "taught", examples=640)
    assert training["loss"].tail(5).mean() < training["loss"].head(5).mean()
    assert training["tokens"].iloc[-1] == 640 * 4
    model = load(tmp_path / "taught")
    assert frame(model, "plain").start == load(source).start_of_text


def test_teaching_again_gives_the_same_model(source, training_text, tmp_path):
    for name in ("one", "two"):
        taught(source, training_text, tmp_path / name, examples=64)
    one, two = (load(tmp_path / name).network.state_dict() for name in ("one", "two"))
    assert all(torch.equal(one[key], two[key]) for key in one)
    before = load(source).network.state_dict()
    assert not all(np.array_equal(before[key], one[key]) for key in one)
