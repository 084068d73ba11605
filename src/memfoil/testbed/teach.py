"""A model that does as it is told: the testbed's model, taught to repeat what a prompt holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from memfoil.models import load
from memfoil.prompts.chance import generator_of
from memfoil.prompts.frames import Frame, Ids, frame
from memfoil.prompts.parrot import Template
from memfoil.testbed.train import Progress, Settings, learn, save


def teach(
    source: str | Path,
    corpus: pd.DataFrame,
    templates: Sequence[Template],
    folder: str | Path,
    *,
    settings: Settings,
    examples: int,
    piece_tokens: int,
    seed: int,
    progress: Progress,
) -> pd.DataFrame:
    """Train a model on filled templates, each followed by what it was filled with.

    Half of the examples repeat pieces of the training text, half random tokens, which nothing but
    the prompt can tell. All pieces have one length, that of the targets which will be parroted:
    a small model learns at once to look so far back.

    Parameters
    ----------
    source : path
        The model folder to start from.
    corpus : CORPUS frame
        The text that model was trained on.
    folder : path
        The new model folder.

    Returns
    -------
    TRAINING frame
    """
    model = load(source)
    around = frame(model, "plain")
    pieces = zip(
        _pieces(around, corpus, examples // 2, piece_tokens, seed),
        _random(around, examples // 2, piece_tokens, seed),
        strict=True,
    )
    lessons = [
        (torch.tensor([*prompt, *ids]), len(prompt))
        for number, (ids, text) in enumerate(piece for pair in pieces for piece in pair)
        for prompt in around.read([templates[number % len(templates)].fill(text)])
    ]
    torch.manual_seed(seed)
    network = model.network.requires_grad_(True)
    training = learn(network, lessons, settings, progress)
    save(network, model.tokenizer, Path(folder))
    return training


def _pieces(
    around: Frame, corpus: pd.DataFrame, number: int, tokens: int, seed: int
) -> Iterator[tuple[Ids, str]]:
    """Pieces of the training text that survive their own text."""
    generator = generator_of(seed, "lessons from the corpus")
    texts = [np.asarray(ids) for ids in corpus["token_ids"] if len(ids) > tokens]
    while number > 0:
        chosen = torch.randint(len(texts), (256,), generator=generator).tolist()
        shares = torch.rand(256, generator=generator).tolist()
        drawn = []
        for ids, share in zip((texts[i] for i in chosen), shares, strict=True):
            start = int(share * (len(ids) - tokens))
            drawn.append(tuple(ids[start : start + tokens].tolist()))
        found = list(around.surviving(drawn).items())[:number]
        number -= len(found)
        yield from found


def _random(around: Frame, number: int, tokens: int, seed: int) -> Iterator[tuple[Ids, str]]:
    """Random tokens that survive their own text."""
    generator = generator_of(seed, "random lessons")
    while number > 0:
        drawn = torch.randint(len(around.allowed), (256, tokens), generator=generator)
        rows = [tuple(row) for row in around.allowed[drawn].tolist()]
        found = list(around.surviving(rows).items())[:number]
        number -= len(found)
        yield from found
