"""What the configuration says about a census, checked and worked out."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from memfoil.configuration import TRAINED_HERE
from memfoil.errors import InvalidConfiguration

Settings = Mapping[str, Mapping[str, Any]]


def check(config: Mapping[str, Any]) -> None:
    """Refuse settings of a census that do not fit each other.

    Raises
    ------
    InvalidConfiguration
        Naming the key, the value, and what it must agree with.
    """
    census = config["census"]
    suffix, stride = census["suffix_tokens"], census["stride"]
    if stride["unit"] == "tokens" and stride["step"] > suffix:
        raise InvalidConfiguration(
            f"census/stride: {stride['step']} tokens are more than the {suffix} of a suffix; "
            "characters between the suffixes would never be covered"
        )
    for procedure in census["procedures"]:
        k = procedure.removeprefix("top-")
        if k != procedure and int(k) not in config["scoring"]["top_k"]:
            raise InvalidConfiguration(
                f"census/procedures: {procedure} needs {k} in scoring/top_k, which has "
                f"{config['scoring']['top_k']}"
            )
    near = census["near_verbatim"]
    if near["decoding"] not in census["procedures"]:
        raise InvalidConfiguration(
            f"census/near_verbatim/decoding: {near['decoding']} is not in census/procedures, "
            f"{census['procedures']}"
        )
    search = config["decontamination"]
    for key, needed in (
        ("census/near_verbatim/epsilon", near["epsilon"]),
        ("decontamination/max_distance", search["max_distance"] + 1),
        ("decontamination/ngram_tokens", search["ngram_tokens"]),
    ):
        if needed > suffix:
            raise InvalidConfiguration(
                f"census/suffix_tokens: {suffix} tokens are too few for {key}, which needs {needed}"
            )
    names = [reference["name"] for reference in census["controls"]["references"]]
    for name in names:
        if names.count(name) > 1:
            raise InvalidConfiguration(f"census/controls/references: {name} occurs more than once")


def cutoffs(config: Mapping[str, Any], settings: Settings) -> dict[str, datetime.date | None]:
    """The last day of each model's training text, None where it is not known.

    Parameters
    ----------
    settings : mapping
        Model to its entry of the table of models.
    """
    return {name: _cutoff(config, entry) for name, entry in settings.items()}


def _cutoff(config: Mapping[str, Any], entry: Mapping[str, Any]) -> datetime.date | None:
    if entry["source"] in TRAINED_HERE and config["testbed"]:
        return _day(config["testbed"]["cutoff"]) - datetime.timedelta(days=1)
    return _day(entry["cutoff"]) if entry.get("cutoff") else None


def _day(value: datetime.date | str) -> datetime.date:
    return value if isinstance(value, datetime.date) else datetime.date.fromisoformat(value)


def kept_out(config: Mapping[str, Any], settings: Settings) -> dict[str, list[str]]:
    """For the models that the run trains, the documents kept out of their training text."""
    if not config["testbed"]:
        return {}
    placed = config["testbed"]["documents"]
    documents = [entry["document"] for entry in placed if not entry["repetitions"]]
    trained = [name for name, entry in settings.items() if entry["source"] in TRAINED_HERE]
    return dict.fromkeys(trained, documents)
