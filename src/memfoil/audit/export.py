"""One file for another person: the scores of a run, what was concluded, and no text."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from memfoil.audit.again import AGAIN
from memfoil.audit.bare import holds_texts, write_bare
from memfoil.audit.chain import audit, tables_in, working_directory
from memfoil.audit.described import described
from memfoil.errors import InvalidConfiguration, InvalidTable
from memfoil.tables import (
    CORPUS,
    DOCUMENTS,
    TRACES,
    atomic,
    digest,
    provenance_of,
    table_of,
)

MANIFEST = "manifest.json"
CONFIGURATION = "configuration.yaml"
PAGES = ("summary.md", "methods.md")
STAY = (DOCUMENTS.name, CORPUS.name, TRACES.name)
"""Tables of which nothing is left without their texts."""
PART = re.compile(r"\.\d+-of-\d+\.parquet$")
EARLY = (1980, 1, 1, 0, 0, 0)


def export(run: str | Path, to: str | Path) -> str:
    """Write what a run measured and concluded into a zip file, the same bytes every time.

    Every table but those of `STAY`, without texts and token ids (see `write_bare`), the figures
    and pages, `configuration.yaml` (what each stage was asked, from the tables themselves, and
    what config/models.yaml says of the models), and the pinned environments.

    Returns
    -------
    str
        What was written, one line.

    Raises
    ------
    InvalidConfiguration
        If the run has no result that can be computed again.
    InvalidTable
        If a table of the run does not hold what memfoil wrote, or names a place of this machine.
    """
    folder = Path(run)
    found = audit(folder)
    broken = [p for p in found.problems if p.file.endswith(".parquet")]
    if broken:
        raise InvalidTable(f"{broken[0].file}: {broken[0].what}; run memfoil audit {run} first")
    origins = {path: provenance_of(path) for path in tables_in(folder)}
    if not {origin["stage"] for origin in origins.values()} & set(AGAIN):
        raise InvalidConfiguration(
            f"{run}: no scores and no results of a census, of propensity or of prompts; name "
            "results/<run>"
        )
    base = working_directory(folder, origins.values())
    names = {}
    with (
        atomic(to) as temporary,
        TemporaryDirectory(dir=temporary.parent) as scratch,
        zipfile.ZipFile(temporary, "w") as archive,
    ):
        made = Path(scratch) / CONFIGURATION
        for name, path, source in _files(folder, base, Path(scratch)):
            _refuse_places(name, path)
            names[name] = {"sha256": digest(path), "made_from": digest(source)}
            _put(archive, name, path)
        made.write_text(described(f"results/{folder.name}", folder, names, base))
        _refuse_places(CONFIGURATION, made)
        names[CONFIGURATION] = {"sha256": digest(made), "made_from": digest(made)}
        _put(archive, CONFIGURATION, made)
        listing = Path(scratch) / MANIFEST
        listing.write_text(json.dumps(names, indent=1, sort_keys=True))
        _put(archive, MANIFEST, listing)
    return f"{to}: {len(names)} files, {Path(to).stat().st_size / 1e6:.1f} MB"


def _files(folder: Path, base: Path, scratch: Path) -> Iterator[tuple[str, Path, Path]]:
    """Name in the archive, file to put there, file of the run that it stands for."""
    place = f"results/{folder.name}"
    for path in tables_in(folder):
        table = table_of(path)
        if table.name in STAY or PART.search(path.name):
            continue
        put = path
        if holds_texts(table):
            put = scratch / "bare.parquet"
            write_bare(table, path, put)
        yield f"{place}/{path.relative_to(folder)}", put, path
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".svg" or path.name in PAGES:
            yield f"{place}/{path.relative_to(folder)}", path, path
    for path in sorted((base / "envs").glob("*")):
        yield f"envs/{path.name}", path, path


def _refuse_places(name: str, path: Path) -> None:
    """Refuse a file that names a place of this machine: whoever gets it learns who ran it, where.

    Of a table every value is looked at: those that are a path from the root are refused too.
    """
    places = {f"{place}/" for place in (Path.cwd(), Path.home())} - {"//"}
    if path.suffix == ".parquet":
        shown = [str(pq.read_metadata(path).metadata), *_values(path)]
        inside = [value for value in shown[1:] if re.match(r"(/|~/)[^/\s]+/", value)]
    else:
        shown, inside = [path.read_text(errors="replace")], []
    inside += [place for place in places for text in shown if place in text]
    if inside:
        raise InvalidTable(
            f"{name}: names a place of this machine, {inside[0]}; name files from the working "
            "directory in the configuration, and make it again"
        )


def _values(path: Path) -> list[str]:
    """All texts of a table, each once."""
    file = pq.ParquetFile(path)
    texts = [field.name for field in file.schema_arrow if pa.types.is_string(field.type)]
    found: set[str] = set()
    for part in file.iter_batches(columns=texts):
        for column in part.columns:
            found |= set(column.unique().drop_null().to_pylist())
    return sorted(found)


def _put(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    entry = zipfile.ZipInfo(name, EARLY)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    entry.file_size = path.stat().st_size
    with path.open("rb") as source, archive.open(entry, "w") as target:
        shutil.copyfileobj(source, target, 1 << 20)
