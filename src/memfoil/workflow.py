"""Between Snakemake and the library: code digests for rules, and the frame of a script."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tqdm import tqdm

from memfoil import lifeline
from memfoil.errors import MemfoilError, one_line
from memfoil.stores import is_stored, named, with_copies
from memfoil.tables import Provenance, digest, input_name

PACKAGE = Path(__file__).parent


def code_digest(script: str | Path) -> str:
    """SHA-256 of the memfoil modules that a script imports, directly or through another.

    Snakemake reruns a rule when its script changes but does not look at what the script imports;
    as a `params` value this digest makes it do so.
    """
    seen: set[Path] = set()
    waiting = list(_imported_files(Path(script)))
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            waiting += _imported_files(path)
    parts = [(str(path.relative_to(PACKAGE)), digest(path)) for path in sorted(seen)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@cache
def _imported_files(path: Path) -> tuple[Path, ...]:
    """The package's files named by the import statements anywhere in a file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return tuple(file for name in sorted(names) for file in _files_of(name))


def _files_of(name: str) -> list[Path]:
    head, *rest = name.split(".")
    if head != PACKAGE.name:
        return []
    places = [PACKAGE.joinpath(*rest).with_suffix(".py")] if rest else []
    places += [PACKAGE.joinpath(*rest[:depth], "__init__.py") for depth in range(len(rest) + 1)]
    return [place for place in places if place.is_file()]


@contextmanager
def shown_once() -> Iterator[None]:
    """Turn a user's mistake, or a file system that refuses, into one line and exit status 2."""
    try:
        yield
    except (MemfoilError, OSError) as error:
        print(one_line(error), file=sys.stderr)  # noqa: T201
        sys.exit(2)


@dataclass(frozen=True)
class Job:
    """What a script needs of its Snakemake job."""

    input: Any
    output: Any
    params: Any
    wildcards: Any
    threads: int
    provenance: Provenance

    @staticmethod
    def progress(items: Iterable[Any], label: str, total: int | None = None) -> Iterator[Any]:
        """Iterate with a progress bar on the terminal (one line every 10 s in a file)."""
        terminal = sys.__stderr__
        interval = 0.5 if terminal and terminal.isatty() else 10.0
        return iter(tqdm(items, desc=label, total=total, mininterval=interval, file=terminal))


@contextmanager
def stage(snakemake: Any) -> Iterator[Job]:
    """Run a script's body with output in the rule's log and mistakes shown once.

    File descriptors 1 and 2 go to the log, so that child processes and native libraries are
    caught too; progress bars keep the terminal. A user's mistake, or a file system that refuses
    (full, read-only), ends the job with one line and status 2; anything else is a defect and
    leaves its traceback on the terminal too. The log always has it. A script whose scheduler is
    killed ends with it.
    """
    held = lifeline.follow()
    _show_gpus(snakemake.resources.get("gpu", 0))
    terminal = os.fdopen(os.dup(2), "w", buffering=1)
    log = os.open(str(snakemake.log[0]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    sys.__stderr__ = terminal  # type: ignore[misc]
    try:
        yield Job(
            input=snakemake.input,
            output=snakemake.output,
            params=SimpleNamespace(**_params(snakemake)),
            wildcards=snakemake.wildcards,
            threads=snakemake.threads,
            provenance=_provenance(snakemake),
        )
    except (MemfoilError, OSError) as error:
        traceback.print_exc()
        print(one_line(error), file=terminal)
        sys.exit(2)
    except Exception:
        for stream in (sys.stderr, terminal):
            traceback.print_exc(file=stream)
        sys.exit(1)
    finally:
        if held:
            held.close()


def _show_gpus(count: int) -> None:
    """Let a job see as many GPUs as it was given; where a cluster has chosen them, these stay."""
    if not count:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(count))))


def _params(snakemake: Any) -> dict[str, Any]:
    """The rule's parameters; of what lies in a store they name the local copy."""
    copies = {named(path): path for path in snakemake.input}
    return with_copies(dict(snakemake.params.items()), copies)


def _provenance(snakemake: Any) -> Provenance:
    params = dict(snakemake.params.items())
    code = str(params.pop("code", ""))
    parameters = json.loads(json.dumps(params, sort_keys=True, default=str))
    digests = {named(path): digest(path) for path in snakemake.input}
    return Provenance(
        stage=snakemake.rule,
        inputs={input_name(path, value): value for path, value in digests.items()},
        parameters=_without_places(parameters),
        code=code,
        seed=params.get("seed"),
    )


def _without_places(value: Any) -> Any:
    """The same JSON value with the last name alone of every path that others should not see."""
    if isinstance(value, dict):
        return {key: _without_places(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_places(item) for item in value]
    if isinstance(value, str) and (value.startswith(("/", "~")) or is_stored(value)):
        return Path(value).name
    return value
