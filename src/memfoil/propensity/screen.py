"""Sentences that a training text does not hold: what may be a prompt of ordinary use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from memfoil.encoding import encode
from memfoil.index import Searchable
from memfoil.tracing.reproduction import reproduced
from memfoil.tracing.texts import normalized
from memfoil.tracing.trace import maximal_spans, trace
from memfoil.tracing.words import Reader

REPEATED = "the same prompt again"
IN_INDEX = "occurs whole in the index"

LeftOut = list[tuple[str, str, str]]
"""Rows of a LEFT_OUT table."""


@dataclass(frozen=True)
class Screen:
    """Takes out the sentences that the training text holds whole, whatever stands before them.

    Source: PropMe 2026, section 4.2 (no verbatim training text in non-adversarial prompts).
    """

    index: Searchable
    tokenizer: Any
    seed: int

    def __call__(self, frame: pd.DataFrame, left_out: LeftOut) -> pd.DataFrame:
        """The rows kept, with `token_ids`, `tokens` and `longest`, their own longest span.

        Each sentence is looked up as at the start of a text and as behind a space, and in the
        normal form of the documents that its spans lead to.
        """
        names = list(frame["prompt_id"])
        starting, inside = (
            token_ids(self.tokenizer, [space + text for text in frame["text"]])
            for space in ("", " ")
        )
        both = pd.DataFrame(
            {
                "generation_id": [f"{place} {name}" for place in "ab" for name in names],
                "token_ids": pd.concat([starting, inside], ignore_index=True),
            }
        )
        measured = self._measured(both)
        of = measured.set_index("generation_id")
        whole, longest = (
            np.stack([of[column].reindex([f"{p} {n}" for n in names]) for p in "ab"])
            for column in ("whole", "longest")
        )
        occurs = (whole != "no").any(axis=0)
        left_out += [
            (name, IN_INDEX, next(label for label in labels if label != "no"))
            for name, labels in zip(names, whole.T, strict=True)
            if (labels != "no").any()
        ]
        result = frame.assign(
            token_ids=starting, tokens=starting.map(len), longest=longest.max(axis=0)
        )
        return result[~occurs].reset_index(drop=True)

    def _measured(self, generations: pd.DataFrame) -> pd.DataFrame:
        reader = Reader(self.tokenizer, self.index.vocab_size)
        spans = pd.concat(maximal_spans(generations, self.index), ignore_index=True)
        traces = pd.concat(
            trace(generations, self.index, seed=self.seed, reader=reader), ignore_index=True
        )
        return reproduced(generations, spans, traces, self.index, reader)


def unrepeated(frame: pd.DataFrame, left_out: LeftOut) -> pd.DataFrame:
    """The rows whose text, in normal form, no row before them has."""
    first: dict[str, str] = {}
    for name, text in zip(frame["prompt_id"], frame["text"], strict=True):
        kept = first.setdefault(normalized(text), name)
        if kept != name:
            left_out.append((name, REPEATED, f"as {kept}"))
    return frame[frame["prompt_id"].isin(first.values())].reset_index(drop=True)


def token_ids(tokenizer: Any, texts: list[str]) -> pd.Series:
    """Each text as ids of a tokenizer, without start-of-text."""
    encoded = encode(tokenizer, texts)
    return pd.Series([np.array(e.token_ids, np.int32) for e in encoded], dtype=object)
