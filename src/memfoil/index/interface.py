"""What tracing asks of an index, wherever its files are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from memfoil.errors import InvalidIndex
from memfoil.index.query import Batch, Ids
from memfoil.index.windows import Windows


class Searchable(Protocol):
    """A corpus that can be searched: files here (`Index`), or a service (`RemoteIndex`)."""

    @property
    def vocab_size(self) -> int:
        """Ids are below this."""

    @property
    def tokenizer(self) -> str:
        """Name or digest of the tokenizer of the ids; empty if nobody said."""

    def batch(self, sequences: Sequence[Ids]) -> Batch:
        """Sequences end to end; an id outside the vocabulary raises `InvalidIndex`."""

    def longest_matches(self, sequences: Sequence[Ids]) -> list[np.ndarray]:
        """At every token of each sequence, the length of the longest match that starts there."""

    def ranks(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """First rank of each sequence and one past its last, both (shards, n) int64."""

    def log_unigrams(self, ids: np.ndarray) -> np.ndarray:
        """Natural log of each id's share of the corpus, -inf where it does not occur."""

    def windows(
        self,
        queries: Batch,
        which: np.ndarray,
        shard: np.ndarray,
        rank: np.ndarray,
        context: np.ndarray,
    ) -> Windows:
        """The text around occurrences, `context` tokens on each side as far as documents go.

        Occurrence i is one of sequence `which[i]`: the suffix of a rank in a shard.
        """


def require_tokenizer_of(index: Searchable, *names: str, where: str) -> None:
    """Refuse an index that was built with another tokenizer than the text searched for.

    Parameters
    ----------
    names : str
        What the text's tokenizer may be called: a name, a digest. Where nobody said, in the
        index or here, nothing can be compared.

    Raises
    ------
    InvalidIndex
        Naming both.
    """
    if index.tokenizer and any(names) and index.tokenizer not in names:
        raise InvalidIndex(
            f"{where}: built with the tokenizer {index.tokenizer}, the text searched for is of "
            f"{' or '.join(names)}; encode it with the tokenizer of the index, or build another"
        )
