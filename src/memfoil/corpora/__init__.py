"""Dated documents from packages and files, in one shape."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from memfoil.corpora import jsonl, mediawiki, parquet, sotu
from memfoil.corpora.left_out import LeftOut
from memfoil.errors import InvalidConfiguration, InvalidDocuments
from memfoil.tables import DOCUMENTS, LEFT_OUT, Table

Record = dict[str, Any]
READERS: dict[str, Callable[[Mapping[str, Any]], Iterator[tuple[str, Record | LeftOut]]]] = {
    "sotu": sotu.records,
    "jsonl": jsonl.records,
    "parquet": parquet.records,
    "mediawiki": mediawiki.records,
}
FILES = {"jsonl": ("path",), "parquet": ("path",), "mediawiki": ("earlier", "later")}
OPTIONAL = [column.name for column in DOCUMENTS.columns if column.nullable]
REQUIRED = [column.name for column in DOCUMENTS.columns if not column.nullable]
NO_TEXT = "no text"


def read(sources: Sequence[Mapping[str, Any]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read all documents of all sources, in their order.

    Parameters
    ----------
    sources : sequence of mappings
        `{"reader": "sotu"}`, or `{"reader": "jsonl" | "parquet", "path": file}` with the keys
        `document_id`, `text`, `date`, `source` and optionally `title`, `author` in the file; or
        `{"reader": "mediawiki", "earlier": dump, "later": dump}`.
        A `source` here stands in where the file gives none.

    Returns
    -------
    documents, left_out : DataFrame
        DOCUMENTS and LEFT_OUT tables. A document of white space alone is left out, and what a
        reader does not take.

    Raises
    ------
    InvalidConfiguration
        If a source names no known reader, or no file where the reader needs one.
    InvalidDocuments
        If a file is missing or damaged, a value is missing, unknown or not what it must be, an id
        occurs twice, or no document is left. The message names file and line (or row).
    """
    seen: dict[str, str] = {}
    documents: list[Record] = []
    left_out: list[Record] = []
    for where, record in _records(sources):
        if isinstance(record, LeftOut):
            left_out.append(record._asdict())
            continue
        name = record["document_id"]
        if name in seen:
            raise InvalidDocuments(
                f"{where}: document_id {name!r} is that of {seen[name]} already; "
                "give each document its own"
            )
        seen[name] = where
        if record["text"].isspace() or not record["text"]:
            left_out.append({"item_id": name, "reason": NO_TEXT, "detail": where})
        else:
            documents.append(record)
    if not documents:
        names = ", ".join(str(place) for source in sources for place in _places(source))
        raise InvalidDocuments(f"{names or 'sources'}: no document with text in it")
    return _frame(DOCUMENTS, documents), _frame(LEFT_OUT, left_out)


def _places(source: Mapping[str, Any]) -> list[Any]:
    """Where a source's documents come from: its files, or the name of its reader."""
    return [source[key] for key in FILES.get(source["reader"], ())] or [source["reader"]]


def _records(sources: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Record | LeftOut]]:
    for source in sources:
        reader = source.get("reader")
        if reader not in READERS:
            raise InvalidConfiguration(
                f"corpora: reader {reader!r} is unknown; there are {', '.join(READERS)}"
            )
        missing = [key for key in FILES.get(reader, ()) if key not in source]
        if missing:
            raise InvalidConfiguration(f"corpora: a {reader} source needs {missing[0]}: a file")
        for where, record in READERS[reader](source):
            if isinstance(record, LeftOut):
                yield where, record
            else:
                yield where, _checked(record, where, source.get("source"))


def _checked(record: Record, where: str, default_source: str | None) -> Record:
    """The record with every key of a document, each value checked."""
    unknown = [key for key in record if key not in REQUIRED and key not in OPTIONAL]
    if unknown:
        raise InvalidDocuments(
            f"{where}: unknown key {unknown[0]!r}; a document has {', '.join(REQUIRED)}, "
            f"and may have {', '.join(OPTIONAL)}"
        )
    record = {key: value for key, value in record.items() if value is not None}
    if default_source is not None:
        record.setdefault("source", default_source)
    missing = [key for key in REQUIRED if key not in record]
    if missing:
        raise InvalidDocuments(f"{where}: {missing[0]} is missing")
    for key in record.keys() - {"date"}:
        _check_text(record[key], key, where)
    if not record["document_id"]:
        raise InvalidDocuments(f"{where}: document_id is empty; give the document a name")
    return {**dict.fromkeys(OPTIONAL), **record, "date": _day(record["date"], where)}


def _check_text(value: Any, key: str, where: str) -> None:
    if not isinstance(value, str):
        raise InvalidDocuments(f"{where}: {key} must be text, not {value!r:.60}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidDocuments(
            f"{where}: {key}: character {error.start} is half a surrogate pair, which UTF-8 "
            "cannot hold; mend or remove it"
        ) from error


def _day(value: Any, where: str) -> datetime.date:
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    try:
        return datetime.date.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise InvalidDocuments(
            f"{where}: date {value!r:.60} is not a day; write it as 2024-12-31"
        ) from error


def _frame(table: Table, records: list[Record]) -> pd.DataFrame:
    """Records as the table's own frame, just as if it had been read from a file."""
    columns = {c.name: [record[c.name] for record in records] for c in table.columns}
    schema = pa.schema([(c.name, c.type) for c in table.columns])
    return table.validate(pa.table(columns, schema=schema), table.name).to_pandas(
        date_as_object=False
    )
