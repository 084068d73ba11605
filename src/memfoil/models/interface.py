"""What scoring needs of a model, whatever runs it."""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from memfoil.errors import InvalidConfiguration


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


@dataclass(frozen=True)
class Decoding:
    """How the next token is drawn: temperature, then top-k, then top-p of what is left.

    The top-p tokens are the fewest likeliest whose probabilities sum to at least `top_p`.
    """

    temperature: float
    top_p: float
    top_k: int | None
    max_new_tokens: int

    def __post_init__(self) -> None:
        for name, right, rule in (
            ("temperature", self.temperature > 0, "it must be above 0"),
            ("top_p", 0 < self.top_p <= 1, "it must be above 0 and at most 1"),
            ("top_k", self.top_k is None or self.top_k >= 1, "it must be at least 1, or null"),
            ("max_new_tokens", self.max_new_tokens >= 1, "it must be at least 1"),
        ):
            if not right:
                raise InvalidConfiguration(f"decoding/{name} is {getattr(self, name)}; {rule}")


class Request(NamedTuple):
    """A continuation to sample; with the seed, its name decides its random numbers."""

    name: str
    token_ids: Many[int]
    """The prompt, without start-of-text."""


class Model(Protocol):
    """A causal language model at temperature 1."""

    def score(self, sequences: Many[Sequence], top_k: Many[int]) -> TokenScores:
        """Scores of the suffix tokens, each given all tokens before it."""
