"""A small training text in plain English, its tokenizer and index."""

import pandas as pd
import pytest
from hypothesis import settings
from small_world import passages

from memfoil.index import build, open_index
from memfoil.models import tokenizer_digest
from memfoil.propensity.sentences import everyday, whole_sentences
from memfoil.testbed import train_tokenizer

settings.register_profile("propensity", deadline=None)  # the first call may compile
settings.load_profile("propensity")


@pytest.fixture(scope="session")
def training():
    return passages(120, 1, "training", sentences=8)


@pytest.fixture(scope="session")
def tokenizer(training):
    return train_tokenizer([*training["text"], *everyday()["text"]], vocab_size=700)


@pytest.fixture(scope="session")
def index(training, tokenizer, tmp_path_factory):
    names = [f"{name}{'#2' * twice}" for name in training["document_id"] for twice in (0, 1)]
    texts = [text for text in training["text"] for _ in (0, 1)]
    ids = tokenizer(texts, add_special_tokens=False).input_ids
    corpus = pd.DataFrame({"document_id": names, "token_ids": ids})
    folder = tmp_path_factory.mktemp("training") / "index"
    build(
        corpus, folder, vocab_size=len(tokenizer), tokenizer=tokenizer_digest(tokenizer), shards=2
    )
    return open_index(folder, threads=2)


@pytest.fixture(scope="session")
def unseen(training):
    """Two sources that were not trained on; one passage holds a sentence of the training text."""
    frame = pd.concat([passages(60, 21, "letters"), passages(9, 22, "diaries")], ignore_index=True)
    stolen = whole_sentences(training["text"][0])[2]
    frame.loc[2, "text"] = f"Before it. {stolen} After"
    return frame
