"""Near-verbatim recall: how much of a reference a text holds in long, nearly unbroken pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memfoil.tracing.blocks import matching_blocks, merged


@dataclass(frozen=True)
class Pass:
    """One round of merging, in hundredths of a word: see `blocks.merged`."""

    gap: int
    difference: int
    keep: int


STANDARD = (Pass(200, 100, 2000), Pass(1000, 300, 10000))


def adaptive_passes(n_words: int) -> tuple[Pass, Pass]:
    """The two rounds scaled to a reference of so many words.

    Shares of n between fixed bounds, never rounded: a block of 3 words does not reach a minimum
    of 3.3.

    Source: PropMe 2026, appendix J.
    """

    def share(percent: int, least: int, most: int) -> int:
        return min(max(percent * n_words, 100 * least), 100 * most)

    return (
        Pass(share(2, 1, 6), share(1, 1, 3), share(15, 2, 20)),
        Pass(share(8, 2, 12), share(3, 1, 5), share(35, 4, 100)),
    )


def near_verbatim_recall(
    reference: Sequence[str], text: Sequence[str], passes: tuple[Pass, ...] = STANDARD
) -> float:
    """Share of the reference's words that lie in near-verbatim blocks of a text.

    The matching blocks of both, then in each pass: neighbours are joined over small gaps, and
    what matches too few words is dropped. The matched words that are left, over all words of the
    reference; words are what white space separates.

    Parameters
    ----------
    reference, text : words
        0 if either is empty.
    passes : by default those for books
        Gaps of at most 2 words that differ by 1, at least 20 words; then 10, 3, and 100.

    Source: Ahmed et al. 2026 (nv-recall).
    """
    number: dict[str, int] = {}
    a, b = (
        np.array([number.setdefault(word, len(number)) for word in words], np.int64)
        for words in (reference, text)
    )
    if not len(a):
        return 0.0
    found = matching_blocks(a, b, len(number))
    blocks = np.column_stack(
        [
            found[:, 0],
            found[:, 0] + found[:, 2],
            found[:, 1],
            found[:, 1] + found[:, 2],
            found[:, 2],
        ]
    )
    for step in passes:
        blocks = merged(blocks, step.gap, step.difference, step.keep)
    return float(blocks[:, 4].sum() / len(a))


def adaptive_recall(generation: str, document: str) -> float:
    """Near-verbatim recall of a generation in a document, with bounds that fit its length.

    Source: PropMe 2026, appendix J.
    """
    words = generation.split()
    return near_verbatim_recall(words, document.split(), adaptive_passes(len(words)))
