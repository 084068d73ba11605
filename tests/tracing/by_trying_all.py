"""Everything about spans by trying all of them."""


def occurs(piece, documents):
    n = len(piece)
    return any(
        document[i : i + n] == piece for document in documents for i in range(len(document) - n + 1)
    )


def count(piece, documents):
    n = len(piece)
    return sum(
        document[i : i + n] == piece for document in documents for i in range(len(document) - n + 1)
    )


def maximal_spans(sequence, documents, fits=lambda start, end: True):
    """All (start, end) that occur and fit, without those inside another one."""
    n = len(sequence)
    found = [
        (i, j)
        for i in range(n)
        for j in range(i + 1, n + 1)
        if fits(i, j) and occurs(sequence[i:j], documents)
    ]
    return [
        (i, j)
        for i, j in found
        if not any(a <= i and j <= b and (a, b) != (i, j) for a, b in found)
    ]
