"""Adversarial compression: how short a prompt can be that makes a model say a target."""

from __future__ import annotations

import re
from collections.abc import Callable

START = 5
GROWTH = 5
MORE_STEPS = 1.2


def miniprompt(
    attempt: Callable[[int, int], bool], target_tokens: int, *, steps: int, longest: float
) -> int | None:
    """MiniPrompt: the shortest prompt length found at which an attempt succeeds.

    It starts at 5 tokens. After a success it tries one token less; after a failure five more,
    with 1.2 times the steps. It ends at a length that has succeeded or failed already, or is not
    below `longest` times the target's.

    Parameters
    ----------
    attempt : callable
        `attempt(prompt_tokens, steps)` looks for a prompt and says whether it found one.

    Returns
    -------
    int or None
        None if no attempt succeeded.

    Source: Schwarzschild et al. 2024, algorithm 1.
    """
    shortest_found: int | None = None
    longest_failed, limit = 0, longest * target_tokens
    tokens = START
    while True:
        if attempt(tokens, steps):
            shortest_found = limit = tokens
            tokens -= 1
        else:
            longest_failed = tokens
            tokens += GROWTH
            steps = int(MORE_STEPS * steps)
        if not longest_failed < tokens < limit:
            return shortest_found


def compression_ratio(target_tokens: int, prompt_tokens: int | None) -> float:
    """ACR: target's over prompt's length in tokens; 0 where no prompt was found."""
    return target_tokens / prompt_tokens if prompt_tokens else 0.0


def shared_words(prompt: str, target: str) -> list[str]:
    """The words of a target that its prompt holds too, in any case: then it compresses less.

    Source: Cooper et al. 2026, appendix A.2, on prompts that hold part of what they elicit.
    """
    spoken = set(_words(prompt))
    return [word for word in dict.fromkeys(_words(target)) if word in spoken]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
