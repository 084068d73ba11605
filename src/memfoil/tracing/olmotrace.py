"""What OLMoTrace does otherwise: spans shown as unions, documents ranked by BM25."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

K1 = 1.5
B = 0.75


def bm25(query: Sequence[str], documents: Sequence[Sequence[str]]) -> np.ndarray:
    """Relevance of each document for a query, among these documents; (n,) float64.

    Every word of the query counts, as often as it occurs there. The inverse document frequency
    is ln(1 + (N - n + 0.5) / (n + 0.5)), never negative.

    Source: Robertson and Zaragoza 2009, section 3.1, with k1 = 1.5 and b = 0.75.
    """
    counts = [Counter(document) for document in documents]
    lengths = np.array([len(document) for document in documents], float)
    norms = K1 * (1 - B + B * lengths / max(lengths.mean(), 1.0)) if len(lengths) else lengths
    scores = np.zeros(len(documents))
    for word, times in Counter(query).items():
        frequency = np.array([count[word] for count in counts], float)
        n = np.count_nonzero(frequency)
        idf = np.log1p((len(documents) - n + 0.5) / (n + 0.5))
        scores += times * idf * frequency * (K1 + 1) / (frequency + norms)
    return scores
