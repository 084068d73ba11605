"""What an index must answer, found by looking at everything."""

from rapidfuzz.distance import Levenshtein


def places(documents, query):
    """(document, start) of every occurrence, in corpus order."""
    n = len(query)
    return [
        (number, start)
        for number, document in enumerate(documents)
        for start in range(len(document) - n + 1)
        if document[start : start + n] == query
    ]


def longest_matches(documents, sequence):
    lengths = []
    for start in range(len(sequence)):
        length = 0
        while start + length < len(sequence) and places(
            documents, sequence[start : start + length + 1]
        ):
            length += 1
        lengths.append(length)
    return lengths


def nearest(documents, window, max_distance):
    """(distance, document, start, length) of the best stretch, None if none is near enough."""
    stretches = [
        (Levenshtein.distance(window, document[start : start + length]), number, start, length)
        for number, document in enumerate(documents)
        for length in range(len(window) - max_distance, len(window) + max_distance + 1)
        for start in range(len(document) - length + 1)
    ]
    best = min(stretches, default=None)
    return best if best and best[0] <= max_distance else None
