"""Every conclusion of an export computed again from its scores, without a model."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from memfoil.audit.again import AGAIN
from memfoil.audit.export import MANIFEST
from memfoil.audit.jobs import Job, jobs_of
from memfoil.errors import InvalidConfiguration, MemfoilError
from memfoil.tables import Table, digest, is_sound, provenance_of, table_of

MOST_FILES = 100_000
MOST_BYTES = 1 << 38
UNREADABLE = (MemfoilError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What the tables of an export that says anything at all may lead to."""


class Verification(NamedTuple):
    """Tables that were computed again, those that only their digest was checked of, and what
    does not match: one line each."""

    checked: list[str]
    by_digest: list[str]
    problems: list[str]

    def as_text(self) -> str:
        lines = [f"computed again: {name}" for name in self.checked]
        lines += [f"by its digest alone: {name}" for name in self.by_digest]
        verdict = "Does not match." if self.problems else "Everything matches."
        return "\n".join([*lines, *self.problems, verdict])


def verify(archive: str | Path) -> Verification:
    """Check an export: its files, their chain, and each conclusion from the scores.

    What a model, a text or an index alone can say (token scores, verdicts on controls, prompts
    found, what a generation reproduces) is checked by its digest.

    Raises
    ------
    InvalidConfiguration
        If it is no export: no zip file, no manifest, names that lead out of it, too large, or
        without a result.
    """
    with TemporaryDirectory() as folder:
        root = Path(folder)
        names = _unpack(Path(archive), root)
        tables = [name for name in names if name.endswith(".parquet")]
        problems = list(_files_that_differ(root, names))
        if problems:
            return Verification([], tables, problems)
        problems += _broken_links(root, names)
        checked: list[str] = []
        for job in jobs_of(root, tables):
            for name, problem in _computed(job):
                checked += [name] if name else []
                problems += [problem] if problem else []
        if not checked and not problems:
            raise InvalidConfiguration(f"{archive}: not an export: it holds no result")
        return Verification(checked, sorted(set(tables) - set(checked)), problems)


def _computed(job: Job) -> Iterator[tuple[str | None, str | None]]:
    """The tables of a job that were computed again, each with how it differs, if it does."""
    if job.stage not in AGAIN:
        return
    try:
        for name, frame in AGAIN[job.stage](job):
            yield name, next(_differences(name, frame, job.root / name), None)
    except UNREADABLE as error:
        said = " ".join(str(error).replace(f"{job.root}/", "").split())
        yield None, f"{job.outputs[0]}: cannot be computed again: {said}"


def _unpack(path: Path, folder: Path) -> dict[str, dict[str, str]]:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            names = [entry.filename for entry in entries]
            unsafe = [n for n in names if n.startswith("/") or "\\" in n or ".." in n.split("/")]
            if unsafe or len(set(names)) < len(names):
                raise InvalidConfiguration(f"{path}: not an export: names that lead out of it")
            size = sum(entry.file_size for entry in entries)  # zipfile gives no byte more
            if len(names) > MOST_FILES or size > MOST_BYTES:
                raise InvalidConfiguration(f"{path}: not an export: {size} bytes are too many")
            for entry in entries:
                target = folder / PurePosixPath(entry.filename)
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as source, target.open("wb") as file:
                    shutil.copyfileobj(source, file, 1 << 20)
        listing: dict[str, dict[str, str]] = json.loads((folder / MANIFEST).read_text())
    except (zipfile.BadZipFile, OSError, ValueError, EOFError) as error:
        raise InvalidConfiguration(f"{path}: not a whole export: {error}") from error
    return listing


def _files_that_differ(folder: Path, names: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    there = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()} - {MANIFEST}
    yield from (f"{name}: missing" for name in sorted(set(names) - there))
    yield from (f"{name}: not in the manifest" for name in sorted(there - set(names)))
    for name in sorted(there & set(names)):
        path = folder / name
        if digest(path) != names[name]["sha256"]:
            yield f"{name}: not what was exported"
        elif path.suffix == ".parquet":
            try:
                if not is_sound(path):
                    yield f"{name}: does not hold the bytes that memfoil wrote"
            except ValueError as error:
                yield f"{name}: {error}"


def _broken_links(folder: Path, names: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for name in sorted(names):
        if name.endswith(".parquet"):
            for source, value in provenance_of(folder / name)["inputs"].items():
                if source in names and names[source]["made_from"] != value:
                    yield f"{name}: was made from another {source}"


def _differences(name: str, made: pd.DataFrame, path: Path) -> Iterator[str]:
    """The first column and row in which the table of the export is another."""
    table = table_of(path)
    key = list(table.key)
    stated = table.read(path).sort_values(key, ignore_index=True)
    made = _as_read(table, made).sort_values(key, ignore_index=True)[list(stated.columns)]
    if len(made) != len(stated):
        yield f"{name}: {len(stated)} rows where the scores give {len(made)}"
        return
    for column in stated.columns:
        unlike = _unlike(stated[column], made[column])
        if unlike.any():
            row = int(unlike.to_numpy().argmax())
            named = ", ".join(f"{k} {stated[k].iloc[row]}" for k in key)
            yield (
                f"{name}: {column} of {named} is {stated[column].iloc[row]}; "
                f"the scores give {made[column].iloc[row]} ({int(unlike.sum())} rows differ)"
            )
            return


def _as_read(table: Table, frame: pd.DataFrame) -> pd.DataFrame:
    """A frame as it would come back from the table it is written to."""
    made = table.validate(pa.Table.from_pandas(frame, preserve_index=False), "computed again")
    return made.to_pandas(date_as_object=False)


def _unlike(stated: pd.Series, made: pd.Series) -> pd.Series:
    """Which values differ; reals by more than rounding on another machine may."""
    if not pd.api.types.is_float_dtype(stated):
        return stated.ne(made) & ~(stated.isna() & made.isna())
    near = np.isclose(stated, made.astype(float), rtol=1e-9, atol=1e-9, equal_nan=True)
    return pd.Series(~near)
