"""Two pools of candidates and two of controls, under three procedures at two lengths."""

import numpy as np
import pandas as pd
import pytest
from matched_scores import POOLS, scores_of, sequences_of, verdicts

from memfoil import calibration


@pytest.fixture
def sequences():
    return sequences_of(POOLS)


@pytest.fixture
def scores(sequences):
    """Three procedures (continuous, with an atom, binary) at two lengths."""
    generator = np.random.default_rng(0)
    bonus = sequences["pool"].map({"planted": 6.0, "seen once": 0.5}).fillna(0.0)
    parts = []
    for length in (10, 50):
        base = np.minimum(-generator.exponential(length / 5, len(sequences)) + bonus, 0.0)
        parts += [
            scores_of(sequences, base, "base", length),
            scores_of(sequences, base.where(base > -length / 5, -np.inf), "top-40", length),
            scores_of(sequences, np.where(base > -1.0, 0.0, -np.inf), "greedy", length),
        ]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture
def contamination(sequences):
    return verdicts(sequences, ["held-out:3", "held-out:4", "post-cutoff:0"])


@pytest.fixture
def splits(sequences):
    return pd.DataFrame(
        {
            "passage_id": sequences["sequence_id"],
            "split": "planted",
            "repetitions": np.where(sequences["pool"] == "planted", [2, 64] * 90, 1),
        }
    )


@pytest.fixture
def thresholds(scores, sequences, contamination):
    return calibration.thresholds(
        scores, sequences, contamination, alphas=[0.001, 0.05, 0.1], confidence=0.9
    )
