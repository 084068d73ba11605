"""The text of tokens, and where words and sentences begin and end between them.

The four rules at the end return one flag for every place between the tokens of a text, its two
ends included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

_SENTENCE_END = re.compile(r"""[.!?…]+["'”’»)\]]*(?=\s)|[。！？]+[」』”’）]*|\n""")
_WORD = re.compile(r"[\w\ufffd]")


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads ids below `vocab_size` with a tokenizer of transformers."""

    tokenizer: Any
    vocab_size: int

    def texts(self, sequences: Sequence[np.ndarray]) -> list[str]:
        """What each sequence of ids says, as it would stand inside a longer text."""
        anchored = [[*self._anchor, *ids.tolist()] for ids in sequences]
        return [text[self._anchor_length :] for text in self._decode(anchored)]

    @cached_property
    def pieces(self) -> list[str]:
        """What each id says inside a text, with the space in front where it brings one."""
        anchored = [[*self._anchor, id_] for id_ in range(self.vocab_size)]
        return [text[self._anchor_length :] for text in self._decode(anchored)]

    def _decode(self, sequences: list[list[int]]) -> list[str]:
        return list(self.tokenizer.batch_decode(sequences, clean_up_tokenization_spaces=False))

    @cached_property
    def _anchor(self) -> list[int]:
        """A token to read behind: many tokenizers drop the space in front of a text."""
        return list(self.tokenizer.encode("a", add_special_tokens=False)[-1:])

    @cached_property
    def _anchor_length(self) -> int:
        return len(self._decode([self._anchor])[0])


def places(
    rule: Callable[[Sequence[str]], np.ndarray],
    pieces: Sequence[str],
    ids: np.ndarray,
    bounds: np.ndarray,
) -> np.ndarray:
    """A rule's flags for sequences end to end: places 0..n_ids, true at every bound."""
    flags = np.zeros(len(ids) + 1, bool)
    for start, stop in pairwise(bounds.tolist()):
        flags[start : stop + 1] |= rule([pieces[id_] for id_ in ids[start:stop].tolist()])
    return flags


def word_bounds(texts: Sequence[str]) -> np.ndarray:
    """Places that are not inside a word: not between two letters, digits or underscores.

    Half a character counts as a letter. A script that puts no spaces between words, such as
    Chinese, is one word as far as its characters run.
    """
    inside = [
        bool(left and right and _WORD.match(left[-1]) and _WORD.match(right))
        for left, right in pairwise(texts)
    ]
    return np.array([True, *(not place for place in inside), True])[: len(texts) + 1]


def word_starts(texts: Sequence[str]) -> np.ndarray:
    """Places in front of a token that begins with white space.

    Source: Liu et al. 2025 (OLMoTrace), section 3, and the ids it takes for a word's beginning.
    """
    return _at((i for i, text in enumerate(texts) if text[:1].isspace()), len(texts))


def sentence_ends(texts: Sequence[str]) -> np.ndarray:
    """Places behind which a new sentence or line begins.

    Behind a full stop, question or exclamation mark (and closing quotes or brackets) that white
    space follows, behind those of Chinese and Japanese, and behind a line break. Where the end
    falls inside a token, the place is behind that token. So "Mr. Smith" is cut, "3.14" is not.
    """
    ends = np.cumsum([0, *map(len, texts)])
    marks = [match.end() for match in _SENTENCE_END.finditer("".join(texts))]
    return _at(np.searchsorted(ends, marks), len(texts))


def delimiters(texts: Sequence[str]) -> np.ndarray:
    """Places behind a token that is a period or holds a line break.

    Source: Liu et al. 2025 (OLMoTrace), section 3.
    """
    periods = (i + 1 for i, text in enumerate(texts) if text.strip() == "." or "\n" in text)
    return _at(periods, len(texts))


def _at(marked: Iterable[int], n: int) -> np.ndarray:
    flags = np.zeros(n + 1, bool)
    flags[[0, n, *marked]] = True
    return flags
