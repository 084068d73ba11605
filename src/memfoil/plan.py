"""What a run will cost on a GPU: from the configuration alone, before anything runs."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tabulate import tabulate

from memfoil import configuration
from memfoil.errors import InvalidConfiguration
from memfoil.prompts import settings as prompt_settings

# Dense bf16 matrix rate in FLOP/s, and memory in bytes, of the vendor's data sheets (NVIDIA A100
# 80GB SXM, H100 SXM, H200 SXM, L40S).
GPUS = {
    "a100": (312e12, 80e9),
    "h100": (989e12, 80e9),
    "h200": (989e12, 141e9),
    "l40s": (362e12, 48e9),
}
# Shares of that rate: whole sequences at a time reach 0.37 to 0.57 (docs/performance.md); one token
# after another is bound by memory.
READING, WRITING = 0.4, 0.05
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
PROMPT_TOKENS = 20  # a sentence, or the words of a template around a target
SETTINGS_WITHOUT_REQUEST = 5  # the prompt settings of propensity, the prefix attack among them
FEWEST_RUNS = 10  # searches of a target by multi-prefix memorization


class Stage(NamedTuple):
    """One stage of a run; numbers are lower bounds where `at_least`."""

    name: str
    model: str
    sequences: int
    flops: float
    share: float
    """Of the GPU's matrix rate that the stage reaches."""
    disk: float
    """Bytes it writes."""
    memory: float
    """Bytes of GPU memory of the weights and a fifth more."""
    at_least: bool


def plan(path: str | Path, gpu: str) -> str:
    """The stages of a run as a table: sequences, FLOPs, GPU-hours, disk, memory.

    Counted are two FLOPs for each parameter and token (six where a gradient is taken); attention
    adds less than a fiftieth at 101 tokens. Prompt searches are counted to their end.

    Raises
    ------
    InvalidConfiguration
        If the GPU is not known, the configuration cannot run, or a model's size is not given.
    """
    if gpu not in GPUS:
        raise InvalidConfiguration(f"--gpu: {gpu} is not known; there are {', '.join(GPUS)}")
    config = merged(configuration.load("config/config.yaml"), configuration.load(path) or {})
    models = configuration.load("config/models.yaml")
    schemas = Path("workflow/schemas")
    configuration.check_schema(config, schemas / "config.schema.yaml", str(path))
    configuration.check_schema(models, schemas / "models.schema.yaml", "config/models.yaml")
    configuration.check_run(config, models)
    if config["prompts"]:
        prompt_settings.check(config)
    return _table(list(stages(config, models)), config, gpu)


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with changes, mappings key by key, all else replaced: as Snakemake does."""
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = merged(old, value) if both else value  # type: ignore[arg-type]
    return result


def stages(config: Mapping[str, Any], models: Mapping[str, Any]) -> Iterator[Stage]:
    """The stages of a run that a model takes part in, and the sequences they start from."""
    number, at_least = _drawn(config)
    length = config["sampling"]["prefix_tokens"] + config["sampling"]["suffix_tokens"]
    suffix, masses = config["sampling"]["suffix_tokens"], len(config["scoring"]["top_k"])
    yield Stage("sequences", "", number, 0, READING, number * 12 * length, 0, at_least)
    for name in config["models"]:
        size, weights = _size(config, models, name)
        disk = number * suffix * (16 + 8 * masses)
        flops = 2.0 * size * number * length
        yield Stage("score", name, number, flops, READING, disk, 1.2 * weights, at_least)
        if config["propensity"]:
            yield _propensity(config["propensity"], name, size, weights)
    for search in prompt_settings.searches(config, "full"):
        size, weights = _size(config, models, search["model"])
        for procedure in search["procedures"]:
            yield _search(config["prompts"], procedure, search["model"], size, weights)


def _drawn(config: Mapping[str, Any]) -> tuple[int, bool]:
    """Passages of all pools, and whether there are more: `all` of a pool is not known before."""
    testbed = config["testbed"]
    splits = (
        {
            "planted": testbed["planted_per_level"] * len(testbed["repetitions"]),
            "training": testbed["training"],
            "held-out": testbed["held_out"],
        }
        if testbed
        else {}
    )
    asked = [
        splits.get(pool.get("split")) if pool["passages"] == "all" else pool["passages"]
        for pool in config["pools"]
    ]
    return sum(number or 0 for number in asked), None in asked


def _size(config: Mapping[str, Any], models: Mapping[str, Any], name: str) -> tuple[int, float]:
    """Parameters of a model, and bytes of its weights."""
    entry = configuration.settings(models, name)
    if entry["source"] in configuration.TRAINED_HERE:
        shape, vocabulary = config["testbed"]["model"], config["testbed"]["vocabulary"]
        width = shape["hidden_size"]
        layer = 4 * width**2 + 3 * width * shape["intermediate_size"]
        entry["parameters"] = shape["layers"] * layer + vocabulary * width
    if "parameters" not in entry:
        raise InvalidConfiguration(
            f"config/models.yaml: {name}: parameters is missing; write how many the model has"
        )
    return entry["parameters"], entry["parameters"] * BYTES[entry["dtype"]]


def _propensity(settings: Mapping[str, Any], name: str, size: int, weights: float) -> Stage:
    number = SETTINGS_WITHOUT_REQUEST * settings["prompts"] * settings["generations"]
    tokens = settings["decoding"]["max_new_tokens"]
    flops = 2.0 * size * number * (tokens + PROMPT_TOKENS)
    return Stage(
        "propensity", name, number, flops, WRITING, number * 8 * tokens, 1.2 * weights, False
    )


def _search(
    prompts: Mapping[str, Any], procedure: str, name: str, size: int, weights: float
) -> Stage:
    sets = [_targets(each) for each in prompts["sets"]]
    targets = sum(number or 0 for number, _ in sets)
    tokens = max(length for _, length in sets)
    at_least = any(number is None for number, _ in sets)
    if procedure == "parrots":
        with Path(prompts["templates"]).open(newline="", encoding="utf-8") as file:
            targets *= sum(1 for _ in csv.DictReader(file))
        flops, share = 2.0 * size * targets * (2 * tokens + PROMPT_TOKENS), WRITING
    else:
        settings = prompts[procedure]
        longest = settings["longest"] * tokens if procedure == "compression" else 0
        prompt = longest or settings["prompt_tokens"]
        runs = math.ceil(longest / 5) if longest else FEWEST_RUNS
        # each step takes one gradient (three passes) and tries `width` substitutions
        steps = runs * settings["steps"] * (prompts["gcg"]["width"] + 3)
        flops, share = 2.0 * size * targets * steps * (prompt + tokens), READING
    return Stage(procedure, name, targets, flops, share, 1e3 * targets, 1.2 * weights, at_least)


def _targets(each: Mapping[str, Any]) -> tuple[int | None, int]:
    """Sequences of a set, if they are known, and the longest in tokens: of a file, a sentence's."""
    if "random" in each:
        return each["random"], each["tokens"][1]
    if "file" not in each:
        return each.get("sequences"), each["tokens"]
    file = Path(each["file"])
    if "sequences" not in each and not file.is_file():
        return None, PROMPT_TOKENS
    number = each.get("sequences") or len(json.loads(file.read_text(encoding="utf-8")))
    return number * (4 if each.get("halves") else 1), PROMPT_TOKENS


def _table(found: list[Stage], config: Mapping[str, Any], gpu: str) -> str:
    rate, memory = GPUS[gpu]
    rows = [
        [
            stage.name,
            stage.model,
            f"{stage.sequences:,}" + "+" * stage.at_least,
            f"{stage.flops:.2e}",
            f"{stage.flops / (rate * stage.share) / 3600:.3g}",
            _bytes(stage.disk),
            _bytes(stage.memory),
            max(1, math.ceil(stage.memory / memory)) if stage.memory else 0,
        ]
        for stage in found
    ]
    hours = sum(stage.flops / (rate * stage.share) / 3600 for stage in found)
    rows.append(["all", "", "", f"{sum(stage.flops for stage in found):.2e}", f"{hours:.3g}"])
    heads = ["stage", "model", "sequences", "FLOPs", "GPU-hours", "disk", "GPU memory", "GPUs"]
    reached = f"of which {READING:.0%} are reached in reading and {WRITING:.0%} in writing"
    notes = [f"{gpu}: {rate / 1e12:.0f} TFLOP/s, {reached}. Loading models is not counted."]
    if any(stage.at_least for stage in found):
        notes.append("+: at least; `all` of a pool, and lists that are not there, are not counted.")
    if config["census"]:
        notes.append("The census' windows depend on the texts and are not counted.")
    return "\n".join([tabulate(rows, heads, disable_numparse=True), "", *notes])


def _bytes(number: float) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e8 else f"{number / 1e6:.1f} MB"
