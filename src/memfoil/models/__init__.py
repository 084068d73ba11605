"""Causal language models and their tokenizers, behind one small interface.

A backend is a class with `score`: `TorchModel` and `VllmModel` here. What scores knows `Sequence`,
`TokenScores` and `Model` alone.
"""

from memfoil.models.folder import hub_input
from memfoil.models.interface import Decoding, Model, Request, Sequence, TokenScores
from memfoil.models.loading import load, load_backend, require_device
from memfoil.models.memory import fast_cpu_memory
from memfoil.models.tokenizer import (
    load_tokenizer,
    save_tokenizer,
    start_of_text,
    tokenizer_digest,
)
from memfoil.models.transformer import TorchModel
from memfoil.models.vllm import VllmModel

__all__ = [
    "Decoding",
    "Model",
    "Request",
    "Sequence",
    "TokenScores",
    "TorchModel",
    "VllmModel",
    "fast_cpu_memory",
    "hub_input",
    "load",
    "load_backend",
    "load_tokenizer",
    "require_device",
    "save_tokenizer",
    "start_of_text",
    "tokenizer_digest",
]
