"""One file for another person: the scores of a run, what was concluded, and no text."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from memfoil.audit.chain import audit
from memfoil.errors import InvalidConfiguration, InvalidTable
from memfoil.tables import (
    CONTAMINATION,
    SEQUENCES,
    Provenance,
    Table,
    atomic,
    digest,
    provenance_of,
)

MANIFEST = "manifest.json"
WHOLE = (
    "token_scores/*.parquet",
    "scores/*.parquet",
    "match/*.parquet",
    "testbed/splits.parquet",
    "calibration/*/*.parquet",
    "calibration/*/*.svg",
    "summary.md",
    "methods.md",
)
TEXTS = {
    "sequences/*.parquet": (SEQUENCES, ("text", "token_ids")),
    "contamination/*.parquet": (CONTAMINATION, ("control_text", "training_text", "note")),
}
"""Tables whose texts stay behind: no number is computed from them."""
EARLY = (1980, 1, 1, 0, 0, 0)


def export(run: str | Path, to: str | Path) -> str:
    """Write the audit of a run into a zip file, the same bytes every time.

    Texts and token ids stay behind, those of `TEXTS` as empty values; so do indexes and models.

    Returns
    -------
    str
        What was written, one line.

    Raises
    ------
    InvalidConfiguration
        If the run has no calibration.
    InvalidTable
        If a table of the run does not hold what memfoil wrote, or names a place of this machine.
    """
    folder = Path(run)
    if not list(folder.glob("calibration/*/claims.parquet")):
        raise InvalidConfiguration(f"{run}: no calibration/*/claims.parquet; name results/<run>")
    found = audit(folder)
    broken = [p for p in found.problems if p.file.endswith(".parquet")]
    if broken:
        raise InvalidTable(f"{broken[0].file}: {broken[0].what}; run memfoil audit {run} first")
    names = {}
    with (
        atomic(to) as temporary,
        TemporaryDirectory(dir=temporary.parent) as scratch,
        zipfile.ZipFile(temporary, "w") as archive,
    ):
        for name, path, source in _files(folder, Path(scratch)):
            _refuse_places(name, path)
            names[name] = {"sha256": digest(path), "made_from": digest(source)}
            _put(archive, name, path)
        listing = Path(scratch) / MANIFEST
        listing.write_text(json.dumps(names, indent=1, sort_keys=True))
        _put(archive, MANIFEST, listing)
    return f"{to}: {len(names)} files, {Path(to).stat().st_size / 1e6:.1f} MB"


def _files(folder: Path, scratch: Path) -> Iterator[tuple[str, Path, Path]]:
    """Name in the archive, file to put there, file of the run that it stands for."""
    place = f"results/{folder.name}"
    for pattern in WHOLE:
        for path in sorted(folder.glob(pattern)):
            yield f"{place}/{path.relative_to(folder)}", path, path
    for pattern, (table, texts) in TEXTS.items():
        for path in sorted(folder.glob(pattern)):
            bare = scratch / "bare.parquet"
            _without(table, texts, path, bare)
            yield f"{place}/{path.relative_to(folder)}", bare, path
    for path in sorted(Path("envs").glob("*")):
        yield f"envs/{path.name}", path, path


def _without(table: Table, texts: tuple[str, ...], path: Path, to: Path) -> None:
    frame = table.read(path)
    for column in table.columns:
        if column.name in texts:
            nothing: Any = None if column.nullable else ""
            empty: Any = [] if pa.types.is_list(column.type) else nothing
            frame[column.name] = pd.Series([empty] * len(frame), index=frame.index, dtype=object)
    made = provenance_of(path)
    fields = ("stage", "inputs", "parameters", "code", "seed")
    table.write(frame, to, Provenance(**{name: made[name] for name in fields}))


def _refuse_places(name: str, path: Path) -> None:
    """Refuse a file that names the working directory or the home of this machine."""
    content = str(pq.read_metadata(path).metadata) if path.suffix == ".parquet" else ""
    content = content or path.read_text(errors="replace")
    for place in {str(Path.cwd()), str(Path.home())} - {"/"}:
        if place + "/" in content:
            raise InvalidTable(f"{name}: names a place of this machine, {place}; make it again")


def _put(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    entry = zipfile.ZipInfo(name, EARLY)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    entry.file_size = path.stat().st_size
    with path.open("rb") as source, archive.open(entry, "w") as target:
        shutil.copyfileobj(source, target, 1 << 20)
