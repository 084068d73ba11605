"""The index of a text, opened for the tokenizer that prompts and generations are read with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memfoil.index import Searchable, open_index, open_remote, require_tokenizer_of
from memfoil.index.files import MANIFEST
from memfoil.models import tokenizer_digest


def open_for(index: str | Path, tokenizer: Any) -> Searchable:
    """Open a folder with an index, this project's or infini-gram's, or a hosted one.

    Parameters
    ----------
    index : path
        A folder, or the YAML file that describes a hosted index.
    tokenizer : fast tokenizer of transformers

    Raises
    ------
    InvalidIndex
        If a file is missing or damaged, or the index names another tokenizer.
    """
    path = Path(index)
    opened: Searchable
    if path.is_file():
        opened = open_remote(path)
    else:
        named = (path / MANIFEST).exists()
        opened = open_index(path, vocab_size=None if named else len(tokenizer))
    require_tokenizer_of(opened, tokenizer_digest(tokenizer), where=str(path))
    return opened
