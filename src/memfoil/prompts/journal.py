"""What a long stage has finished, so that a killed one goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memfoil.stores import named
from memfoil.tables import Provenance, atomic


def rests_on(provenance: Provenance, apart_from: str) -> list[Any]:
    """What results rest on, but for one input: settings, code, and the other inputs."""
    inputs = dict(provenance.inputs)
    inputs.pop(named(apart_from), None)
    return [provenance.configuration, provenance.code, inputs]


class Journal:
    """A file of JSON lines: what the results rest on, then one line per finished item.

    A file that rests on something else is begun anew; a line that a kill cut short is dropped.
    Results are given back as JSON makes them: tuples come back as lists.
    """

    def __init__(self, path: str | Path, rests_on: Any) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        header = json.dumps(rests_on, sort_keys=True)
        lines = self.path.read_text().splitlines(keepends=True) if self.path.exists() else []
        whole = [line for line in lines if line.endswith("\n")]
        if whole[:1] != [header + "\n"]:
            whole = [header + "\n"]
        if whole != lines:
            with atomic(self.path) as temporary:
                temporary.write_text("".join(whole))
        self._finished = dict(json.loads(line) for line in whole[1:])

    def get(self, key: str) -> Any | None:
        """The result of an item, or None if it is not finished."""
        return self._finished.get(key)

    def put(self, key: str, result: Any) -> None:
        """Note an item's result at once."""
        with self.path.open("a") as file:
            file.write(json.dumps([key, result]) + "\n")
        self._finished[key] = result
