"""JSON Lines: one document a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memfoil.errors import InvalidDocuments


def records(source: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each line that is not blank as (where, record); a byte-order mark is passed over.

    Raises
    ------
    InvalidDocuments
        If the file cannot be read, a line is not UTF-8 (the message gives the byte in the file),
        or not a JSON object.
    """
    path = Path(source["path"])
    start = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                where = f"{path}, line {number}"
                text = _decode(line, start, where)
                if number == 1:
                    text = text.removeprefix("\ufeff")
                if text.strip():
                    yield where, _object(text, where)
                start += len(line)
    except OSError as error:
        raise InvalidDocuments(f"{path}: cannot be read: {error.strerror}") from error


def _decode(line: bytes, start: int, where: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        offset = start + error.start
        raise InvalidDocuments(
            f"{where}: byte {offset} of the file is not UTF-8; convert the file to UTF-8"
        ) from error


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InvalidDocuments(f"{where}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidDocuments(f"{where}: a document must be a JSON object, not {text.strip():.60}")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object, unless a key stands in it twice: json would keep the last in silence."""
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {max(keys, key=keys.count)!r} occurs twice")
    return result
