"""Which document is held against which control, for which model."""

from __future__ import annotations

import csv
import datetime
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from memfoil.errors import InvalidConfiguration, InvalidDocuments

NAME = re.compile(r"[A-Za-z0-9_.-]+")


class Pair(NamedTuple):
    """A document and its control: paths of texts, or ids of the run's documents."""

    pair: str
    document: str
    control: str
    author: str
    document_date: datetime.date
    control_date: datetime.date
    models: tuple[str, ...]


COLUMNS = (*Pair._fields[:-1], "model")


def read_pairs(path: str | Path, models: Collection[str]) -> list[Pair]:
    """Read a table of pairs: tab-separated, UTF-8, one line for each pair and model.

    Parameters
    ----------
    path : path
        With the columns pair, document, control, author, document_date, control_date, model.
        Lines are counted from 1, the header's.
    models : collection of str
        The models of the run.

    Raises
    ------
    InvalidConfiguration
        If the file cannot be read, a column is missing, a cell is empty or not what it must be,
        two lines contradict each other, or document and control are the same.
    """
    pairs: dict[str, Pair] = {}
    for number, row in enumerate(_rows(Path(path)), start=2):
        where = f"{path}: line {number}"
        pair = _pair(row, where, models)
        known = pairs.get(pair.pair)
        for name in Pair._fields[:-1]:
            if known and getattr(known, name) != getattr(pair, name):
                raise InvalidConfiguration(
                    f"{where}: column {name}: pair {pair.pair} has {getattr(known, name)} in a "
                    f"line before, {getattr(pair, name)} here; give the pair another name"
                )
        if known and pair.models[0] in known.models:
            raise InvalidConfiguration(
                f"{where}: pair {pair.pair} and model {pair.models[0]} occur more than once"
            )
        pairs[pair.pair] = pair._replace(models=(*known.models, *pair.models)) if known else pair
    if not pairs:
        raise InvalidConfiguration(f"{path}: no pair; a census needs a document and a control")
    return list(pairs.values())


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            names = reader.fieldnames or []
            for name in COLUMNS:
                if name not in names:
                    raise InvalidConfiguration(f"{path}: line 1: column {name} is missing")
            return [{name: (row[name] or "").strip() for name in COLUMNS} for row in reader]
    except UnicodeDecodeError as error:
        raise InvalidConfiguration(f"{path}: byte {error.start} is not UTF-8") from error
    except OSError as error:
        raise InvalidConfiguration(f"{path}: cannot be read: {error.strerror or error}") from error


def _pair(row: Mapping[str, str], where: str, models: Collection[str]) -> Pair:
    for name in COLUMNS:
        if not row[name]:
            raise InvalidConfiguration(f"{where}: column {name} is empty")
    if not NAME.fullmatch(row["pair"]):
        raise InvalidConfiguration(
            f"{where}: column pair: {row['pair']!r} names files; use letters, digits and _.-"
        )
    if row["model"] not in models:
        raise InvalidConfiguration(
            f"{where}: column model: {row['model']} is not among the run's models, "
            f"{', '.join(models)}; name another table in census/pairs, or census: null"
        )
    if row["document"] == row["control"]:
        raise InvalidConfiguration(
            f"{where}: column control: {row['control']} is the document itself; a control is "
            "another text, which the model has not seen"
        )
    return Pair(
        pair=row["pair"],
        document=row["document"],
        control=row["control"],
        author=row["author"],
        document_date=_day(row, "document_date", where),
        control_date=_day(row, "control_date", where),
        models=(row["model"],),
    )


def _day(row: Mapping[str, str], name: str, where: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(row[name])
    except ValueError as error:
        raise InvalidConfiguration(
            f"{where}: column {name}: {row[name]!r} is not a day; write it as 2024-12-31"
        ) from error


def warnings(
    pairs: Sequence[Pair],
    cutoffs: Mapping[str, datetime.date | None],
    kept_out: Mapping[str, Collection[str]],
) -> list[str]:
    """Pairs whose control the model may have read, one line each.

    Parameters
    ----------
    cutoffs : mapping
        The last day of each model's training text, where it is known.
    kept_out : mapping
        For each model the documents that are known not to be in its training text, whatever
        their date.
    """
    return [
        f"pair {pair.pair}: the control {pair.control} is dated {pair.control_date}, not after "
        f"{cutoff}, the cutoff of {model}: the model may have read it"
        for pair in pairs
        for model in pair.models
        if (cutoff := cutoffs.get(model)) and pair.control_date <= cutoff
        if pair.control not in kept_out.get(model, ())
    ]


def is_path(name: str) -> bool:
    """Is a document of a pair named by a path, and not by its id?"""
    return "/" in name or bool(Path(name).suffix)


def refuse_same_texts(pairs: Iterable[tuple[str, str, str]], texts: Mapping[str, str]) -> None:
    """Refuse a pair whose two texts differ in white space at most.

    Parameters
    ----------
    pairs : iterable of (pair, document, control)
    texts : mapping
        Document id to text.

    Raises
    ------
    InvalidDocuments
    """
    for pair, document, control in pairs:
        if texts[document].split() == texts[control].split():
            raise InvalidDocuments(
                f"pair {pair}: {document} and {control} are the same text; a control is another "
                "text, which the model has not seen"
            )
