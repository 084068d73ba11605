"""Every conclusion of an export computed again from its scores, without a model."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from memfoil import calibration, scoring, tables
from memfoil.audit.export import MANIFEST
from memfoil.errors import InvalidConfiguration, InvalidTable, MemfoilError
from memfoil.tables import Table, digest, is_sound, provenance_of

MOST_FILES = 100_000
MOST_BYTES = 1 << 38

Made = tuple[str, Table, pd.DataFrame]


def verify(archive: str | Path) -> tuple[list[str], list[str]]:
    """Check an export: its files, their chain, and each conclusion from the scores.

    Returns
    -------
    checked, problems : list of str
        Tables that were computed again, and what does not match.

    Raises
    ------
    InvalidConfiguration
        If it is no export: no zip file, no manifest, names that lead out of it, or too large.
    """
    with TemporaryDirectory() as folder:
        names = _unpack(Path(archive), Path(folder))
        problems = list(_files_that_differ(Path(folder), names))
        if problems:
            return [], problems
        problems += _broken_links(Path(folder), names)
        checked = []
        for path in sorted(Path(folder).glob("results/*/calibration/*/claims.parquet")):
            try:
                for name, table, frame in _made_again(path.parents[2], path.parent.name):
                    checked.append(name)
                    problems += _differences(name, table, frame, Path(folder) / name)
            except (MemfoilError, KeyError) as error:
                problems.append(f"{path.relative_to(folder)}: cannot be computed: {error}")
        return checked, problems


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


def _made_again(run: Path, model: str) -> Iterator[Made]:
    """Scores, thresholds, rates, operating points, claims and validity of one model."""
    place = f"results/{run.name}"
    root = run.parents[1]
    of_scores = provenance_of(run / f"scores/{model}.parquet")["parameters"]
    scores = scoring.derive(
        tables.TOKEN_SCORES.read(run / f"token_scores/{model}.parquet"),
        procedures=of_scores["procedures"],
        suffix_lengths=range(1, of_scores["suffix_tokens"] + 1),
    )
    yield f"{place}/scores/{model}.parquet", tables.SCORES, scores
    folder = f"{place}/calibration/{model}"
    origin = provenance_of(root / folder / "claims.parquet")
    given: dict[str, Any] = origin["parameters"]
    read = {name.split("/")[2]: root / name for name in origin["inputs"]}
    sequences = tables.SEQUENCES.read(read["sequences"])
    contamination = tables.CONTAMINATION.read(read["contamination"])
    match = tables.MATCH.read(read["match"])
    splits = tables.SPLITS.read(read["testbed"]) if "testbed" in read else None
    lengths = given["suffix_tokens"]
    drawn = (scores, sequences, contamination)
    thresholds = calibration.thresholds(
        *drawn, alphas=given["alphas"], confidence=given["confidence"]
    )
    yield f"{folder}/thresholds.parquet", tables.THRESHOLDS, thresholds
    rates = calibration.rates(scores, sequences, thresholds, match, splits)
    yield f"{folder}/rates.parquet", tables.RATES, rates
    points = calibration.operating_points(
        *drawn, match, suffix_tokens=lengths, points=given["operating_points"]
    )
    yield f"{folder}/operating_points.parquet", tables.RATES, points
    claims = calibration.claims(
        *drawn,
        thresholds,
        match,
        suffix_tokens=lengths,
        queries=given["query_budget"],
        success=given["success"],
        seed=given["seed"],
    )
    yield f"{folder}/claims.parquet", tables.CLAIMS, claims
    validity = root / folder / "validity.parquet"
    if validity.exists():
        asked = provenance_of(validity)["parameters"]
        frame = calibration.validity(
            *drawn,
            suffix_tokens=asked["suffix_tokens"],
            alphas=asked["alphas"],
            n_splits=asked["splits"],
            seed=asked["seed"],
        )
        yield f"{folder}/validity.parquet", tables.VALIDITY, frame


def _differences(name: str, table: Table, made: pd.DataFrame, path: Path) -> Iterator[str]:
    """The first column and row in which the table of the export is another."""
    key = list(table.key)
    try:
        stated = table.read(path).sort_values(key, ignore_index=True)
    except InvalidTable as error:
        yield f"{name}: {error}"
        return
    made = made.sort_values(key, ignore_index=True)[list(stated.columns)]
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


def _unlike(stated: pd.Series, made: pd.Series) -> pd.Series:
    """Which values differ; reals by more than rounding on another machine may."""
    if not pd.api.types.is_float_dtype(stated):
        return stated.ne(made)
    made = made.astype(float)
    near = (stated - made).abs() <= 1e-9 * (1 + made.abs())
    return ~(near | stated.eq(made) | (stated.isna() & made.isna()))
