"""A suffix-array index of a training text, in infini-gram's own format."""

from memfoil.index.build import build
from memfoil.index.checks import verify
from memfoil.index.neighbours import Neighbour, neighbours
from memfoil.index.query import Index, Place, Segment, open_index

__all__ = [
    "Index",
    "Neighbour",
    "Place",
    "Segment",
    "build",
    "neighbours",
    "open_index",
    "verify",
]
