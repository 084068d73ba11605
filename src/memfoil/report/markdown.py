"""Tables of the pages that a run writes, in Markdown."""

from __future__ import annotations

import pandas as pd
from tabulate import tabulate


def as_table(frame: pd.DataFrame) -> str:
    """A frame as it is, its column names without underscores."""
    headers = [str(name).replace("_", " ") for name in frame.columns]
    rows = frame.astype(str).to_numpy().tolist()
    return tabulate(rows, headers, tablefmt="github", disable_numparse=True)


def percent(values: pd.Series) -> pd.Series:
    """Shares as percentages of three figures."""
    return values.map(lambda value: f"{100 * value:.3g}%")
