import tempfile
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import settings
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from memfoil.index import build, open_index
from memfoil.tracing import Reader

settings.register_profile("tracing", deadline=None)  # the first call may compile
settings.load_profile("tracing")

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
TEXT = (
    "It was a bright cold day in April. The clocks were striking thirteen! Winston said: "
    "“Is it 3.14 miles?” Nobody knew. 一二三。四五 the ﬁrst naïve café\n\n"
) * 3


@pytest.fixture(scope="session")
def indexed():
    """`with indexed(documents, vocab_size=..., shards=...) as index`."""

    @contextmanager
    def opened(documents, **options):
        corpus = pd.DataFrame(
            {"document_id": [f"d{i}" for i in range(len(documents))], "token_ids": documents}
        )
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            build(corpus, Path(folder) / "index", **options)
            yield open_index(Path(folder) / "index", threads=2)

    return opened


@pytest.fixture(scope="session")
def generations():
    """A GENERATIONS frame of lists of ids, named g0, g1, ..."""

    def frame(*sequences):
        return pd.DataFrame(
            {
                "generation_id": [f"g{i}" for i in range(len(sequences))],
                "token_ids": pd.Series(list(sequences), dtype=object),
            }
        )

    return frame


def byte_level():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator([TEXT], trainer)
    return tokenizer


def metaspace():
    """Like Llama 2: a word begins with a low bar, and the first space of a text is dropped."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=150, special_tokens=["<unk>"])
    tokenizer.train_from_iterator([TEXT], trainer)
    return tokenizer


@pytest.fixture(scope="session", params=[byte_level, metaspace])
def any_reader(request):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=request.param())
    return Reader(tokenizer, len(tokenizer))


@pytest.fixture(scope="session")
def reader():
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=byte_level())
    return Reader(tokenizer, len(tokenizer))
