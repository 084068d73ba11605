"""Parrot prompts: they hold the target and ask for it, so that success says nothing of memory."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from memfoil import models
from memfoil.errors import InvalidTemplates
from memfoil.prompts.frames import Frame, Ids
from memfoil.prompts.success import greedy
from memfoil.tables import PARROTS

PLACEHOLDER = "{target}"
COLUMNS = ("template_id", "kind", "template")
KINDS = ("repeat", "copy", "coax")
ROWS = 64  # sequences that generate together

Progress = Callable[[Iterable[Any], str], Iterator[Any]]


class Template(NamedTuple):
    """A prompt with a place for the target; any other brace in it is itself."""

    template_id: str
    kind: str
    template: str

    def fill(self, target: str) -> str:
        return self.template.replace(PLACEHOLDER, target)


def read_templates(path: str | Path) -> list[Template]:
    """A CSV table of templates: `template_id`, `kind` (repeat, copy, coax) and `template`.

    Raises
    ------
    InvalidTemplates
        If the file or a column is missing, a kind is unknown, an id occurs twice, or a template
        has no `{target}`.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidTemplates(f"{path}: not a readable CSV file in UTF-8: {error}") from error
    if not rows:
        raise InvalidTemplates(f"{path}: no template; give at least one row under the header")
    for name in COLUMNS:
        if rows[0].get(name) is None:
            raise InvalidTemplates(f"{path}: column {name} is missing")
    seen: set[str] = set()
    for number, row in enumerate(rows):
        where = f"{path}: row {number}, template {row['template_id']!r}"
        if PLACEHOLDER not in (row["template"] or ""):
            raise InvalidTemplates(
                f"{where}: no {PLACEHOLDER} in {row['template']!r}; write it where the target goes"
            )
        if row["kind"] not in KINDS:
            raise InvalidTemplates(f"{where}: kind {row['kind']!r} is none of {', '.join(KINDS)}")
        if not row["template_id"] or row["template_id"] in seen:
            raise InvalidTemplates(f"{where}: each template needs an id of its own")
        seen.add(row["template_id"])
    return [Template(*(row[name] for name in COLUMNS)) for row in rows]


def parrot(
    model: models.TorchModel,
    frame: Frame,
    targets: pd.DataFrame,
    templates: Iterable[Template],
    progress: Progress,
) -> pd.DataFrame:
    """Both success tests of every template, filled with every target.

    Returns
    -------
    PARROTS frame

    Raises
    ------
    InvalidModel
        If a prompt and its target are longer than the model's context.
    """
    pairs = [
        (template, name, template.fill(text), tuple(int(i) for i in ids))
        for template in templates
        for name, text, ids in zip(
            targets["sequence_id"], targets["text"], targets["token_ids"], strict=True
        )
    ]
    prompts = frame.read([text for _, _, text, _ in pairs])
    goals = [ids for _, _, _, ids in pairs]
    start = len(frame.start)
    scores = model.score(
        [
            models.Sequence(name, [*prompt[start:], *goal], len(prompt) - start)
            for (_, name, _, _), prompt, goal in zip(pairs, prompts, goals, strict=True)
        ],
        (),
    )
    ends = np.cumsum([len(goal) for goal in goals])[:-1]
    logs, ranks = (np.split(values, ends) for values in (scores.log_probability, scores.rank))
    written = _generations(model, prompts, goals, progress)
    frame_rows = [
        (name, template.template_id, template.kind, log.sum(), bool((rank == 1).all()), wrote)
        for (template, name, _, _), log, rank, wrote in zip(
            pairs, logs, ranks, written, strict=True
        )
    ]
    return pd.DataFrame(frame_rows, columns=PARROTS.names)


def _generations(
    model: models.TorchModel, prompts: list[list[int]], goals: list[Ids], progress: Progress
) -> list[bool]:
    """Whether greedy generation writes each goal; prompts and goals of one length together."""
    shapes = [(len(prompt), len(goal)) for prompt, goal in zip(prompts, goals, strict=True)]
    batches = []
    for shape in sorted(set(shapes)):
        rows = [i for i, own in enumerate(shapes) if own == shape]
        batches += [rows[i : i + ROWS] for i in range(0, len(rows), ROWS)]
    written = [False] * len(goals)
    for batch in progress(batches, "parrot prompts"):
        tokens = greedy(model, torch.tensor([prompts[i] for i in batch]), len(goals[batch[0]]))
        for i, row in zip(batch, tokens.tolist(), strict=True):
            written[i] = tuple(row) == goals[i]
    return written
