"""What scoring needs of a model, whatever runs it."""

from __future__ import annotations

from collections.abc import Sequence as Many
from typing import NamedTuple, Protocol

import numpy as np


class Sequence(NamedTuple):
    """Token ids without start-of-text; the first `prefix_tokens` are given, the rest is scored."""

    name: str
    token_ids: Many[int]
    prefix_tokens: int


class TokenScores(NamedTuple):
    """Scores of T suffix tokens: all of the first sequence, then all of the second, and so on."""

    log_probability: np.ndarray
    """(T,) float64, natural log."""
    rank: np.ndarray
    """(T,) int64, tokens whose logit is at least the token's own."""
    log_mass: np.ndarray
    """(T, number of k) float64, natural log of the summed probability of the k likeliest."""


class Model(Protocol):
    """A causal language model at temperature 1."""

    def score(self, sequences: Many[Sequence], top_k: Many[int]) -> TokenScores:
        """Scores of the suffix tokens, each given all tokens before it."""
