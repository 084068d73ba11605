"""A little language: sentences drawn from a few hundred made-up words."""

import numpy as np
import pandas as pd
import pytest

from memfoil.testbed import corpus, train_tokenizer

PLANTED, ONCE, HELD_OUT = 2, 40, 20
REPETITIONS = 30


@pytest.fixture(scope="session")
def passages() -> pd.DataFrame:
    random = np.random.default_rng(0)
    syllables = ["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu"]
    words = ["".join(random.choice(syllables, 3)) for _ in range(300)]
    texts = [" ".join(random.choice(words, 16)) for _ in range(PLANTED + ONCE + HELD_OUT)]
    names = [f"text-{i}:0-{len(text)}" for i, text in enumerate(texts)]
    return pd.DataFrame({"passage_id": names, "text": texts})


@pytest.fixture(scope="session")
def splits(passages: pd.DataFrame) -> pd.DataFrame:
    kinds = ["planted"] * PLANTED + ["training"] * ONCE + ["held-out"] * HELD_OUT
    times = {"planted": REPETITIONS, "training": 1, "held-out": 0}
    return pd.DataFrame(
        {
            "passage_id": passages["passage_id"],
            "split": kinds,
            "repetitions": [times[kind] for kind in kinds],
        }
    )


@pytest.fixture(scope="session")
def tokenizer(passages: pd.DataFrame):
    return train_tokenizer(passages["text"][: PLANTED + ONCE], vocab_size=320)


@pytest.fixture(scope="session")
def training_text(splits, passages, tokenizer) -> pd.DataFrame:
    return corpus(splits, passages, tokenizer, seed=0)
