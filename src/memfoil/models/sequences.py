"""Sequences that a model can score."""

from __future__ import annotations

from collections.abc import Sequence as Many
from typing import Any

from memfoil.errors import InvalidConfiguration, InvalidModel
from memfoil.models.interface import Sequence
from memfoil.policies import Policy


def ks_of(top_k: Many[int], policies: Many[Policy]) -> list[int]:
    """Every k that is asked for."""
    return [*top_k, *(policy.top_k for policy in policies if policy.top_k)]


def require_scorable(model: Any, sequences: Many[Sequence], top_k: Many[int]) -> None:
    """Refuse sequences that a model cannot score, and a k that its vocabulary does not have.

    Parameters
    ----------
    model : TorchModel or VllmModel

    Raises
    ------
    InvalidModel
        If a sequence is longer than the context, holds an id outside the vocabulary or
        start-of-text already, has no suffix or nothing before it.
    InvalidConfiguration
        If a k is not positive, or larger than the vocabulary.
    """
    if any(not 1 <= k <= model.vocabulary for k in top_k):
        raise InvalidConfiguration(
            f"top_k {list(top_k)}: each k must be from 1 to {model.vocabulary}, the vocabulary of "
            f"{model.folder}"
        )
    for sequence in sequences:
        _require_scorable(model, sequence)


def _require_scorable(model: Any, sequence: Sequence) -> None:
    name, ids, prefix = sequence
    folder, start = model.folder, len(model.start_of_text)
    if not 0 <= prefix < len(ids) or prefix + start == 0:
        raise InvalidModel(
            f"sequence {name}: {prefix} prefix tokens of {len(ids)} in all, {start} before "
            "them; there must be a token to score and one before it"
        )
    if model.context is not None and len(ids) + start > model.context:
        raise InvalidModel(
            f"sequence {name}: {len(ids) + start} tokens with start-of-text, but the context "
            f"of {folder} is {model.context}; use a shorter prefix or suffix"
        )
    if min(ids) < 0 or max(ids) >= model.vocabulary:
        raise InvalidModel(
            f"sequence {name}: token ids from {min(ids)} to {max(ids)}, but {folder} has "
            f"0 to {model.vocabulary - 1}; the sequences come from another tokenizer"
        )
    if start and tuple(ids[:start]) == model.start_of_text:
        raise InvalidModel(
            f"sequence {name}: begins with start-of-text, which the model adds itself; give "
            "token ids without it"
        )
