"""Long stages in pieces that outlive a kill: what is finished is not done again."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import pandas as pd

from memfoil.tables.schema import ROWS_TOGETHER, Provenance, Table, footer

Item = TypeVar("Item")


def share(items: int, part: int, parts: int) -> range:
    """The places of the items that one of several parts takes, from part 1; sizes differ by one."""
    return range(items * (part - 1) // parts, items * part // parts)


def read_share(table: Table, path: str | Path, part: tuple[int, int]) -> pd.DataFrame:
    """The rows of a table that one of several parts takes; memory holds little else.

    Parameters
    ----------
    part : (int, int)
        Which of how many parts, from 1. Where there are more parts than rows some get none.

    Raises
    ------
    InvalidTable
        As `Table.read` does.
    """
    own = share(footer(path).num_rows, *part)
    first, kept = 0, []
    for rows in table.read_parts(path, ROWS_TOGETHER):
        kept.append(rows[max(own.start - first, 0) : max(own.stop - first, 0)])
        first += len(rows)
    return pd.concat(kept, ignore_index=True) if kept else table.read(path)


def write_in_shards(
    items: Iterable[Item],
    work: Callable[[Item], pd.DataFrame],
    table: Table,
    path: str | Path,
    provenance: Provenance,
) -> None:
    """Write `table`, one shard for each item, each kept beside `path` until all are there.

    A stage that was killed goes on after its last whole shard, if its inputs, configuration and
    code are still the same; shards of another state are thrown away. Memory holds one shard.

    Parameters
    ----------
    items : iterable
        The same in the same order whenever the inputs are the same.
    work : callable
        Rows of the table for one item; shards must not share a key.
    """
    path = Path(path)
    state = hashlib.sha256(provenance.metadata()[b"memfoil"]).hexdigest()[:16]
    folder = path.with_name(f".{path.name}.{state}.shards")
    for other in path.parent.glob(f".{path.name}.*.shards"):
        if other != folder:
            shutil.rmtree(other)
    folder.mkdir(parents=True, exist_ok=True)

    def shards() -> Iterator[pd.DataFrame]:
        for number, item in enumerate(items):
            shard = folder / f"{number:06}.parquet"
            if not shard.is_file():
                table.write(work(item), shard, provenance)
            yield table.read(shard)

    table.write_parts(shards(), path, provenance)
    shutil.rmtree(folder)
