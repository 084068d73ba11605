"""Passages drawn into pools of candidates and controls, all by the same rule."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping
from typing import Any

import pandas as pd

from memfoil.errors import InvalidConfiguration
from memfoil.sampling.left_out import listed
from memfoil.tables import DRAWS

CROWDED = "document has max_per_document passages in the pool already"
SMALL_POOL = "pool smaller than asked for"
POOL_KEYS = ("role", "passages", "from", "to", "sources", "split")
ROLES = ("candidate", "control")


def draw(
    passages: pd.DataFrame,
    pools: Mapping[str, Mapping[str, Any]],
    *,
    seed: int,
    max_per_document: int,
    splits: pd.DataFrame | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw passages into pools of candidates and controls, all by the same rule.

    Each passage has a key that depends on the seed and its id alone. A pool takes the passages
    open to it in the order of their keys, skips those whose document it has drawn from
    `max_per_document` times, and stops at the number asked for. So a larger number only adds
    later ranks, and neither the order of the rows nor the other pools change a draw.

    Parameters
    ----------
    passages : DataFrame
        PASSAGES table.
    pools : mapping
        Name to `{"role": "candidate" | "control", "passages": n | "all"}` with the optional
        limits `from` and `to` (days, inclusive), `sources` (a list) and `split`.
    splits : DataFrame, optional
        SPLITS table, needed where a pool names a split.

    Returns
    -------
    draws, left_out : DataFrame
        DRAWS (ranks from 1) and LEFT_OUT tables; a pool with fewer passages than asked for is
        in the second under its name.

    Raises
    ------
    InvalidConfiguration
        If a pool's keys or values make no sense, no passage is open to it, or one passage is
        open to two pools; if there is no pool of controls or none of candidates.
    """
    if max_per_document < 1:
        raise InvalidConfiguration(
            f"sampling: max_per_document is {max_per_document}; it must be at least 1"
        )
    for role in ROLES:
        if not any(pool.get("role") == role for pool in pools.values()):
            raise InvalidConfiguration(f"sampling: no pool has the role {role}; name one")
    ordered = _by_key(passages, seed)
    opened: dict[str, str] = {}
    draws: list[pd.DataFrame] = []
    left_out: list[tuple[str, str, str]] = []
    for name, pool in pools.items():
        _check_pool(name, pool)
        eligible = _open_to(name, pool, ordered, splits)
        _refuse_shared(name, eligible, opened)
        drawn, crowded = _walk(eligible, pool["passages"], max_per_document)
        if pool["passages"] != "all" and len(drawn) < pool["passages"]:
            left_out.append((name, SMALL_POOL, f"{len(drawn)} of {pool['passages']}"))
        left_out += [(passage, CROWDED, name) for passage in crowded["passage_id"]]
        draws.append(drawn.assign(pool=name, role=pool["role"], draw=range(1, len(drawn) + 1)))
    return pd.concat(draws, ignore_index=True)[DRAWS.names], listed(left_out)


def _walk(
    eligible: pd.DataFrame, asked: int | str, max_per_document: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Passages drawn, in order, and those passed over because their document had its share."""
    crowded = eligible.groupby("document_id", sort=False).cumcount() >= max_per_document
    open_to, passed = eligible[~crowded], eligible[crowded]
    if asked == "all" or len(open_to) < int(asked):
        return open_to, passed
    drawn = open_to.head(int(asked))
    return drawn, passed[passed.index < drawn.index[-1]]


def _by_key(passages: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The passages in the order of their random keys, rows numbered anew."""
    keys = [
        hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=16).hexdigest()
        for name in passages["passage_id"]
    ]
    ordered = passages[["passage_id", "document_id", "date", "source"]].assign(key=keys)
    return ordered.sort_values(["key", "passage_id"], ignore_index=True)


def _check_pool(name: str, pool: Mapping[str, Any]) -> None:
    unknown = [key for key in pool if key not in POOL_KEYS]
    if unknown:
        raise InvalidConfiguration(
            f"sampling: pool {name}: unknown key {unknown[0]!r}; a pool has {', '.join(POOL_KEYS)}"
        )
    if pool.get("role") not in ROLES:
        raise InvalidConfiguration(
            f"sampling: pool {name}: role {pool.get('role')!r} is neither candidate nor control"
        )
    number = pool.get("passages")
    if number != "all" and not (type(number) is int and number > 0):
        raise InvalidConfiguration(
            f"sampling: pool {name}: passages is {number!r}; give a number of at least 1, or all"
        )


def _open_to(
    name: str, pool: Mapping[str, Any], passages: pd.DataFrame, splits: pd.DataFrame | None
) -> pd.DataFrame:
    """The passages a pool may draw."""
    eligible = passages
    if pool.get("sources") is not None:
        sources = set(passages["source"])
        missing = [source for source in pool["sources"] if source not in sources]
        if missing:
            raise InvalidConfiguration(
                f"sampling: pool {name}: no passage has the source {missing[0]!r}; there are "
                f"{', '.join(sorted(sources))}"
            )
        eligible = eligible[eligible["source"].isin(pool["sources"])]
    if pool.get("split") is not None:
        eligible = eligible[_in_split(name, pool["split"], eligible["passage_id"], splits)]
    if eligible.empty:
        raise InvalidConfiguration(
            f"sampling: pool {name}: its sources and its split have no passage in common"
        )
    first, last = _range(name, pool)
    dated = eligible[eligible["date"].between(first, last)]
    if dated.empty:
        dates = eligible["date"]
        raise InvalidConfiguration(
            f"sampling: pool {name}: no passage from {first:%Y-%m-%d} to {last:%Y-%m-%d}; those "
            f"there are run from {dates.min():%Y-%m-%d} to {dates.max():%Y-%m-%d}"
        )
    return dated


def _in_split(
    name: str, split: str, passage_ids: pd.Series, splits: pd.DataFrame | None
) -> pd.Series:
    if splits is None:
        raise InvalidConfiguration(
            f"sampling: pool {name}: split {split!r} is asked for, but these documents have no "
            "splits; only the testbed makes them"
        )
    members = splits.loc[splits["split"] == split, "passage_id"]
    if members.empty:
        raise InvalidConfiguration(
            f"sampling: pool {name}: no passage is in the split {split!r}; there are "
            f"{', '.join(sorted(set(splits['split'])))}"
        )
    return passage_ids.isin(members)


def _range(name: str, pool: Mapping[str, Any]) -> tuple[pd.Timestamp, pd.Timestamp]:
    ends = []
    for key, default in (("from", "0001-01-01"), ("to", "9999-12-31")):
        value = pool.get(key)
        try:
            day = datetime.date.fromisoformat(default if value is None else str(value))
        except ValueError as error:
            raise InvalidConfiguration(
                f"sampling: pool {name}: {key} is {value!r}; write a day as 2024-12-31"
            ) from error
        ends.append(pd.Timestamp(day))
    if ends[0] > ends[1]:
        raise InvalidConfiguration(
            f"sampling: pool {name}: from {ends[0]:%Y-%m-%d} is after to {ends[1]:%Y-%m-%d}"
        )
    return ends[0], ends[1]


def _refuse_shared(name: str, eligible: pd.DataFrame, opened: dict[str, str]) -> None:
    for passage in eligible["passage_id"]:
        if passage in opened:
            raise InvalidConfiguration(
                f"sampling: passage {passage} is open to both pools {opened[passage]} and {name}; "
                "set their dates, sources or splits apart"
            )
        opened[passage] = name
