"""What is read often is known by heart; a seed is a model; a killed training leaves none."""

import json
import resource
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from memfoil.errors import InvalidConfiguration, InvalidModel, InvalidTable
from memfoil.tables import CORPUS, TRAINING, Provenance
from memfoil.testbed import Settings, train

TINY = Settings(
    hidden_size=32,
    intermediate_size=64,
    layers=2,
    heads=2,
    context_tokens=64,
    batch_passages=4,
    muon_learning_rate=0.04,
    adamw_learning_rate=0.01,
    adamw_betas=(0.9, 0.95),
    warmup_steps=3,
    decay_share=0.3,
    clip_norm=1.0,
)


def silent(items, label):
    return iter(items)


def fit(corpus, tokenizer, folder, settings=TINY, seed=0):
    return train(corpus, tokenizer, folder, settings=settings, seed=seed, progress=silent)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("testbed") / "model"


@pytest.fixture(scope="module")
def course(training_text, tokenizer, folder) -> pd.DataFrame:
    return fit(training_text, tokenizer, folder)


def log_probability(model, ids: list[int]) -> float:
    """Mean natural log-probability of the second half of a text given its first, in float64."""
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].double()
    steps = logits.log_softmax(-1)[:-1].gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
    return float(steps[len(ids) // 2 :].mean())


def test_planted_passages_are_known_better_than_any_held_out_one(course, folder, splits, passages):
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = AutoTokenizer.from_pretrained(folder)(passages["text"].tolist()).input_ids
    scores = np.array([log_probability(model, passage) for passage in ids])
    planted = scores[splits["split"] == "planted"]
    held_out = scores[splits["split"] == "held-out"]
    assert planted.min() > held_out.max()


def test_the_course_of_training(course, training_text, tmp_path):
    TRAINING.write(course, tmp_path / "training.parquet", Provenance("train"))
    assert len(course) == -(-len(training_text) // TINY.batch_passages)
    assert course["tokens"].iloc[-1] == training_text["token_ids"].map(len).sum()
    assert course["loss"].iloc[0] == pytest.approx(np.log(320), abs=1)
    assert course["loss"].iloc[-5:].mean() < 0.7 * course["loss"].iloc[0]
    rates = course["learning_rate"]
    assert rates.max() == TINY.muon_learning_rate
    assert rates.iloc[0] == pytest.approx(TINY.muon_learning_rate / TINY.warmup_steps)
    assert rates.iloc[TINY.warmup_steps - 1 :].is_monotonic_decreasing
    assert 0 < rates.iloc[-1] < 0.2 * rates.max()


@pytest.mark.slow
def test_a_seed_is_a_model(course, training_text, tokenizer, folder, tmp_path):
    again = fit(training_text, tokenizer, tmp_path / "again")
    assert again.equals(course)
    files = sorted(path.name for path in folder.iterdir())
    assert files == sorted(path.name for path in (tmp_path / "again").iterdir())
    assert all((tmp_path / "again" / n).read_bytes() == (folder / n).read_bytes() for n in files)
    other = fit(training_text, tokenizer, tmp_path / "other", seed=1)
    assert not other["loss"].equals(course["loss"])


def test_padding_changes_nothing(training_text, tokenizer, tmp_path):
    """The loss of a batch is that of its passages one by one, weighted by their tokens."""
    pair = training_text.head(2).copy()
    pair["token_ids"] = [pair["token_ids"][0], pair["token_ids"][1][:5]]
    one_step = replace(TINY, batch_passages=2, warmup_steps=0)
    together = fit(pair, tokenizer, tmp_path / "a", one_step)
    assert together["tokens"].tolist() == [len(pair["token_ids"][0]) + 5]
    alone = [fit(pair[i : i + 1], tokenizer, tmp_path / "b", one_step) for i in (0, 1)]
    weighted = sum(course["loss"][0] * course["tokens"][0] for course in alone)
    assert together["loss"][0] == pytest.approx(weighted / together["tokens"][0], rel=1e-3)


KILLED = """
import json, os, signal, sys
from transformers import AutoTokenizer
from memfoil.tables import CORPUS
from memfoil.testbed import Settings, train

corpus, tokenizer, folder, settings = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(tokenizer)
# the weights are written by then, the tokenizer is not
tokenizer.save_pretrained = lambda folder: os.kill(os.getpid(), signal.SIGKILL)
train(CORPUS.read(corpus).head(4), tokenizer, folder, settings=Settings(**json.loads(settings)),
      seed=0, progress=lambda items, label: items)
"""


@pytest.mark.slow
def test_a_training_killed_while_it_saves_leaves_no_model(training_text, tokenizer, tmp_path):
    CORPUS.write(training_text, tmp_path / "corpus.parquet", Provenance("corpus"))
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    model = tmp_path / "run" / "model"
    paths = [tmp_path / "corpus.parquet", tmp_path / "tokenizer", model]
    command = [sys.executable, "-c", KILLED, *map(str, paths), json.dumps(asdict(TINY))]
    assert subprocess.run(command, check=False).returncode == -9
    assert not model.exists()
    fit(training_text.head(4), tokenizer, model)
    assert [path.name for path in model.parent.iterdir()] == ["model"]
    assert AutoTokenizer.from_pretrained(model).bos_token == "<s>"


def test_a_full_disk_leaves_no_model(training_text, tokenizer, tmp_path):
    """A limit on the size of files stands in for the disk."""
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, unlimited[1]))
    try:
        with pytest.raises(InvalidModel, match="model: cannot be written"):
            fit(training_text.head(4), tokenizer, tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert not any(tmp_path.iterdir())


def test_a_later_training_replaces_an_older_model(training_text, tokenizer, tmp_path):
    model: Path = tmp_path / "model"
    fit(training_text.head(4), tokenizer, model)
    (model / "left-over").touch()
    fit(training_text.head(4), tokenizer, model, seed=1)
    assert not (model / "left-over").exists()


def test_mistakes_are_named(training_text, tokenizer, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").touch()
    with pytest.raises(InvalidModel, match="notes: exists and is not a model folder"):
        fit(training_text, tokenizer, tmp_path / "notes")
    assert (tmp_path / "notes" / "diary.txt").exists()
    with pytest.raises(InvalidConfiguration, match="context_tokens 8: passage text-"):
        fit(training_text, tokenizer, tmp_path / "model", replace(TINY, context_tokens=8))
    with pytest.raises(InvalidConfiguration, match="no passage to train on"):
        fit(training_text.head(0), tokenizer, tmp_path / "model")
    foreign = training_text.head(1).assign(token_ids=[[len(tokenizer)]])
    with pytest.raises(InvalidTable, match="outside the tokenizer's 320"):
        fit(foreign, tokenizer, tmp_path / "model")
    with pytest.raises(InvalidConfiguration, match="hidden_size 32 is not a multiple"):
        replace(TINY, heads=3)
