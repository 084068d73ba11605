"""What the configuration names must be where it says, before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from memfoil.configuration import OLDER, PACKAGED, TRAINED_HERE
from memfoil.errors import InvalidConfiguration
from memfoil.stores import is_stored


def check_files(config: Mapping[str, Any]) -> None:
    """Refuse a run whose texts are not where the configuration says.

    A source of documents may be gone once the run has read it.

    Raises
    ------
    InvalidConfiguration
        Naming the key, the path, and the folder from which it was looked for.
    """
    named = {
        f"documents/{number}/{key}": source[key]
        for number, source in enumerate(config["documents"])
        for key in ("path", "earlier", "later")
        if key in source and not Path("results", config["run"], "documents.parquet").exists()
    }
    if config["prompts"]:
        named |= {
            f"prompts/sets/{number}/file": each["file"]
            for number, each in enumerate(config["prompts"]["sets"])
            if "file" in each
        }
        named["prompts/templates"] = config["prompts"]["templates"]
    if config["propensity"] and config["propensity"]["generic"]:
        named["propensity/generic"] = config["propensity"]["generic"]
    if config["decontamination"]["review"]:
        named["decontamination/review"] = config["decontamination"]["review"]
    if config["census"] and config["census"]["controls"]["review"]:
        named["census/controls/review"] = config["census"]["controls"]["review"]
    for key, path in named.items():
        if not is_stored(path) and "{tokenizer}" not in path and not Path(path).is_file():
            raise InvalidConfiguration(
                f"{key}: there is no file {path} in {Path.cwd()}; mend the path, or put it there"
            )


def check_index(config: Mapping[str, Any], tokenizers: Iterable[str]) -> None:
    """Refuse a run whose indexes are not there.

    Not for want of the one of decontamination where propensity has one of its own: `snakemake
    propensity` does without.

    Raises
    ------
    InvalidConfiguration
        Naming the folder, and where it was looked for.
    """
    of_propensity = config["propensity"] or {"index": None, "foil": None}
    named = {f"propensity/{key}": of_propensity[key] for key in ("index", "foil")}
    if config["decontamination"]["index"] != OLDER and not of_propensity["index"]:
        named["decontamination/index"] = config["decontamination"]["index"]
    for key, pattern in named.items():
        for tokenizer in tokenizers if pattern else ():
            path = pattern.format(tokenizer=tokenizer)
            made_here = path.startswith(f"results/{config['run']}/")
            if not made_here and not is_stored(path) and not Path(path).exists():
                raise InvalidConfiguration(
                    f"{key}: there is no folder {path} in {Path.cwd()}; mend the path, or make it "
                    "with memfoil index build"
                )


def check_models(models: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a model that lies nowhere: no folder, and no revision that the hub could be asked for.

    Parameters
    ----------
    models : mapping
        The run's models with their `settings`.

    Raises
    ------
    InvalidConfiguration
        Naming the model, its source, and where it was looked for.
    """
    for name, entry in models.items():
        source, revision = entry["source"], entry["revision"]
        known = source in (*TRAINED_HERE, *PACKAGED) or is_stored(source)
        if not known and revision is None and not (source and Path(source).is_dir()):
            raise InvalidConfiguration(
                f"config/models.yaml: {name}: there is no folder {source!r} in {Path.cwd()}; mend "
                "source, or give a model on the hub its revision"
            )
