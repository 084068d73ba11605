"""A table without its texts: what is counted in them stays, what they say does not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from memfoil.tables import (
    CENSUS_CONTROLS,
    CENSUS_TEXTS,
    COMPRESSION,
    CONTAMINATION,
    GENERATIONS,
    PASSAGES,
    PROMPT_RUNS,
    PROMPTS,
    SEQUENCES,
    TARGETS,
    Provenance,
    Table,
    provenance_of,
)
from memfoil.tables.schema import TOKENS, Column
from memfoil.tracing.texts import normalized

TEXTS: dict[str, tuple[str, ...]] = {
    SEQUENCES.name: ("text",),
    PASSAGES.name: ("text",),
    CONTAMINATION.name: ("control_text", "training_text", "reviewer", "note"),
    CENSUS_TEXTS.name: ("text",),
    CENSUS_CONTROLS.name: ("text", "found_text", "reviewer", "note"),
    TARGETS.name: ("text", "original"),
    PROMPT_RUNS.name: ("prompt", "generation", "shared_words"),
    COMPRESSION.name: ("prompt", "shared_words"),
    PROMPTS.name: ("text", "continuation"),
    GENERATIONS.name: ("text",),
}
"""Columns that hold texts, or the name of a person, by table."""


@dataclass(frozen=True)
class AsMade(Provenance):
    """The provenance that a table had, with the versions that it was made with."""

    content: dict[str, Any] = field(default_factory=dict)

    def metadata(self) -> dict[bytes, bytes]:
        return {b"memfoil": json.dumps(self.content, sort_keys=True).encode()}


def holds_texts(table: Table) -> bool:
    return table.name in TEXTS or any(column.type == TOKENS for column in table.columns)


def write_bare(table: Table, path: Path, to: Path) -> None:
    """Write a table again with a blank for every character of a text, a 0 for every token.

    Whether a generation begins with the true continuation of its prompt is a number's business:
    the continuation becomes its SHA-256, and the generation that of its first characters, as many
    as the continuation has.
    """
    frame = table.read(path)
    bare = frame.assign(**{c.name: _blank(c, frame[c.name]) for c in _emptied(table)})
    if table is PROMPTS:
        bare["continuation"] = _continuations(frame).map(_digest, na_action="ignore")
    if table is GENERATIONS:
        bare["text"] = _beginnings(frame, bare["text"], path)
    origin = provenance_of(path)
    table.write(bare, to, AsMade(origin["stage"], content=origin))


def _emptied(table: Table) -> Iterable[Column]:
    texts = TEXTS.get(table.name, ())
    return [column for column in table.columns if column.type == TOKENS or column.name in texts]


def _blank(column: Column, values: pd.Series) -> pd.Series:
    if column.type == TOKENS:
        return values.map(lambda ids: np.zeros(len(ids), np.int32), na_action="ignore")
    return values.map(lambda text: " " * len(text), na_action="ignore")


def _continuations(prompts: pd.DataFrame) -> pd.Series:
    return prompts["continuation"].map(normalized, na_action="ignore")


def _beginnings(generations: pd.DataFrame, blank: pd.Series, path: Path) -> pd.Series:
    """The digest of each generation's first characters, blanks where its prompt has no truth."""
    place = _prompts_of(path)
    if place is None:
        return blank
    prompts = PROMPTS.read(place)
    ends = dict(zip(prompts["prompt_id"], _continuations(prompts), strict=True))
    true = generations["prompt_id"].map(ends)
    return pd.Series(
        [
            _digest(normalized(text)[: len(end)]) if isinstance(end, str) else empty
            for text, end, empty in zip(generations["text"], true, blank, strict=True)
        ],
        index=generations.index,
        dtype=object,
    )


def _prompts_of(path: Path) -> Path | None:
    """The table of the prompts that generations continue, beside the folder of their model."""
    names = [name for name in provenance_of(path)["inputs"] if "/propensity/prompts/" in name]
    return path.parents[1] / "prompts" / Path(names[0]).name if names else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest() if text else ""
