"""Files kept in an object store: what they are called, and where their local copies lie."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from memfoil.errors import InvalidConfiguration

SCHEME = "s3"
STORED = f"{SCHEME}://"
COPIES, RESULTS = "MEMFOIL_COPIES", "MEMFOIL_COPIES_OF_RESULTS"
READABLE = ("documents", "decontamination/index")


def is_stored(path: str) -> bool:
    """Does a path of the configuration name something in a store?"""
    return path.startswith(STORED)


def remember_copies(settings: Any, provider: Any) -> None:
    """Let the scripts know where Snakemake puts its local copies of what lies in the store.

    Parameters
    ----------
    settings : StorageSettings of Snakemake
    provider : its default storage provider, or None

    Raises
    ------
    InvalidConfiguration
        If the results are to lie in a store, and it is not said where, or not in S3.
    """
    os.environ[COPIES] = str(settings.local_storage_prefix)
    os.environ.pop(RESULTS, None)
    if provider is None:
        return
    prefix = settings.default_storage_prefix or ""
    if settings.default_storage_provider != SCHEME or not is_stored(prefix):
        raise InvalidConfiguration(
            f"--default-storage-provider {settings.default_storage_provider}, "
            f"--default-storage-prefix {prefix or 'missing'}: results lie on this machine or in "
            f"S3; say --default-storage-provider s3 --default-storage-prefix {STORED}BUCKET/FOLDER"
        )
    os.environ[RESULTS] = str(provider.object(prefix).local_path())


def named(path: str) -> str:
    """What a file is called, wherever it lies: its path in a local run, or its place in a store."""
    place = Path(path)
    for root, scheme in ((os.environ.get(RESULTS), ""), (os.environ.get(COPIES), STORED)):
        if root and place.is_relative_to(root):
            inside = place.relative_to(root)
            return scheme + str(inside.relative_to(SCHEME) if scheme else inside)
    return str(path)


def copy_of(name: str) -> Path:
    """Where a result lies on this machine while it is worked on."""
    return Path(os.environ.get(RESULTS, ""), name)


def with_copies(value: Any, copies: Mapping[str, str]) -> Any:
    """The same parameters with the local copy's path wherever one names an input in the store."""
    if isinstance(value, Mapping):
        return {key: with_copies(item, copies) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(with_copies(item, copies) for item in value)
    return copies.get(value, value) if isinstance(value, str) else value


def refuse_elsewhere(config: Mapping[str, Any]) -> None:
    """Refuse a place in a store where the configuration has to name a file of this machine.

    Raises
    ------
    InvalidConfiguration
        Naming the key.
    """
    for key, path in _strings(config):
        if is_stored(path) and not key.startswith(READABLE):
            raise InvalidConfiguration(
                f"{key}: {path}: only documents, models and decontamination/index are read from "
                "S3; download it and name the copy"
            )


def _strings(value: Any, key: str = "") -> Iterable[tuple[str, str]]:
    """Every string of a configuration with its key."""
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value, start=1)
    elif isinstance(value, str):
        yield key, value
    for name, item in items:
        yield from _strings(item, f"{key}/{name}".lstrip("/"))
