"""What a reader found and did not take."""

from __future__ import annotations

from typing import NamedTuple


class LeftOut(NamedTuple):
    """A row of the table LEFT_OUT."""

    item_id: str
    reason: str
    detail: str
