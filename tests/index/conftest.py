import tempfile
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from memfoil.index import build, open_index

# Hundreds of builds, each of which waits for the disk: better in memory, where there is one.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


def corpus_of(documents):
    return pd.DataFrame(
        {"document_id": [f"doc {i}" for i in range(len(documents))], "token_ids": documents}
    )


@pytest.fixture(scope="session")
def indexed():
    """`with indexed(documents, vocab_size=..., shards=...) as index`."""

    @contextmanager
    def opened(documents, **settings):
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            build(corpus_of(documents), Path(folder) / "index", **settings)
            yield open_index(Path(folder) / "index", threads=2)

    return opened


@pytest.fixture(scope="session")
def corpus():
    """A CORPUS frame of documents given as lists of ids."""
    return corpus_of
