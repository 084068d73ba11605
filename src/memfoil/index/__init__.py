"""A suffix-array index of a training text, in infini-gram's own format."""

from memfoil.index.build import build
from memfoil.index.checks import verify
from memfoil.index.interface import Searchable, require_tokenizer_of
from memfoil.index.neighbours import Neighbour, neighbours
from memfoil.index.query import Index, Place, Segment, open_index
from memfoil.index.remote import RemoteIndex, open_remote
from memfoil.index.windows import Windows

__all__ = [
    "Index",
    "Neighbour",
    "Place",
    "RemoteIndex",
    "Searchable",
    "Segment",
    "Windows",
    "build",
    "neighbours",
    "open_index",
    "open_remote",
    "require_tokenizer_of",
    "verify",
]
