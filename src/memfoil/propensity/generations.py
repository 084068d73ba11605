"""Continuations of prompts, in the tokens of the index that they are traced in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from memfoil.encoding import encode
from memfoil.models import Decoding, TorchModel, VllmModel, tokenizer_digest
from memfoil.propensity.screen import token_ids
from memfoil.scoring.sampling import generate

Progress = Callable[..., Iterator[Any]]


def continuations(
    model: TorchModel | VllmModel,
    prompts: pd.DataFrame,
    tokenizer: Any,
    decoding: Decoding,
    *,
    seed: int,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """What a model writes behind the prompts, as an index' tokenizer has it.

    Where the model has a tokenizer of its own, it reads the prompts as text, and what it writes
    is read again: the tokens of prompt and continuation together that lie behind the prompt.

    Parameters
    ----------
    prompts : PROMPTS frame
    tokenizer : fast tokenizer of transformers
        Of the index.

    Returns
    -------
    GENERATIONS frame

    Raises
    ------
    InvalidTable, InvalidConfiguration, InvalidModel
        As `generate` does.
    """
    if tokenizer_digest(model.tokenizer) == tokenizer_digest(tokenizer):
        return generate(model, prompts, decoding, seed=seed, progress=progress)
    read = prompts.assign(token_ids=token_ids(model.tokenizer, list(prompts["text"])))
    written = generate(model, read, decoding, seed=seed, progress=progress)
    before = written["prompt_id"].map(prompts.set_index("prompt_id")["text"])
    encoded = encode(tokenizer, [a + b for a, b in zip(before, written["text"], strict=True)])
    again = [
        np.array([id_ for id_, start in zip(e.token_ids, e.starts, strict=True) if start >= len(a)])
        for a, e in zip(before, encoded, strict=True)
    ]
    ids = pd.Series([of.astype(np.int32) for of in again], dtype=object)
    return written.assign(token_ids=ids)
