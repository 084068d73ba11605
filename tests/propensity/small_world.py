"""Passages made of a few hundred sentences: predictable in part, and never twice the same."""

import numpy as np
import pandas as pd

SUBJECTS = ["The farmer", "A sailor", "My neighbour", "The old mayor", "Our teacher", "Her aunt"]
VERBS = ["repaired", "painted", "found", "sold", "carried", "remembered", "borrowed", "measured"]
OBJECTS = ["the wooden boat", "a green door", "some apples", "the church bell", "two maps"]
PLACES = ["near the river", "in the morning", "before the war", "for a friend", "on the hill"]


def sentence(generator) -> str:
    parts = (generator.choice(words) for words in (SUBJECTS, VERBS, OBJECTS, PLACES))
    return " ".join(parts) + f" in {generator.integers(1000, 9999)}."


def passages(n: int, seed: int, source: str, sentences: int = 6) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    texts = [" ".join(sentence(generator) for _ in range(sentences)) for _ in range(n)]
    names = [f"{source}-{i}" for i in range(n)]
    return pd.DataFrame(
        {"passage_id": names, "document_id": names, "text": texts, "source": source}
    )
