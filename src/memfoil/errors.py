"""The mistakes a user can make, one exception type each.

Each message is one line that says where (file, column, row or key), what, and what to do. It is
shown once, at the edge (a script or a command), with exit status 2 and without a traceback.
"""


class MemfoilError(Exception):
    """A mistake in what memfoil was given; never a defect of memfoil itself."""


class InvalidConfiguration(MemfoilError):
    """A configuration key or value that cannot be used."""


class InvalidTable(MemfoilError):
    """A table that does not have the columns, types or keys of its schema."""


class InvalidDocuments(MemfoilError):
    """A document source that cannot be read, or holds nothing that can be used."""


class InvalidScores(MemfoilError):
    """Scores that are no scores: NaN, a positive log-probability, no control."""


class InvalidIndex(MemfoilError):
    """A suffix-array index that is damaged, misplaced, or asked about ids it cannot hold."""


class InvalidModel(MemfoilError):
    """A model folder that cannot be loaded, or does not fit what is asked of it."""


class InvalidTargets(MemfoilError):
    """A list of target sequences, or a target, that no prompt can be sought for."""


class InvalidTemplates(MemfoilError):
    """A table of prompt templates that cannot be filled in."""


class UnusableService(MemfoilError):
    """A hosted index that does not answer, or whose answers cannot be what was asked for."""


def one_line(error: Exception) -> str:
    """What the user is told of a mistake, whatever line breaks stand in a name it quotes."""
    return f"memfoil: {' '.join(str(error).split())}"
