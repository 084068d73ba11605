"""What scoring needs of a model, whatever runs it."""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from memfoil.policies import Policy


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
    policy_log_probability: np.ndarray
    """(T, number of policies) float64, natural log; -inf where the policy never takes the token."""
    policy_log_mass: np.ndarray
    """(T, number of policies) float64, natural log of the probability, at the policy's temperature,
    of the tokens that it may take."""


def empty_scores(tokens: int, top_k: Many[int], policies: Many[Policy]) -> TokenScores:
    """Room for the scores of so many tokens: NaN, ranks 0."""
    columns = (len(top_k), len(policies), len(policies))
    rest = (np.full((tokens, n), np.nan) for n in columns)
    return TokenScores(np.full(tokens, np.nan), np.zeros(tokens, np.int64), *rest)


@dataclass(frozen=True)
class Decoding(Policy):
    """How a continuation is drawn, and its most tokens."""

    max_new_tokens: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(("max_new_tokens", self.max_new_tokens >= 1, "it must be at least 1"))


class Request(NamedTuple):
    """A continuation to sample; with the seed, its name decides its random numbers."""

    name: str
    token_ids: Many[int]
    """The prompt, without start-of-text."""


class Model(Protocol):
    """A causal language model."""

    def score(
        self, sequences: Many[Sequence], top_k: Many[int], policies: Many[Policy] = ()
    ) -> TokenScores:
        """Scores of the suffix tokens, each given all tokens before it."""
