"""What a stage leaves out."""

from __future__ import annotations

import pandas as pd

from memfoil.tables import LEFT_OUT


def listed(rows: list[tuple[str, str, str]]) -> pd.DataFrame:
    """A LEFT_OUT table of (item_id, reason, detail)."""
    return pd.DataFrame(rows, columns=LEFT_OUT.names, dtype="str")
