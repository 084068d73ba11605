"""The sequences that prompts are sought for: from lists, from the run's pools, or random."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from memfoil.errors import InvalidConfiguration, InvalidTargets
from memfoil.prompts.chance import generator_of, random_ids
from memfoil.prompts.frames import Frame, Ids
from memfoil.sampling.left_out import listed
from memfoil.tables import TARGETS

WHOLE = "whole"
HALVES = ("first half", "middle half", "last half")
TOO_SHORT = "target of one token"
UNSTABLE = "target does not survive tokenization"
REPEATED = "the same as an earlier target of its set"

Item = tuple[str, Ids, str, str | None]  # name, token ids, text, the original of a paraphrase


def read_list(path: str | Path) -> list[str]:
    """A list of sequences in its published form: a JSON list of strings.

    Raises
    ------
    InvalidTargets
        If the file is missing, is not UTF-8 or JSON, or holds anything but a list of strings.

    Source: the lists of Schwarzschild et al. 2024.
    """
    try:
        entries = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidTargets(f"{path}: not a JSON list of strings in UTF-8: {error}") from error
    if not isinstance(entries, list) or not entries:
        raise InvalidTargets(f"{path}: a JSON list with at least one string is needed")
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, str) or not entry.strip():
            raise InvalidTargets(
                f"{path}: entry {number} is {json.dumps(entry)[:40]}; every entry is a string "
                "that is not empty"
            )
    return entries


def target_ids(frame: Frame, text: str, name: str) -> Ids:
    """The token ids of a target.

    Raises
    ------
    InvalidTargets
        If it is one token long, or its tokens do not spell it again.
    """
    (encoding,) = frame.core.encode_batch_fast([text], add_special_tokens=False)
    ids: Ids = tuple(encoding.ids)
    problem = _problem(frame, ids, text)
    if problem:
        raise InvalidTargets(f"{name}: {text[:60]!r}: {problem}; give another or a longer target")
    return ids


def _problem(frame: Frame, ids: Ids, text: str) -> str | None:
    if len(ids) < 2:
        return TOO_SHORT
    again = frame.core.decode(list(ids), skip_special_tokens=False)
    (encoding,) = frame.core.encode_batch_fast([text], add_special_tokens=False)
    return None if again == text and tuple(encoding.ids) == ids else UNSTABLE


def collect(
    sets: Sequence[Mapping[str, Any]],
    frame: Frame,
    *,
    sequences: pd.DataFrame | None = None,
    splits: pd.DataFrame | None = None,
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The targets of all sets, in their order.

    Parameters
    ----------
    sets : sequence of mappings
        Each with `name`, `role`, and one of: `file` (a list in its published form, with
        `paraphrases_of` another set of the same length), `pool` (the beginnings of the run's
        sequences, `tokens` long; with `repetitions` only those planted so often), or `random`
        (so many sequences of random tokens, between the two lengths of `tokens`). `sequences`
        limits their number; `halves` adds first, middle and last half of each.
    frame : Frame
        A plain one, for its tokenizer.
    sequences, splits : SEQUENCES and SPLITS frames
        Needed where a set names a pool, or repetitions.

    Returns
    -------
    targets, left_out : TARGETS and LEFT_OUT frames

    Raises
    ------
    InvalidTargets
        If a list cannot be read, a set has no usable target, or paraphrases and originals differ
        in number.
    InvalidConfiguration
        If a set names a pool or set that is not there.
    """
    rows: list[tuple[Any, ...]] = []
    left_out: list[tuple[str, str, str]] = []
    for each in sets:
        usable, refused = _usable(each, _items(each, sets, frame, sequences, splits, seed), frame)
        left_out += refused
        for name, ids, text, original in usable:
            pool, role = each["name"], each["role"]
            rows.append((name, pool, role, text, ids, WHOLE, None, original))
            for part in HALVES if each.get("halves") else ():
                piece = half(ids, part)
                words = frame.core.decode(list(piece), skip_special_tokens=False)
                problem = _problem(frame, piece, words)
                if problem:
                    left_out.append((f"{name} {part}", problem, words))
                else:
                    row = (f"{name} {part}", f"{pool}, {part}", role, words, piece, part, name)
                    rows.append((*row, None))
    return pd.DataFrame(rows, columns=TARGETS.names), listed(left_out)


def half(ids: Ids, part: str) -> Ids:
    """Half of a sequence, its length rounded down: the first, the middle or the last."""
    length = len(ids) // 2
    first = {"first half": 0, "middle half": (len(ids) - length) // 2}
    start = first.get(part, len(ids) - length)
    return ids[start : start + length]


def _usable(
    each: Mapping[str, Any], items: Iterator[Item], frame: Frame
) -> tuple[list[Item], list[tuple[str, str, str]]]:
    """The first usable items of a set, as many as it asks for, and what was passed over."""
    usable: list[Item] = []
    left_out: list[tuple[str, str, str]] = []
    seen: set[Ids] = set()
    for name, ids, text, original in items:
        problem = REPEATED if ids in seen else _problem(frame, ids, text)
        if problem:
            left_out.append((name, problem, text))
            continue
        seen.add(ids)
        usable.append((name, ids, text, original))
        if len(usable) == each.get("sequences"):
            break
    if not usable:
        example = f"; the first is {left_out[0][2][:60]!r}: {left_out[0][1]}" if left_out else ""
        raise InvalidTargets(f"target set {each['name']}: no usable target{example}")
    return usable, left_out


def _items(
    each: Mapping[str, Any],
    sets: Sequence[Mapping[str, Any]],
    frame: Frame,
    sequences: pd.DataFrame | None,
    splits: pd.DataFrame | None,
    seed: int,
) -> Iterator[Item]:
    if "file" in each:
        return _listed(each, sets, frame)
    if "pool" in each:
        return _pooled(each, frame, sequences, splits)
    return _random(each, frame, seed)


def _listed(
    each: Mapping[str, Any], sets: Sequence[Mapping[str, Any]], frame: Frame
) -> Iterator[Item]:
    texts = read_list(each["file"])
    originals = _originals(each, sets, len(texts))
    encodings = frame.core.encode_batch_fast(texts, add_special_tokens=False)
    for number, (text, encoding) in enumerate(zip(texts, encodings, strict=True)):
        original = originals[number] if originals else None
        yield f"{each['name']}:{number + 1}", tuple(encoding.ids), text, original


def _originals(
    each: Mapping[str, Any], sets: Sequence[Mapping[str, Any]], length: int
) -> list[str] | None:
    if "paraphrases_of" not in each:
        return None
    files = {other["name"]: other["file"] for other in sets if "file" in other}
    if each["paraphrases_of"] not in files:
        raise InvalidConfiguration(
            f"prompts/sets: {each['name']}: paraphrases_of {each['paraphrases_of']} is no set "
            f"with a file; there are {', '.join(files)}"
        )
    originals = read_list(files[each["paraphrases_of"]])
    if len(originals) != length:
        raise InvalidTargets(
            f"{each['file']}: {length} paraphrases of the {len(originals)} sequences in "
            f"{files[each['paraphrases_of']]}; the n-th paraphrases the n-th"
        )
    return originals


def _pooled(
    each: Mapping[str, Any],
    frame: Frame,
    sequences: pd.DataFrame | None,
    splits: pd.DataFrame | None,
) -> Iterator[Item]:
    if sequences is None or each["pool"] not in set(sequences["pool"]):
        known = "none" if sequences is None else ", ".join(sorted(set(sequences["pool"])))
        raise InvalidConfiguration(
            f"prompts/sets: {each['name']}: pool {each['pool']} is not drawn; there are {known}"
        )
    rows = sequences[sequences["pool"] == each["pool"]]
    if "repetitions" in each:
        if splits is None:
            raise InvalidConfiguration(
                f"prompts/sets: {each['name']}: repetitions are known only with a testbed"
            )
        planted = splits.loc[splits["repetitions"] == each["repetitions"], "passage_id"]
        rows = rows[rows["sequence_id"].isin(planted)]
    for name, ids in zip(rows["sequence_id"], rows["token_ids"], strict=True):
        piece = tuple(int(i) for i in ids[: each["tokens"]])
        yield name, piece, frame.core.decode(list(piece), skip_special_tokens=False), None


def _random(each: Mapping[str, Any], frame: Frame, seed: int) -> Iterator[Item]:
    shortest, longest = each["tokens"]
    for number in range(1, each["random"] + 1):
        name = f"{each['name']}:{number}"
        generator = generator_of(seed, name)
        length = int(torch.randint(shortest, longest + 1, (1,), generator=generator))
        ids = random_ids(frame, length, generator)
        yield name, ids, frame.core.decode(list(ids), skip_special_tokens=False), None
