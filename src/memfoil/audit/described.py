"""What a run used, in YAML: what each stage was asked, the models, the versions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from memfoil import configuration
from memfoil.tables import provenance_of

MODELS = "config/models.yaml"


def described(place: str, folder: Path, names: Iterable[str], base: Path) -> str:
    """The configuration of a run as it was used.

    Parameters
    ----------
    place : str
        The run's folder as `names` have it.
    folder : Path
        Where it is.
    names : files of the run, of which the tables say what they were made with
    base : Path
        Working directory of the run.
    """
    tables = {
        name: provenance_of(folder / PurePosixPath(name).relative_to(place))
        for name in names
        if name.endswith(".parquet")
    }
    content = {
        "run": folder.name,
        "stages": _stages(tables),
        "models": _models(tables, base),
        "versions": _versions(tables.values()),
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


def _stages(tables: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every stage with each set of parameters it was asked, and the tables it made with them."""
    stages: dict[str, dict[str, Any]] = {}
    for name, origin in sorted(tables.items()):
        asked = {key: origin[key] for key in ("stage", "code", "seed", "parameters")}
        key = json.dumps(asked, sort_keys=True)
        stages.setdefault(key, {**asked, "tables": []})["tables"].append(name)
    return sorted(stages.values(), key=lambda stage: str(stage["stage"]))


def _models(tables: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """The entries of models.yaml that a table of the run is named after."""
    if not (base / MODELS).is_file():
        return {}
    named = {part for name in tables for part in PurePosixPath(name).with_suffix("").parts}
    models: dict[str, dict[str, Any]] = configuration.load(base / MODELS)
    return {
        name: {key: _without_place(value) for key, value in settings.items()}
        for name, settings in models.items()
        if name in named
    }


def _without_place(value: Any) -> Any:
    """The last name alone of a path from the root."""
    return Path(value).name if isinstance(value, str) and value.startswith(("/", "~")) else value


def _versions(origins: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for origin in origins:
        for name, version in origin["versions"].items():
            found.setdefault(name, set()).add(version)
    return {name: sorted(versions) for name, versions in found.items()}
