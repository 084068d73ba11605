"""What a table is: its columns, validated reading, atomic writing, provenance."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from memfoil import __version__
from memfoil.errors import InvalidTable
from memfoil.tables.seal import SEAL, UNSEALED, seal
from memfoil.tables.writing import atomic

WRITTEN = {"compression": "zstd", "write_page_checksum": True}
RESTS_ON = ("numpy", "pandas", "pyarrow", "scipy", "torch", "transformers", "tokenizers")

ROWS_TOGETHER = 20_000

NAME = "memfoil.table"
OUTSIDE = "outside:"
"""Before the digest and name of an input that lay outside the working directory of the run."""

TEXT = pa.string()
INTEGER = pa.int64()
REAL = pa.float64()
FLAG = pa.bool_()
DATE = pa.date32()
TOKENS = pa.list_(pa.int32())


@dataclass(frozen=True)
class Column:
    """One column: `log` marks natural logs of probabilities, at most 0, never NaN."""

    name: str
    type: pa.DataType
    meaning: str
    nullable: bool = False
    log: bool = False


@dataclass(frozen=True)
class Provenance:
    """Who made a table and from what. No clock time: the same run writes the same table twice.

    `parameters` are what of the configuration the stage used, as JSON has them; `configuration`
    is their digest.
    """

    stage: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    code: str = ""
    seed: int | None = None

    @property
    def configuration(self) -> str:
        return parameters_digest(self.parameters)

    def metadata(self) -> dict[bytes, bytes]:
        versions = {"memfoil": __version__}
        versions |= {name: importlib.metadata.version(name) for name in RESTS_ON}
        content = {
            "stage": self.stage,
            "inputs": dict(self.inputs),
            "parameters": dict(self.parameters),
            "configuration": self.configuration,
            "code": self.code,
            "seed": self.seed,
            "versions": versions,
        }
        return {b"memfoil": json.dumps(content, sort_keys=True).encode()}


@dataclass(frozen=True)
class Table:
    """The schema of one table.

    `key` columns together are unique. A column that is not in the schema is refused, unless its
    name matches one of `families`: patterns, each with the column that all of a family are like.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    families: Mapping[str, Column] = field(default_factory=dict, hash=False)

    @property
    def names(self) -> list[str]:
        """The columns' names, in their order; without families."""
        return [column.name for column in self.columns]

    def read(
        self,
        path: str | Path,
        columns: list[str] | None = None,
        where: pc.Expression | None = None,
    ) -> pd.DataFrame:
        """Read and validate a Parquet file; dates become datetime64, token ids arrays of int32.

        Only these columns, and only the rows where the expression holds, if they are given.

        Raises
        ------
        InvalidTable
            If the file is missing or damaged, or does not fit this schema.
        """
        if Path(path).is_dir():  # whose files pyarrow would read as one table
            raise _unreadable(path, IsADirectoryError())
        try:
            table = pq.read_table(
                path, columns=columns, filters=where, page_checksum_verification=True
            )
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from error
        return self.validate(table, str(path), complete=columns is None).to_pandas(
            date_as_object=False
        )

    def write(self, frame: pd.DataFrame, path: str | Path, provenance: Provenance) -> None:
        """Validate and write: to a temporary name in the same folder, then renamed."""
        self.write_parts([frame], path, provenance)

    def write_parts(
        self, frames: Iterable[pd.DataFrame], path: str | Path, provenance: Provenance
    ) -> None:
        """Write a table part by part, so that memory holds one part at a time.

        The parts must not share a key, and have the same columns: each is validated alone.
        """
        parts = (self._part(frame, provenance) for frame in frames)
        empty = pd.DataFrame(columns=self.names)
        first = next(parts, self._part(empty, provenance))
        with atomic(path) as temporary:
            with pq.ParquetWriter(temporary, first.schema, **WRITTEN) as writer:
                for part in chain([first], parts):
                    writer.write_table(part)
                writer.add_key_value_metadata({NAME: self.name, SEAL: UNSEALED})
            seal(temporary)

    def _part(self, frame: pd.DataFrame, provenance: Provenance) -> pa.Table:
        table = self.validate(pa.Table.from_pandas(frame, preserve_index=False), self.name)
        return table.replace_schema_metadata(provenance.metadata())

    def read_parts(self, path: str | Path, rows: int) -> Iterator[pd.DataFrame]:
        """Read a table part by part, so that memory holds so many rows at a time.

        Each part is validated alone. Raises what `read` does.
        """
        try:
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                for batch in file.iter_batches(rows):
                    part = self.validate(pa.Table.from_batches([batch]), str(path))
                    yield part.to_pandas(date_as_object=False)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from error

    def join(self, paths: Iterable[str | Path], path: str | Path, provenance: Provenance) -> None:
        """Write several tables as one, in the order given; memory holds `ROWS_TOGETHER` rows.

        No key may be in two of them. Raises what `read` does.
        """
        self.write_parts(
            chain.from_iterable(self.read_parts(each, ROWS_TOGETHER) for each in paths),
            path,
            provenance,
        )

    def validate(self, table: pa.Table, where: str, complete: bool = True) -> pa.Table:
        """Cast to this schema, columns in its order; one line that names the offending value.

        Raises
        ------
        InvalidTable
            If a column is missing, unknown or of another type, a value is null, NaN or positive
            where it must not be, or a key occurs twice.
        """
        known = {column.name: column for column in self.columns}
        unknown = [name for name in table.column_names if name not in known]
        for pattern, member in self.families.items():
            relatives = [name for name in unknown if re.fullmatch(pattern, name)]
            known |= {name: replace(member, name=name) for name in relatives}
        unknown = [name for name in unknown if name not in known]
        if unknown:
            raise InvalidTable(
                f"{where}: unknown column {unknown[0]}; a {self.name} table has "
                f"{', '.join(self.names)}"
            )
        missing = [
            column.name
            for column in self.columns
            if column.name not in table.column_names and not column.nullable
        ]
        if complete and missing:
            raise InvalidTable(f"{where}: column {missing[0]} is missing")
        arrays, fields = [], []
        for name, column in known.items():
            if name in table.column_names:
                arrays.append(_conform(table.column(name), column, where))
            elif complete:
                arrays.append(pa.nulls(len(table), column.type))
            else:
                continue
            fields.append(pa.field(name, column.type, nullable=column.nullable))
        result = pa.table(arrays, schema=pa.schema(fields))
        if complete or set(self.key) <= set(result.column_names):
            self._refuse_repeated_keys(result, where)
        return result

    def _refuse_repeated_keys(self, table: pa.Table, where: str) -> None:
        keys = table.select(list(self.key)).to_pandas()
        repeated = keys.duplicated()
        if repeated.any():
            row = int(np.argmax(repeated.to_numpy()))
            value = ", ".join(f"{name} {keys[name].iloc[row]}" for name in self.key)
            raise InvalidTable(f"{where}: row {row}: {value} occurs more than once")


def _conform(array: pa.ChunkedArray, column: Column, where: str) -> pa.ChunkedArray:
    """Cast one column and check its values."""
    if not len(array):
        return pa.chunked_array([], column.type)
    try:
        array = array.cast(column.type)
        if pa.types.is_string(column.type):
            array.validate(full=True)  # a text that is not UTF-8
    except pa.ArrowException as error:
        raise InvalidTable(
            f"{where}: column {column.name}: {array.type} where {column.type} is needed: {error}"
        ) from error
    if array.null_count and not column.nullable:
        row = int(np.argmax(array.is_null().to_numpy()))
        kind = "NaN" if pa.types.is_floating(column.type) else "an empty value"
        raise InvalidTable(f"{where}: column {column.name}, row {row}: {kind} is not allowed here")
    if pa.types.is_list(column.type) and pc.list_flatten(array).null_count:
        inside = pc.list_parent_indices(array).filter(pc.is_null(pc.list_flatten(array)))
        raise InvalidTable(
            f"{where}: column {column.name}, row {inside[0]}: an empty value in the list"
        )
    if column.log:
        values = array.to_numpy()
        bad = np.isnan(values) & array.is_valid().to_numpy() | (values > 0)
        if bad.any():
            row = int(np.argmax(bad))
            raise InvalidTable(
                f"{where}: column {column.name}, row {row}: {values[row]} is not the natural log "
                "of a probability (at most 0, -inf allowed)"
            )
    return array


def _unreadable(path: str | Path, error: Exception) -> InvalidTable:
    """A table that is missing, cut short, or has bits changed: Parquet's checksums find those."""
    if not Path(path).exists():
        return InvalidTable(f"{path}: there is no such file")
    if Path(path).is_dir():
        return InvalidTable(f"{path}: a folder; name a file in it")
    made_again = "if memfoil made it, delete it and run again"
    return InvalidTable(f"{path}: not a readable Parquet file: {error}; {made_again}")


def digest(path: str | Path) -> str:
    """SHA-256 of a file, or of the names and digests of a folder's files, in order."""
    path = Path(path)
    if path.is_dir():
        parts = [(str(p.relative_to(path)), digest(p)) for p in path.rglob("*") if p.is_file()]
        return hashlib.sha256(json.dumps(sorted(parts)).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def input_name(path: str | Path, value: str) -> str:
    """How provenance names an input with the digest `value`: its path from the working directory.

    Of one outside, `OUTSIDE`, eight digits of the digest and its last name: no path of a machine,
    no bucket.
    """
    place = Path(os.path.abspath(path))  # noqa: PTH100 - a link is where it lies
    if place.is_relative_to(Path.cwd()) and "://" not in str(path):
        return str(place.relative_to(Path.cwd()))
    return f"{OUTSIDE}{value[:8]}:{place.name}"


def parameters_digest(parameters: Mapping[str, Any]) -> str:
    """SHA-256 of the parameters of a stage."""
    return hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()


def footer(path: str | Path) -> pq.FileMetaData:
    """What stands at the end of a Parquet file: how many rows it has, and its writer's notes.

    Raises
    ------
    InvalidTable
        If the file is missing, or not Parquet.
    """
    try:
        return pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


def provenance_of(path: str | Path) -> dict[str, Any]:
    """The provenance that `Table.write` put into a Parquet file.

    Raises
    ------
    InvalidTable
        If the file is not Parquet, or was not written by memfoil.
    """
    metadata = footer(path).metadata or {}
    if b"memfoil" not in metadata:
        raise InvalidTable(f"{path}: holds no provenance; it was not written by memfoil")
    return json.loads(metadata[b"memfoil"])
