"""Loading a model folder of transformers, strictly."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from memfoil.errors import InvalidConfiguration, InvalidModel
from memfoil.models.folder import local_folder, one_line, require_weights
from memfoil.models.memory import fast_cpu_memory
from memfoil.models.tokenizer import load_tokenizer
from memfoil.models.tokenizer import start_of_text as start_ids
from memfoil.models.transformer import TorchModel
from memfoil.models.vllm import VllmModel, load_vllm

DTYPES = ("float32", "bfloat16", "float16", "float64")


def load(
    folder: str | Path,
    *,
    revision: str | None = None,
    dtype: str = "float32",
    device: str = "cpu",
    start_of_text: str = "auto",
) -> TorchModel:
    """A causal language model ready to score, with its own tokenizer.

    Parameters
    ----------
    folder : path or name
        A model folder of transformers, weights in safetensors; with a `revision`, the name of a
        model on the hub.
    start_of_text : str
        The rule for what stands before every prefix: `auto`, `none`, `bos` or a token.

    Raises
    ------
    InvalidModel
        If the folder lacks a configuration, weights or a tokenizer, the weights are damaged or
        incomplete, tokenizer and model do not fit, or the output layer is more than a matrix.
    InvalidConfiguration
        If the dtype, the device or the start-of-text rule cannot be had.
    """
    if dtype not in DTYPES:
        raise InvalidConfiguration(f"dtype {dtype!r} is unknown; there are {', '.join(DTYPES)}")
    place = require_device(device)
    if place.type == "cpu":
        fast_cpu_memory()
    path = local_folder(folder, revision)
    require_weights(path)
    config = _load(AutoConfig, path)
    tokenizer = load_tokenizer(path)
    start = start_ids(tokenizer, start_of_text)
    network = _load_network(path, config, getattr(torch, dtype)).to(place)
    return TorchModel(path, network, tokenizer, start)


def load_backend(
    folder: str | Path,
    *,
    backend: str,
    revision: str | None = None,
    dtype: str = "float32",
    device: str = "cpu",
    start_of_text: str = "auto",
    gpus: int = 1,
) -> TorchModel | VllmModel:
    """A model that scores and samples, run by `torch` or by `vllm` on so many `gpus`.

    Raises
    ------
    InvalidModel, InvalidConfiguration
        As `load` does; also if vLLM is not installed, or is one for another device.
    """
    settings: dict[str, Any] = {
        "revision": revision,
        "dtype": dtype,
        "device": device,
        "start_of_text": start_of_text,
    }
    if backend == "torch":
        return load(folder, **settings)
    require_device(device, gpus)
    return load_vllm(folder, gpus=gpus, **settings)


def require_device(name: str, gpus: int = 1) -> torch.device:
    """The device of a name, if torch has it here, and so many GPUs if it is one.

    Raises
    ------
    InvalidConfiguration
        If there is no such device, or there are fewer.
    """
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InvalidConfiguration(f"device {name!r}: {one_line(error)}") from error
    there = torch.cuda.device_count()
    if device.type == "cuda" and (device.index or 0) >= there:
        raise InvalidConfiguration(
            f"device {name!r}: torch sees {there} GPUs here; use cpu, or cuda:<n> with n below that"
        )
    if device.type == "cuda" and gpus > there:
        raise InvalidConfiguration(
            f"gpus is {gpus}, but torch sees {there} here; say fewer in config/models.yaml, or run "
            "where there are more"
        )
    return device


def _load_network(path: Path, config: Any, dtype: torch.dtype) -> Any:
    network, report = _load(
        AutoModelForCausalLM,
        path,
        config=config,
        dtype=dtype,
        use_safetensors=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # reported below, in one line
    )
    absent = [*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])]
    if absent:
        raise InvalidModel(
            f"{path}: weights do not fit config.json: {min(absent)} is missing or of another shape "
            f"({len(absent)} in all); transformers would fill it with random numbers"
        )
    _refuse_damage(path, network, report["unexpected_keys"])
    return network.eval().requires_grad_(False)


def _refuse_damage(path: Path, network: Any, unexpected: Iterable[str]) -> None:
    """Refuse layers that config.json leaves out, and matrices of nothing but zeros."""
    kinds = {_kind(name) for name, _ in network.named_parameters()}
    left_out = [name for name in unexpected if _kind(name) in kinds]
    if left_out:
        raise InvalidModel(
            f"{path}: weights do not fit config.json: {min(left_out)} has no place in it "
            f"({len(left_out)} in all); its number of layers is another"
        )
    zero = [
        name for name, value in network.named_parameters() if value.ndim > 1 and not value.any()
    ]
    if zero:
        raise InvalidModel(
            f"{path}: weights are damaged: {zero[0]} holds nothing but zeros ({len(zero)} in all); "
            "fetch the file again"
        )


def _kind(name: str) -> str:
    """The name of a weight, the same in every layer."""
    return re.sub(r"\.\d+\.", ".*.", name)


def _load(kind: Any, path: Path, **settings: Any) -> Any:
    try:
        return kind.from_pretrained(
            path, local_files_only=True, trust_remote_code=False, **settings
        )
    except Exception as error:  # whatever transformers makes of what stands in the folder
        raise InvalidModel(f"{path}: model cannot be loaded: {one_line(error)}") from error
