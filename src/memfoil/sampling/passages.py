"""Documents cut into passages of so many words."""

from __future__ import annotations

import re

import pandas as pd

from memfoil.errors import InvalidConfiguration, InvalidDocuments
from memfoil.sampling.left_out import listed
from memfoil.tables import PASSAGES

SHORT_DOCUMENT = "document shorter than a passage"
REMAINDER = "rest of a document, shorter than a passage"


def cut(documents: pd.DataFrame, words: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cut documents into consecutive passages of `words` words between white space.

    A passage runs from the first character of its first word to the last of its last:
    `text == document_text[start_char:end_char]`, character for character.

    Returns
    -------
    passages, left_out : DataFrame
        PASSAGES and LEFT_OUT tables; what follows the last whole passage of a document, and
        documents without one, are left out.

    Raises
    ------
    InvalidConfiguration
        If `words` is not positive.
    InvalidDocuments
        If no document is long enough.
    """
    if words < 1:
        raise InvalidConfiguration(f"passages: words is {words}; it must be at least 1")
    rows: list[tuple[int, int, int]] = []
    left_out: list[tuple[str, str, str]] = []
    longest = 0
    names, texts = documents["document_id"].tolist(), documents["text"].tolist()
    for row, (name, text) in enumerate(zip(names, texts, strict=True)):
        spans = [match.span() for match in re.finditer(r"\S+", text)]
        longest = max(longest, len(spans))
        whole = len(spans) // words * words
        rows += [
            (row, spans[first][0], spans[first + words - 1][1]) for first in range(0, whole, words)
        ]
        rest = f"{len(spans) - whole} of {words} words"
        if not whole:
            left_out.append((name, SHORT_DOCUMENT, rest))
        elif whole < len(spans):
            left_out.append((_passage_id(name, spans[whole][0], spans[-1][1]), REMAINDER, rest))
    if not rows:
        raise InvalidDocuments(
            f"passages: no document has the {words} words of a passage (the longest has "
            f"{longest}); choose fewer words or longer documents"
        )
    order, starts, ends = map(list, zip(*rows, strict=True))
    # The columns first: a long text taken once for each of its passages would fill the memory.
    passages = documents[["document_id", "date", "source"]].iloc[order].reset_index(drop=True)
    passages["passage_id"] = [_passage_id(names[row], start, end) for row, start, end in rows]
    passages["start_char"], passages["end_char"] = starts, ends
    passages["text"] = [texts[row][start:end] for row, start, end in rows]
    return passages[PASSAGES.names], listed(left_out)


def _passage_id(document_id: str, start: int, end: int) -> str:
    return f"{document_id}:{start}-{end}"
