"""Documents whose place in the training text is decided whole: read, kept out, planted in part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from memfoil.errors import InvalidConfiguration

DOCUMENT = "document"


def placed(
    passages: pd.DataFrame, documents: Sequence[Mapping[str, Any]]
) -> dict[str, tuple[str, int]]:
    """Split and repetitions of every passage of the documents named.

    Parameters
    ----------
    passages : PASSAGES frame
    documents : sequence of mappings
        `document` (its id), `repetitions` (how often it is read; 0 keeps it out, whatever its
        date) and optionally `stretches`, a list of `from_passage` (from 0), `passages` (how many)
        and `repetitions`: consecutive passages that are read so often instead.

    Raises
    ------
    InvalidConfiguration
        If a document has no passage or is named twice, or a stretch leaves it.
    """
    assigned: dict[str, tuple[str, int]] = {}
    for entry in documents:
        name = entry["document"]
        own = passages[passages["document_id"] == name].sort_values("start_char")["passage_id"]
        if own.empty:
            raise InvalidConfiguration(f"testbed: documents: {name} has no passage in this run")
        if own.iloc[0] in assigned:
            raise InvalidConfiguration(f"testbed: documents: {name} occurs more than once")
        assigned |= dict.fromkeys(own, (DOCUMENT, entry["repetitions"]))
        for stretch in entry.get("stretches", []):
            first, count = stretch["from_passage"], stretch["passages"]
            if first + count > len(own):
                raise InvalidConfiguration(
                    f"testbed: documents: {name} has {len(own)} passages; the stretch of {count} "
                    f"from passage {first} on leaves it"
                )
            chosen = own.iloc[first : first + count]
            assigned |= dict.fromkeys(chosen, (DOCUMENT, stretch["repetitions"]))
    return assigned
