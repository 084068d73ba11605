"""Parquet: one document a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from memfoil.errors import InvalidDocuments


def records(source: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row as (where, record); rows count from 0.

    Raises
    ------
    InvalidDocuments
        If the file is missing or damaged, or holds a text that is not UTF-8 or an impossible date.
    """
    path = source["path"]
    row = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1024):
                for record in batch.to_pylist():
                    yield f"{path}, row {row}", record
                    row += 1
    except UnicodeDecodeError as error:
        raise InvalidDocuments(f"{path}, row {row} or after: a text is not UTF-8") from error
    except (pa.ArrowException, OSError) as error:
        raise InvalidDocuments(f"{path}: not a readable Parquet file: {error}") from error
    except (OverflowError, ValueError) as error:
        raise InvalidDocuments(
            f"{path}, row {row} or after: a date outside the years 1 to 9999: {error}"
        ) from error
