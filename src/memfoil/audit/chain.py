"""The chain of a run: is every table whole, and made from the inputs that lie there now?"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from memfoil.errors import InvalidConfiguration, InvalidIndex, InvalidTable
from memfoil.index.files import MANIFEST, Manifest
from memfoil.tables import OUTSIDE, digest, is_sound, parameters_digest, provenance_of


@dataclass(frozen=True)
class Problem:
    """A file that does not match, what is wrong, and the files whose rules must run again."""

    file: str
    what: str
    rebuild: tuple[str, ...] = ()


@dataclass(frozen=True)
class Audit:
    """What was looked at; `unchecked` are inputs outside the working directory of the run."""

    tables: int
    inputs: int
    seeds: tuple[int, ...]
    versions: Mapping[str, tuple[str, ...]]
    problems: tuple[Problem, ...]
    unchecked: tuple[str, ...] = field(default=())

    @property
    def holds(self) -> bool:
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        return {"holds": self.holds, **asdict(self), "command": self.command()}

    def command(self) -> str:
        """The snakemake command that rebuilds what does not match, and all that rests on it."""
        targets = sorted({target for problem in self.problems for target in problem.rebuild})
        return f"snakemake --cores all --forcerun {' '.join(targets)}" if targets else ""

    def as_text(self) -> str:
        versions = [f"{name} {' and '.join(found)}" for name, found in self.versions.items()]
        lines = [
            f"{self.tables} tables, {self.inputs} inputs",
            f"seeds: {', '.join(map(str, self.seeds)) or 'none'}",
            f"versions: {', '.join(versions)}",
            *(f"not checked, outside the working directory: {name}" for name in self.unchecked),
            *(f"{problem.file}: {problem.what}" for problem in self.problems),
            "The chain holds." if self.holds else "The chain does not hold.",
        ]
        if self.command():
            lines.append(f"To rebuild (with the run's --configfile, if any): {self.command()}")
        return "\n".join(lines)


def audit(folder: str | Path) -> Audit:
    """Check every table under a folder of results, and every input they were made from.

    Raises
    ------
    InvalidConfiguration
        If the folder is missing or holds no table.
    """
    paths = tables_in(folder)
    origins: dict[Path, Mapping[str, Any]] = {}
    damaged = {}
    for path in paths:
        try:
            if not is_sound(path):
                raise ValueError("damaged: it does not hold the bytes that memfoil wrote")
            origins[path] = provenance_of(path)
        except (ValueError, InvalidTable) as error:
            damaged[path] = " ".join(str(error).split()).removeprefix(f"{path}: ")
    base = working_directory(folder, origins.values())
    readers = _readers(origins)
    problems = [
        *(
            Problem(_named(path, base), what, (_named(path, base),))
            for path, what in damaged.items()
        ),
        *_changed_inputs(base, Path(folder), readers, damaged),
        *_inconsistent(origins, base),
    ]
    seeds = {origin["seed"] for origin in origins.values()} - {None}
    return Audit(
        tables=len(paths),
        inputs=len({name for name, _ in readers}),
        seeds=tuple(sorted(seeds)),
        versions=_versions(origins.values()),
        problems=tuple(problems),
        unchecked=tuple(sorted(name for name, _ in readers if name.startswith(OUTSIDE))),
    )


def tables_in(folder: str | Path) -> list[Path]:
    """The tables under a folder, or the one table itself, without what a killed stage left.

    Raises
    ------
    InvalidConfiguration
        If there is none.
    """
    place = Path(folder)
    if not place.exists():
        raise InvalidConfiguration(f"{folder}: no such folder; name the results of a run")
    found = [place] if place.is_file() else sorted(place.rglob("*.parquet"))
    found = [
        p for p in found if not any(part.startswith(".") for part in p.relative_to(place).parts)
    ]
    if not found:
        raise InvalidConfiguration(f"{folder}: holds no table; name the results of a run")
    return found


def working_directory(folder: str | Path, origins: Iterable[Mapping[str, Any]]) -> Path:
    """Where the run was started: the nearest folder from which its inputs' paths are right."""
    names = {
        name for origin in origins for name in origin["inputs"] if not name.startswith(OUTSIDE)
    }
    here = Path(folder).absolute()
    for base in (Path.cwd(), *here.parents, here):
        if any((base / name).exists() for name in names):
            return base
    return Path.cwd()


def _readers(origins: Mapping[Path, Mapping[str, Any]]) -> dict[tuple[str, str], list[Path]]:
    """Which tables read which input, by its name and digest."""
    readers: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for path, origin in origins.items():
        for name, value in origin["inputs"].items():
            readers[name, value].append(path)
    return readers


def _changed_inputs(
    base: Path,
    folder: Path,
    readers: Mapping[tuple[str, str], Sequence[Path]],
    damaged: Mapping[Path, str],
) -> Iterator[Problem]:
    current = cache(digest)
    known = {path.absolute() for path in damaged}
    for (name, value), tables in readers.items():
        place = base / name
        if name.startswith(OUTSIDE) or place in known:
            continue
        own = (name,) if place.is_relative_to(folder.absolute()) else ()
        stale = tuple(_named(table, base) for table in tables)
        made = f"{stale[0]}{f' and {len(stale) - 1} more' if len(stale) > 1 else ''}"
        if not place.exists():
            yield Problem(name, f"missing; {made} was made from it", own or stale)
        elif current(place) != value:
            inside = _damaged_part(place)
            if inside:
                yield Problem(f"{name}/{inside}", f"damaged; {made} was made from it", own or stale)
            else:
                sound = place.suffix == ".parquet"  # a damaged table was named above
                what = f"not what {made} was made from: changed since, or damaged"
                yield Problem(name, what, stale if sound else own or stale)


def _damaged_part(place: Path) -> str | None:
    """The file of an index that is not what the index' own list says."""
    if not (place / MANIFEST).is_file():
        return None
    try:
        files = Manifest.read(place).files
    except InvalidIndex:
        return MANIFEST
    for name, (_, value) in files.items():
        if not (place / name).is_file() or digest(place / name) != value:
            return name
    return None


def _inconsistent(origins: Mapping[Path, Mapping[str, Any]], base: Path) -> Iterator[Problem]:
    """Tables whose configuration contradicts itself, or that of others of the same job.

    Of one stage and the same inputs, in one folder, tables of other kinds are one job's; the same
    kinds under another configuration are those of another job, for another pair of a census say.
    """
    jobs: dict[str, dict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    for path, origin in origins.items():
        name = _named(path, base)
        if parameters_digest(origin["parameters"]) != origin["configuration"]:
            yield Problem(name, "its configuration does not match its digest", (name,))
        job = json.dumps([origin["stage"], str(path.parent), origin["inputs"]], sort_keys=True)
        jobs[job][origin["configuration"]].append(path)
    for made in jobs.values():
        first, *others = made.values()
        for other in others:
            if _kinds(first) != _kinds(other):
                one, two = _named(first[0], base), _named(other[0], base)
                yield Problem(one, f"made by another configuration than {two}", (one, two))


def _kinds(paths: Iterable[Path]) -> list[str]:
    """What tables are, by the columns they have."""
    return sorted(str(pq.read_schema(path).names) for path in paths)


def _versions(origins: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = defaultdict(set)
    for origin in origins:
        for name, version in origin["versions"].items():
            found[name].add(version)
    return {name: tuple(sorted(versions)) for name, versions in sorted(found.items())}


def _named(path: Path, base: Path) -> str:
    place = path.absolute()
    return str(place.relative_to(base)) if place.is_relative_to(base) else str(path)
