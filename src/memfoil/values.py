"""Values of a configuration that YAML gives and no schema refuses."""

from __future__ import annotations

import datetime
import math
import string
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from memfoil.errors import InvalidConfiguration

DAYS = ("from", "to", "first", "cutoff")
"""Keys whose values are days."""


def refuse_unusable(values: Any, where: str) -> None:
    """Refuse numbers that are none, text that does not fit on one line, and text read as a date.

    Raises
    ------
    InvalidConfiguration
        Naming the key and the value.
    """
    for place, value in _leaves(values, ""):
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidConfiguration(f"{where}: {place}: {value}: a finite number is needed")
        if isinstance(value, str) and any(unicodedata.category(each) == "Cc" for each in value):
            raise InvalidConfiguration(
                f"{where}: {place}: {value!r:.80} holds a line break or a character that cannot "
                "be shown; take it out"
            )
        if isinstance(value, datetime.date) and place.rpartition("/")[2] not in DAYS:
            raise InvalidConfiguration(
                f"{where}: {place}: YAML takes {value} for a date; put it in quotes"
            )


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Each key and each value that holds no others, with the keys that lead there."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield place or "the keys", key
            yield from _leaves(item, f"{place}/{key}".lstrip("/"))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _leaves(item, f"{place}/{number}")
    else:
        yield place, value


def require_tokenizer_alone(path: str, key: str) -> None:
    """Refuse a path with anything else in braces than `{tokenizer}`.

    Raises
    ------
    InvalidConfiguration
    """
    try:
        fields = [parts[1:] for parts in string.Formatter().parse(path) if parts[1] is not None]
    except ValueError:
        fields = [("", "", None)]
    if any(field != ("tokenizer", "", None) for field in fields):
        raise InvalidConfiguration(
            f"{key}: {path!r}: of what stands in braces only {{tokenizer}} is known"
        )
