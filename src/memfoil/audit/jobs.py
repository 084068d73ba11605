"""The jobs of a run, told from the provenance of the tables they wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import pandas as pd

from memfoil.errors import InvalidTable
from memfoil.tables import Table, provenance_of

Made: TypeAlias = Iterator[tuple[str, pd.DataFrame]]
"""Names of tables that a job wrote, each with a frame made again."""


@dataclass(frozen=True)
class Job:
    """One job: what it read, what it was asked, what it wrote. Names are paths from `root`."""

    root: Path
    stage: str
    inputs: tuple[str, ...]
    parameters: Mapping[str, Any]
    outputs: tuple[str, ...]

    def paths(self, pattern: str) -> list[Path]:
        """The inputs whose last parts match, in the order of their names."""
        return [self.root / name for name in self.inputs if PurePosixPath(name).match(pattern)]

    def path(self, pattern: str) -> Path:
        """The only input whose last parts match.

        Raises
        ------
        InvalidTable
            If there is none, or more than one.
        """
        found = self.paths(pattern)
        if len(found) != 1:
            raise InvalidTable(f"{self.outputs[0]}: rests on {len(found)} tables {pattern}, not 1")
        return found[0]

    def read(self, table: Table, pattern: str) -> pd.DataFrame:
        """Read the only input whose last parts match."""
        return table.read(self.path(pattern))

    def read_any(self, table: Table, pattern: str) -> pd.DataFrame | None:
        """Read the only input whose last parts match, if there is one."""
        return self.read(table, pattern) if self.paths(pattern) else None

    def output(self, pattern: str) -> str:
        """The output whose last parts match.

        Raises
        ------
        InvalidTable
            If it is not there.
        """
        for name in self.outputs:
            if PurePosixPath(name).match(pattern):
                return name
        raise InvalidTable(f"{self.outputs[0]}: {pattern}, made with it, is missing")


def jobs_of(root: Path, names: Iterable[str]) -> Iterator[Job]:
    """The jobs that wrote the tables of these names, in the order of the first of each."""
    written: dict[str, list[str]] = {}
    for name in sorted(names):
        origin = provenance_of(root / name)
        same = {key: origin[key] for key in ("stage", "inputs", "parameters")}
        written.setdefault(json.dumps(same, sort_keys=True), []).append(name)
    for key, outputs in written.items():
        of = json.loads(key)
        yield Job(root, of["stage"], tuple(sorted(of["inputs"])), of["parameters"], tuple(outputs))
