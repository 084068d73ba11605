"""What is left out of passages, pools and sequences."""

from __future__ import annotations

import pandas as pd

from memfoil.tables import LEFT_OUT


def listed(rows: list[tuple[str, str, str]]) -> pd.DataFrame:
    """A LEFT_OUT table of (item_id, reason, detail)."""
    return pd.DataFrame(rows, columns=[column.name for column in LEFT_OUT.columns], dtype="str")
