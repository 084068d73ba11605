"""Folders of texts that a control may have quoted, as something that can be indexed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from memfoil.census.texts import MARKDOWN, read
from memfoil.encoding import encode
from memfoil.errors import InvalidDocuments
from memfoil.tables import CORPUS


def corpus(folder: str | Path, tokenizer: Any) -> pd.DataFrame:
    """All texts of a folder and the folders in it (`.txt`, `.md`, `.markdown`) as token ids.

    Returns
    -------
    CORPUS frame
        `document_id` is the path inside the folder.

    Raises
    ------
    InvalidDocuments
        If the folder is missing or has no text, or a text cannot be read.
    """
    folder = Path(folder)
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".txt", *MARKDOWN))
    if not paths:
        raise InvalidDocuments(f"{folder}: no text (.txt, .md) in this folder")
    rows = [
        (str(path.relative_to(folder)), np.array(encoded.token_ids, np.int32))
        for path in paths
        for encoded in encode(tokenizer, [read(path).text])
    ]
    return pd.DataFrame(rows, columns=CORPUS.names)
