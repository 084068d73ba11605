"""The searches of one model: each has its own seed, its row of a table, its line in a journal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from memfoil import models
from memfoil.prompts import gcg
from memfoil.prompts.chance import generator_of
from memfoil.prompts.compression import compression_ratio, miniprompt, shared_words
from memfoil.prompts.elicitation import Elicitation
from memfoil.prompts.frames import Ids, frame
from memfoil.prompts.journal import Journal
from memfoil.prompts.multi_prefix import Recall, budget, prefixes_needed, recall, search_prefixes
from memfoil.prompts.success import judge
from memfoil.tables import COMPRESSION, MULTI_PREFIX, PROMPT_LOSSES, PROMPT_RUNS, Table
from memfoil.tables.schema import FLAG, INTEGER

COMPRESS, PREFIXES = "compression", "multi-prefix"

Progress = Callable[[Iterable[Any], str], Iterator[Any]]
Embed = Callable[[list[str]], np.ndarray]


class Target(NamedTuple):
    """A row of the TARGETS table."""

    sequence_id: str
    text: str
    token_ids: Ids
    original: str | None


class Record(NamedTuple):
    """One finished run: its row of PROMPT_RUNS, and (loss, candidates) of each step."""

    row: dict[str, Any]
    losses: list[tuple[float, int]]


class Searches:
    """Searches in one model and frame. A run that the journal has is not made again.

    With a draft model (in a frame of the same kind) candidates are chosen by probe sampling.
    """

    def __init__(
        self,
        model: models.TorchModel,
        kind: str,
        *,
        top_k: int,
        width: int,
        seed: int,
        journal: Journal,
        draft: models.TorchModel | None = None,
    ) -> None:
        self.model = model
        self.frame = frame(model, kind)
        self.draft = (draft, frame(draft, kind)) if draft else None
        self.top_k = top_k
        self.width = width
        self.seed = seed
        self.journal = journal

    def run(
        self, target: Target, procedure: str, number: int, prompt_tokens: int, steps: int
    ) -> Record:
        """One search, with random numbers of its own; its prompt judged again from its text."""
        name = [procedure, target.sequence_id, number]
        key = json.dumps([*name, prompt_tokens, steps, target.token_ids, target.original])
        known = self.journal.get(key)
        if known is None:
            found = gcg.search(
                Elicitation(self.model, self.frame, target.token_ids),
                prompt_tokens,
                gcg.Settings(steps, self.top_k, self.width),
                generator=generator_of(self.seed, *name),
                draft=self._draft(target),
            )
            losses = [(step.loss, step.candidates) for step in found.steps]
            known = [self._row(target, name, found), losses]
            self.journal.put(key, known)
        return Record(*known)

    def _draft(self, target: Target) -> Elicitation | None:
        if self.draft is None:
            return None
        model, around = self.draft
        (encoding,) = around.core.encode_batch_fast([target.text], add_special_tokens=False)
        return Elicitation(model, around, tuple(encoding.ids))

    def _row(self, target: Target, name: list[Any], found: gcg.Found) -> dict[str, Any]:
        task = Elicitation(self.model, self.frame, target.token_ids)
        original = target.original or ""
        (wanted,) = self.frame.core.encode_batch_fast([original], add_special_tokens=False)
        success = judge(task, found.text, tokens=len(wanted.ids))
        generation = self.frame.core.decode(list(success.generation), skip_special_tokens=False)
        return {
            **dict(zip(("procedure", "sequence_id", "run"), name, strict=True)),
            "prompt_tokens": len(found.prompt),
            "steps": len(found.steps) - 1,
            "loss": success.loss,
            "teacher_forced": success.teacher_forced,
            "generated": success.generated,
            "relaxed": success.relaxed,
            "first_teacher_forced": found.first_teacher_forced,
            "first_generated": found.first_generated,
            "distinct": None,
            "prompt": found.text,
            "prompt_ids": list(found.prompt),
            "generation": generation,
            "shared_words": " ".join(shared_words(found.text, target.text)) or None,
            "original_generated": generation.startswith(original) if original else None,
        }


def compress(
    targets: pd.DataFrame,
    searches: Searches,
    *,
    steps: int,
    longest: float,
    progress: Progress,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """MiniPrompt for every target (see `compression.miniprompt` for `steps` and `longest`).

    Returns
    -------
    PROMPT_RUNS, PROMPT_LOSSES and COMPRESSION frames
    """
    records: list[Record] = []
    rows = []
    for target in progress(list(targets_of(targets)), "compressing"):
        own: list[Record] = []

        def attempt(tokens: int, steps: int, target: Target = target, own: Any = own) -> bool:
            own.append(searches.run(target, COMPRESS, len(own) + 1, tokens, steps))
            return bool(own[-1].row["generated"])

        length = len(target.token_ids)
        shortest = miniprompt(attempt, length, steps=steps, longest=longest)
        rows.append(_compression_row(target, shortest, [record.row for record in own]))
        records += own
    return (*_frames(records), _frame(rows, COMPRESSION))


def _compression_row(
    target: Target, shortest: int | None, runs: list[dict[str, Any]]
) -> dict[str, Any]:
    length = len(target.token_ids)
    best = next((run for run in runs if run["generated"] and run["prompt_tokens"] == shortest), {})
    signs = [r["prompt_tokens"] for r in runs if r["first_teacher_forced"] is not None]
    return {
        "sequence_id": target.sequence_id,
        "target_tokens": length,
        "prompt_tokens": shortest,
        "acr": compression_ratio(length, shortest),
        "acr_teacher_forced": compression_ratio(length, min(signs, default=None)),
        "prompt": best.get("prompt"),
        "shared_words": best.get("shared_words"),
        "runs": len(runs),
        "steps": sum(run["steps"] for run in runs),
    }


def find_prefixes(
    targets: pd.DataFrame,
    searches: Searches,
    embed: Embed,
    *,
    prompt_tokens: int,
    steps: int,
    min_distance: float,
    failures: int,
    progress: Progress,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Multi-prefix memorization of every target (see `multi_prefix.search_prefixes`).

    Each target reaches the model alone, so that none depends on which others are there.

    Returns
    -------
    PROMPT_RUNS, PROMPT_LOSSES and MULTI_PREFIX frames
    """
    records: list[Record] = []
    rows = []
    for target in progress(list(targets_of(targets)), "finding prefixes"):
        (known,) = recall(searches.model, [target.token_ids])
        own: list[Record] = []

        def attempt(run: int, target: Target = target, own: Any = own) -> tuple[str, bool]:
            own.append(searches.run(target, PREFIXES, run, prompt_tokens, steps))
            return own[-1].row["prompt"], bool(own[-1].row["generated"])

        needed = prefixes_needed(known.eta, len(target.token_ids))
        distinct = search_prefixes(
            attempt,
            lambda text: embed([text])[0],
            needed=needed,
            failures=failures,
            min_distance=min_distance,
        )
        for record, flag in zip(own, distinct, strict=True):
            record.row["distinct"] = flag
        rows.append(_prefix_row(target, known, needed, [record.row for record in own]))
        records += own
    return (*_frames(records), _frame(rows, MULTI_PREFIX))


def _prefix_row(
    target: Target, known: Recall, needed: int, runs: list[dict[str, Any]]
) -> dict[str, Any]:
    successes = sum(run["generated"] for run in runs)
    distinct = sum(run["distinct"] for run in runs)
    return {
        "sequence_id": target.sequence_id,
        "target_tokens": len(target.token_ids),
        "eta": known.eta,
        "needed": needed,
        "budget": budget(needed),
        "runs": len(runs),
        "successes": successes,
        "distinct": distinct,
        "success_rate": successes / len(runs) if runs else 0.0,
        "memorized": known.eta > 0 and distinct >= needed,
        "discoverable": known.discoverable,
    }


def targets_of(targets: pd.DataFrame) -> Iterator[Target]:
    """The rows of a TARGETS frame."""
    columns = (targets[name] for name in Target._fields)
    for name, text, ids, original in zip(*columns, strict=True):
        known = original if isinstance(original, str) else None
        yield Target(name, text, tuple(int(i) for i in ids), known)


def _frames(records: list[Record]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows and losses of all runs."""
    losses = []
    for row, steps in records:
        lowest = np.minimum.accumulate([loss for loss, _ in steps])
        for step, (loss, candidates) in enumerate(steps):
            losses.append(
                (
                    row["sequence_id"],
                    row["procedure"],
                    row["run"],
                    step,
                    loss,
                    lowest[step],
                    candidates,
                )
            )
    runs = _frame([row for row, _ in records], PROMPT_RUNS)
    return runs, pd.DataFrame(losses, columns=PROMPT_LOSSES.names)


def _frame(rows: list[dict[str, Any]], table: Table) -> pd.DataFrame:
    """Rows as a table's columns; whole numbers and flags that may be missing stay such."""
    frame = pd.DataFrame(rows, columns=table.names)
    kinds = {INTEGER: "Int64", FLAG: "boolean"}
    return frame.astype(
        {c.name: kinds[c.type] for c in table.columns if c.nullable and c.type in kinds}
    )
