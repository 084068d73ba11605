"""Causal language models and their tokenizers, behind one small interface.

A backend is a class with `score`: `TorchModel` here. What calls it knows `Sequence`,
`TokenScores` and `Model` alone.
"""

from memfoil.models.interface import Model, Sequence, TokenScores
from memfoil.models.loading import load, require_device
from memfoil.models.memory import fast_cpu_memory
from memfoil.models.tokenizer import (
    load_tokenizer,
    save_tokenizer,
    start_of_text,
    tokenizer_digest,
)
from memfoil.models.transformer import TorchModel

__all__ = [
    "Model",
    "Sequence",
    "TokenScores",
    "TorchModel",
    "fast_cpu_memory",
    "load",
    "load_tokenizer",
    "require_device",
    "save_tokenizer",
    "start_of_text",
    "tokenizer_digest",
]
