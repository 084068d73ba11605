"""`memfoil index build`: from a table of token ids to an index."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from memfoil import tables
from memfoil.errors import InvalidConfiguration, InvalidTable
from memfoil.index.build import build

LARGEST_VOCABULARY = 2**31 - 1
"""Tables hold ids of four bytes with a sign."""


def build_index(tokens: str, out: str, vocab_size: int | None, tokenizer: str, shards: int) -> str:
    """Build an index from a CORPUS file; a line that says what was built.

    Raises
    ------
    InvalidTable, InvalidIndex, InvalidModel, InvalidConfiguration
        With one line: see `build`.
    """
    if shards < 1:
        raise InvalidConfiguration(f"--shards {shards}: an index has at least one shard")
    corpus = tables.CORPUS.read(tokens)
    if corpus.empty:
        raise InvalidTable(f"{tokens}: the table has no rows: no document to index")
    name = tokenizer
    if tokenizer and Path(tokenizer).is_dir():
        from memfoil.models import load_tokenizer, tokenizer_digest  # seconds, and seldom needed

        loaded = load_tokenizer(tokenizer)
        name = tokenizer_digest(loaded)
        vocab_size = len(loaded) if vocab_size is None else vocab_size
    build(
        corpus,
        out,
        vocab_size=_smallest_that_holds(corpus) if vocab_size is None else vocab_size,
        tokenizer=name,
        shards=shards,
    )
    n_tokens = sum(map(len, corpus["token_ids"]))
    return f"{out}: {n_tokens:,} tokens of {len(corpus):,} documents"


def _smallest_that_holds(corpus: pd.DataFrame) -> int:
    """All ids of two bytes but the separator, or all of four if one is needed."""
    largest = max((ids.max() for ids in corpus["token_ids"] if len(ids)), default=0)
    return (1 << 16) - 1 if largest < (1 << 16) - 1 else LARGEST_VOCABULARY
