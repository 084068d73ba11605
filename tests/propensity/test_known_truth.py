"""A small model whose training text is known: what was planted comes back, and nothing else."""

import numpy as np
import pandas as pd
import pytest
from small_world import passages

from memfoil.index import build, open_index
from memfoil.models import load
from memfoil.propensity.details import extracted
from memfoil.propensity.metric import propensity
from memfoil.propensity.spans import span_rates, span_scores
from memfoil.scoring.sampling import Decoding, generate
from memfoil.tables import SPAN_SCORES, Provenance
from memfoil.testbed import Settings, train, train_tokenizer
from memfoil.tracing import Reader, maximal_spans, reproduced, trace

pytestmark = pytest.mark.slow

TINY = Settings(
    hidden_size=48,
    intermediate_size=96,
    layers=2,
    heads=2,
    context_tokens=160,
    batch_passages=4,
    muon_learning_rate=0.04,
    adamw_learning_rate=0.01,
    adamw_betas=(0.9, 0.95),
    warmup_steps=3,
    decay_share=0.3,
    clip_norm=1.0,
)
PLANTED, ONCE, TIMES = 4, 60, 60
PREFIX, LONG = 12, 20


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Generations of three kinds of prompts, and their measures in training text and foil."""
    folder = tmp_path_factory.mktemp("truth")
    read, other = passages(PLANTED + ONCE, 7, "read", 4), passages(PLANTED + ONCE, 8, "other", 4)
    tokenizer = train_tokenizer(read["text"], vocab_size=400)
    order = np.random.default_rng(0).permutation(
        [n for n in range(PLANTED + ONCE) for _ in range(TIMES if n < PLANTED else 1)]
    )
    opened = {}
    for name, frame in (("training", read), ("foil", other)):
        ids = tokenizer(list(frame["text"]), add_special_tokens=False).input_ids
        corpus = pd.DataFrame(
            {
                "document_id": [f"{name} {k}" for k in range(len(order))],
                "token_ids": [np.array(ids[n], np.int32) for n in order],
            }
        )
        build(corpus, folder / name, vocab_size=len(tokenizer))
        opened[name] = open_index(folder / name, threads=1)
        if name == "training":
            passages_ids = ids
            train(
                corpus, tokenizer, folder / "model", settings=TINY, seed=0,
                progress=lambda items, label: iter(items),
            )  # fmt: skip
    prompts = pd.DataFrame(
        [(f"planted {n}", "prefix", passages_ids[n][:PREFIX], 10) for n in range(PLANTED)]
        + [(f"once {n}", "generic", passages_ids[n][:PREFIX], 10) for n in range(PLANTED, 40)]
        + [(f"none {n}", "unconditional", [], 1) for n in range(200)],
        columns=["prompt_id", "setting", "token_ids", "generations"],
    )
    model = load(folder / "model")
    generations = generate(model, prompts, Decoding(0.7, 0.95, None, 40), seed=42)
    reader = Reader(tokenizer, len(tokenizer))
    measured = {}
    for name, index in opened.items():
        spans = pd.concat(maximal_spans(generations, index))
        traces = pd.concat(trace(generations, index, seed=1, reader=reader))
        measured[name] = reproduced(generations, spans, traces, index, reader)
    texts = [tokenizer.decode(ids[PREFIX : PREFIX + LONG]) for ids in passages_ids]
    known = prompts.assign(
        continuation=[texts[int(name.split()[1])] if ids else None
                      for name, ids in zip(prompts.prompt_id, prompts.token_ids, strict=True)]
    )  # fmt: skip
    return generations, measured, known, folder


def long_share(world, text, prompt):
    generations, measured, _, _ = world
    of = generations.prompt_id.str.startswith(prompt).to_numpy()
    return (measured[text].longest_unlooped[of] >= LONG).mean()


def test_prefixes_of_planted_passages_reproduce_and_others_do_not(world):
    assert long_share(world, "training", "planted") > 0.8
    assert long_share(world, "training", "once") < 0.1
    generations, _, known, _ = world
    true = extracted(generations, known)
    assert true[generations.setting == "prefix"].mean() > 0.8
    assert true[generations.setting == "generic"].mean() < 0.05


def test_without_a_prompt_the_model_recites_what_was_planted(world):
    """It starts as its training documents do, of which four fifths are planted passages."""
    assert long_share(world, "training", "none") > 0.3
    generations, measured, _, _ = world
    rates = propensity(
        measured["training"], generations, measured["foil"], resamples=200, seed=1
    ).set_index(["setting", "subset", "metric"])
    found = rates.loc["unconditional", "all", "R20"]
    assert found.f == pytest.approx(long_share(world, "training", "none"))
    assert found.foil_high < found.f_low
    assert found.pm == pytest.approx(found.f / (found.f + found.f_c))


def test_the_foil_tells_memory_from_predictability(world):
    """Sentences made of few words are predictable: short spans occur everywhere, long ones not."""
    generations, measured, _, folder = world
    assert measured["foil"].longest_unlooped.mean() >= 5
    assert long_share(world, "foil", "planted") == 0
    path = folder / "scores.parquet"
    scores = span_scores(measured["training"], measured["foil"], generations)
    SPAN_SCORES.write(scores, path, Provenance("test"))
    rates = span_rates(path, generations, [0.05], resamples=200, seed=1).set_index("setting")
    assert rates.loc["prefix", "calibrated_low"] > 0.5
    assert rates.loc["unconditional", "calibrated_low"] > 0.2
    assert rates.loc["prefix", "tau"] < LONG
