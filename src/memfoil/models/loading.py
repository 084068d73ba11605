"""Loading a model folder of transformers, strictly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM

from memfoil.errors import InvalidConfiguration, InvalidModel
from memfoil.models.folder import local_folder, one_line, require_weights
from memfoil.models.memory import fast_cpu_memory
from memfoil.models.tokenizer import load_tokenizer
from memfoil.models.tokenizer import start_of_text as start_ids
from memfoil.models.transformer import TorchModel

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
    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        raise InvalidConfiguration(f"device {device!r}: torch sees no GPU here; use cpu")
    if torch.device(device).type == "cpu":
        fast_cpu_memory()
    path = local_folder(folder, revision)
    require_weights(path)
    tokenizer = load_tokenizer(path)
    start = start_ids(tokenizer, start_of_text)
    network = _load_network(path, getattr(torch, dtype)).to(device)
    return TorchModel(path, network, tokenizer, start)


def _load_network(path: Path, dtype: torch.dtype) -> Any:
    try:
        network, report = AutoModelForCausalLM.from_pretrained(
            path,
            dtype=dtype,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise InvalidModel(f"{path}: model cannot be loaded: {one_line(error)}") from error
    absent = sorted(report["missing_keys"]) or sorted(map(str, report["mismatched_keys"]))
    if absent:
        raise InvalidModel(
            f"{path}: weights do not fit config.json: {absent[0]} is missing or of another shape "
            f"({len(absent)} in all); transformers would fill it with random numbers"
        )
    return network.eval().requires_grad_(False)
