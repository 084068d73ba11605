"""What the configuration says about prompt searches, checked and worked out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memfoil.errors import InvalidConfiguration


def check(config: Mapping[str, Any]) -> None:
    """Refuse prompt searches that would compare nothing.

    Raises
    ------
    InvalidConfiguration
        Naming the key, the value, and what it must agree with.
    """
    pools = {pool["name"] for pool in config["pools"]}
    named = [each["name"] for each in config["prompts"]["sets"]]
    for each in config["prompts"]["sets"]:
        if named.count(each["name"]) > 1:
            raise InvalidConfiguration(f"prompts/sets: {each['name']} occurs more than once")
        if each.get("pool", next(iter(pools))) not in pools:
            raise InvalidConfiguration(
                f"prompts/sets: {each['name']}: pool {each['pool']} is not among the pools; there "
                f"are {', '.join(sorted(pools))}"
            )
        if "random" in each and each["tokens"] != sorted(each["tokens"]):
            raise InvalidConfiguration(
                f"prompts/sets: {each['name']}: tokens from {each['tokens'][0]} to "
                f"{each['tokens'][1]}: the smaller number comes first"
            )
        if "repetitions" in each and not config["testbed"]:
            raise InvalidConfiguration(
                f"prompts/sets: {each['name']}: repetitions are known only with a testbed"
            )
    extents = [extent for extent in ("full", "small") if searches(config, extent)]
    for extent in extents:
        roles = {each["role"] for each in target_sets(config, extent)}
        for role in ("candidate", "control"):
            if role not in roles:
                raise InvalidConfiguration(
                    f"prompts/sets: no {role} set{' in the default run' * (extent == 'small')}; "
                    "a comparison needs both roles"
                )
    pairs = [(search["model"], search["frame"]) for search in config["prompts"]["searches"]]
    for model, frame in pairs:
        if pairs.count((model, frame)) > 1:
            raise InvalidConfiguration(
                f"prompts/searches: {model}, {frame} occurs more than once; list its procedures "
                "together"
            )


def searches(config: Mapping[str, Any], extent: str) -> list[Mapping[str, Any]]:
    """The prompt searches of an extent: `small` is the default run's, `full` all of them."""
    listed = config["prompts"]["searches"] if config["prompts"] else []
    return [search for search in listed if extent == "full" or search["default_run"]]


def procedures(config: Mapping[str, Any], model: str, frame: str) -> list[str]:
    """The procedures of one prompt search."""
    return [
        procedure
        for search in config["prompts"]["searches"]
        if (search["model"], search["frame"]) == (model, frame)
        for procedure in search["procedures"]
    ]


def target_sets(config: Mapping[str, Any], extent: str) -> list[dict[str, Any]]:
    """The sets of target sequences of an extent, each with the number that is wanted."""
    sets = []
    for each in config["prompts"]["sets"]:
        kept = {key: value for key, value in each.items() if key != "default_run"}
        if extent == "full":
            sets.append(kept)
        elif each.get("default_run"):
            sets.append(kept | {"sequences": each["default_run"]})
    return sets
