"""Random documents of a training text, from its index alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from memfoil.errors import InvalidConfiguration
from memfoil.index import Index, Place, Searchable
from memfoil.propensity.keys import number


def random_documents(index: Searchable, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """Every document once, name and ids, in a random order that `name` decides.

    Documents are drawn one by one and those drawn before are passed over, so that no list of
    them is needed.

    Raises
    ------
    InvalidConfiguration
        If the index is a service, which lists no documents.
    """
    if not isinstance(index, Index):
        raise InvalidConfiguration(
            "propensity: training documents are drawn from the index, and a hosted one lists "
            "none; name a folder with an index"
        )
    ends = np.cumsum([len(shard.offsets) for shard in index.shards])
    generator = np.random.default_rng(number(name))
    drawn: set[int] = set()
    while len(drawn) < ends[-1]:
        candidate = int(generator.integers(ends[-1]))
        if candidate in drawn:
            continue
        drawn.add(candidate)
        shard = int(np.searchsorted(ends, candidate, side="right"))
        document = candidate - (int(ends[shard - 1]) if shard else 0)
        place = Place(
            index.shards[shard].number, document, 0, index.shards[shard].document_id(document)
        )
        yield place.document_id, index.document(place)
