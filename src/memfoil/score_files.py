"""Reading a file of scores that somebody else made, Parquet or CSV, with every value checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from memfoil.errors import InvalidScores, InvalidTable
from memfoil.nulls import GROUP_KEY, ROLES

SCORES = ("log_score", "score")
LARGEST = (1 << 31) - 1
COLUMNS = ("role", *SCORES, *GROUP_KEY, "sequence_id")


def read(path: str | Path) -> tuple[pd.DataFrame, str]:
    """Read and check a file of scores; returns its rows and the name of the score column.

    Rows are counted from 0, without the header.

    Raises
    ------
    InvalidTable
        If the file is missing, empty, damaged or not UTF-8, or a column or value is unfit.
    InvalidScores
        If a score is NaN or a log-score positive.
    """
    path = Path(path)
    if not path.is_file():
        what = "a folder; name a file in it" if path.is_dir() else "no such file"
        raise InvalidTable(f"{path}: {what}")
    table = _csv(path) if path.suffix.lower() == ".csv" else _parquet(path)
    present = [name for name in SCORES if name in table.column_names]
    if len(present) == 2:
        raise InvalidTable(f"{path}: columns log_score and score: keep the one that is meant")
    for name in ("role", *(present or ["log_score (or score)"])):
        if name not in table.column_names:
            raise InvalidTable(f"{path}: column {name} is missing")
    repeated = [name for name in table.column_names if table.column_names.count(name) > 1]
    if repeated:
        raise InvalidTable(f"{path}: column {repeated[0]} occurs more than once")
    if not len(table):
        raise InvalidTable(f"{path}: the table has no rows")
    column = present[0]
    columns: dict[str, Any] = {"role": _roles(table, path), column: _scores(table, column, path)}
    if "procedure" in table.column_names:
        columns["procedure"] = _texts(table, "procedure", path)
    if "suffix_tokens" in table.column_names:
        columns["suffix_tokens"] = _whole_numbers(table, path)
    frame = pd.DataFrame(columns)
    if "sequence_id" in table.column_names:
        frame["sequence_id"] = _texts(table, "sequence_id", path)
        _refuse_repeated(frame, path)
    return frame, column


def _csv(path: Path) -> pa.Table:
    """The columns that count as text, so that the checks of values are ours."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidTable(f"{path}: {error.strerror}") from error
    if not content.strip():
        raise InvalidTable(f"{path}: the file is empty")
    try:
        header = content.decode().splitlines()[0]
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidTable(
            f"{path}: line {line}: byte 0x{content[error.start]:02x} is not UTF-8; save the file "
            "as UTF-8"
        ) from None
    if "," not in header and (";" in header or "\t" in header):
        raise InvalidTable(
            f"{path}: line 1: {header!r:.60} is one column; separate columns by commas, and write "
            "numbers with a point"
        )
    try:
        return pyarrow.csv.read_csv(
            pa.BufferReader(content),
            # A reader's thread that still ends while the process does would abort it; a line that
            # does not fit into a block, it refuses.
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False, block_size=min(len(content), LARGEST)
            ),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(COLUMNS, pa.string())
            ),
        )
    except pa.ArrowException as error:
        raise InvalidTable(f"{path}: not a readable CSV file: {error}") from error


def _parquet(path: Path) -> pa.Table:
    try:
        names = pq.read_schema(path).names
        return pq.read_table(
            path,
            columns=[name for name in COLUMNS if name in names],
            page_checksum_verification=True,
        )
    except (pa.ArrowException, OSError) as error:
        raise InvalidTable(f"{path}: not a readable Parquet file: {error}") from error


def _texts(table: pa.Table, name: str, path: Path) -> list[str]:
    try:
        values = table.column(name).cast(pa.string()).to_pylist()
    except pa.ArrowException as error:
        raise InvalidTable(f"{path}: column {name}: text is needed: {error}") from error
    for row, value in enumerate(values):
        if not value:
            raise InvalidTable(f"{path}: column {name}, row {row}: an empty value")
    return values


def _roles(table: pa.Table, path: Path) -> list[str]:
    roles = _texts(table, "role", path)
    for row, role in enumerate(roles):
        if role not in ROLES:
            raise InvalidTable(
                f"{path}: column role, row {row}: {role!r:.60} is no role; use candidate or control"
            )
    return roles


def _scores(table: pa.Table, name: str, path: Path) -> NDArray[np.float64]:
    values = _numbers(table, name, path)
    if np.isnan(values).any():
        row = int(np.argmax(np.isnan(values)))
        raise InvalidScores(f"{path}: column {name}, row {row}: NaN is not a score")
    if name == "log_score" and (values > 0).any():
        row = int(np.argmax(values > 0))
        raise InvalidScores(
            f"{path}: column log_score, row {row}: {values[row]:g} is positive, so not the natural "
            "log of a probability; a score of another kind goes into a column named score"
        )
    return values


def _numbers(table: pa.Table, name: str, path: Path) -> NDArray[np.float64]:
    column = table.column(name)
    if pa.types.is_string(column.type) and path.suffix.lower() == ".csv":
        return np.array(
            [_number(text, name, row, path) for row, text in enumerate(column.to_pylist())]
        )
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise InvalidTable(f"{path}: column {name}: it holds {kind}, numbers are needed")
    return column.cast(pa.float64(), safe=False).to_numpy()


def _number(text: str, name: str, row: int, path: Path) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        raise InvalidTable(
            f"{path}: column {name}, row {row}: {text!r:.60} is not a number"
        ) from None


def _whole_numbers(table: pa.Table, path: Path) -> NDArray[np.int64]:
    values = _numbers(table, "suffix_tokens", path)
    bad = ~((values >= 1) & (values <= LARGEST) & (values == np.floor(values)))
    if bad.any():
        row = int(np.argmax(bad))
        raise InvalidTable(
            f"{path}: column suffix_tokens, row {row}: {values[row]:g} is no number of tokens"
        )
    return values.astype(np.int64)


def _refuse_repeated(frame: pd.DataFrame, path: Path) -> None:
    keys = ["sequence_id", *(name for name in GROUP_KEY if name in frame)]
    repeated = frame.duplicated(keys).to_numpy()
    if repeated.any():
        row = int(np.argmax(repeated))
        value = ", ".join(f"{name} {frame[name].iloc[row]}" for name in keys)
        raise InvalidTable(f"{path}: row {row}: {value} occurs more than once")
