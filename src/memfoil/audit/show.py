"""What a table is, who made it from what, how it begins, and what was left out on the way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
from tabulate import tabulate

from memfoil.errors import InvalidTable
from memfoil.tables import LEFT_OUT, TABLES, Table, provenance_of

ROWS = 5
WIDTH = 40
"""Characters of a value that are shown."""


def show(path: str | Path) -> str:
    """A table told to a person.

    Raises
    ------
    InvalidTable
        If the file is not Parquet, or was not written by memfoil.
    """
    path = Path(path)
    origin = provenance_of(path)
    frame = pq.read_table(path).to_pandas(date_as_object=False)
    table = _schema(list(frame.columns))
    versions = [f"{name} {version}" for name, version in origin["versions"].items()]
    made = {
        "what": f"{table.name}: {table.meaning}",
        "rows": f"{len(frame):,}",
        "made by": f"stage {origin['stage']}, memfoil {origin['versions']['memfoil']}",
        "seed": "none" if origin["seed"] is None else str(origin["seed"]),
        "rests on": ", ".join(versions[1:]),
    }
    columns = {column.name: column.meaning for column in table.columns}
    parts = [
        tabulate(made.items(), tablefmt="plain"),
        "From:\n" + _listed({name: value[:12] for name, value in origin["inputs"].items()}),
        "With:\n" + _listed(origin["parameters"]),
        "Columns:\n" + _listed({name: columns.get(name, "") for name in frame}),
        _left_out(path),
        "First rows:\n" + _first(frame),
    ]
    return "\n\n".join(parts)


def _schema(columns: list[str]) -> Table:
    """The table that has these columns; the one that says most, should several allow them."""
    fitting = [table for table in TABLES if _fits(table, set(columns))]
    if not fitting:
        raise InvalidTable(f"no table of this version of memfoil has the columns {columns}")
    return max(fitting, key=lambda table: len({c.name for c in table.columns} & set(columns)))


def _fits(table: Table, columns: set[str]) -> bool:
    known = {column.name for column in table.columns}
    needed = {column.name for column in table.columns if not column.nullable}
    return needed <= columns and (columns <= known or bool(table.families))


def _left_out(path: Path) -> str:
    """Counts by reason, from the list beside the table or the table itself."""
    lists = [base / "left_out" / path.relative_to(base) for base in path.parents]
    if "left_out" in path.parts:
        lists = [path]
    beside = next((place for place in lists if place.is_file()), None)
    if beside is None:
        return "Left out: this stage keeps no list."
    counts = LEFT_OUT.read(beside)["reason"].value_counts()
    if counts.empty:
        return f"Left out: nothing ({beside})."
    return f"Left out ({beside}):\n" + _listed(counts.to_dict())


def _listed(pairs: Mapping[Any, Any]) -> str:
    rows = [(f"  {name}", value) for name, value in pairs.items()]
    return tabulate(rows, tablefmt="plain", disable_numparse=True) if rows else "  nothing"


def _first(frame: pd.DataFrame) -> str:
    rows = frame.head(ROWS).map(lambda value: _short(str(value)))
    return tabulate(rows.to_numpy().tolist(), list(rows.columns), disable_numparse=True)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
