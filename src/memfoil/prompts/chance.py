"""Randomness that depends on the seed and an item's name alone, so that order changes nothing."""

from __future__ import annotations

import hashlib

import torch

from memfoil.errors import InvalidModel
from memfoil.prompts.frames import Frame, Ids

TRIES = 64  # tokens drawn for one position


def generator_of(seed: int, *names: object) -> torch.Generator:
    """An item's own source of random numbers, on the CPU."""
    item = "\0".join(map(str, (seed, *names)))
    digest = hashlib.blake2b(item.encode(), digest_size=8).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest) >> 1)


def random_ids(frame: Frame, tokens: int, generator: torch.Generator) -> Ids:
    """Random tokens that survive their own text in a frame, drawn one after the other.

    Raises
    ------
    InvalidModel
        If none are found.
    """
    ids: Ids = ()
    while len(ids) < tokens:
        drawn = frame.allowed[torch.randint(len(frame.allowed), (TRIES,), generator=generator)]
        longer = frame.surviving([(*ids, token) for token in drawn.tolist()])
        if not longer:
            raise InvalidModel(
                f"no prompt of {len(ids) + 1} tokens survives decoding and encoding with this "
                "tokenizer and frame; use the frame plain"
            )
        ids = next(iter(longer))
    return ids
