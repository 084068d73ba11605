"""The five settings, and what the configuration says about them, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memfoil.errors import InvalidConfiguration

SETTINGS = ("unconditional", "minimal cue", "generic", "specific", "prefix")
PROMPT_FREE = ("unconditional", "minimal cue")
CAPABILITY = "prefix"


def check(config: Mapping[str, Any]) -> None:
    """Refuse settings of propensity that do not fit the rest of the configuration.

    Raises
    ------
    InvalidConfiguration
        Naming the key, the value, and what it must agree with.
    """
    propensity = config["propensity"]
    roles = {pool["name"]: pool["role"] for pool in config["pools"]}
    for name in propensity["specific"]:
        if roles.get(name) != "control":
            controls = [pool for pool, role in roles.items() if role == "control"]
            raise InvalidConfiguration(
                f"propensity/specific: {name} is no pool of controls; sentences of unseen text "
                f"come from {', '.join(controls)}"
            )
    if not propensity["generic"] and propensity["language"] != "en":
        raise InvalidConfiguration(
            f"propensity/generic: the package's own sentences are English, the language is "
            f"{propensity['language']}; name an export of Tatoeba's sentences"
        )
    if propensity["document_tokens"] < 2 * propensity["prefix_tokens"]:
        raise InvalidConfiguration(
            f"propensity/document_tokens: {propensity['document_tokens']} leaves no continuation "
            f"as long as a prefix of {propensity['prefix_tokens']} tokens; ask for twice as many"
        )
    if propensity["index"] and not propensity["index_tokenizer"]:
        raise InvalidConfiguration(
            f"propensity/index_tokenizer: name the tokenizer of {propensity['index']}: generations "
            "are read with it"
        )
    if propensity["index"] and config["testbed"] and not propensity["foil"]:
        raise InvalidConfiguration(
            "propensity/foil: name an index of text not trained on; the testbed's foil has the "
            "testbed's tokens, not those of propensity/index"
        )
