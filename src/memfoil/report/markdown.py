"""Tables of the pages that a run writes, in Markdown."""

from __future__ import annotations

import math

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


def power(log10: float) -> str:
    """A power of ten; below 1e-20 only the exponent is trusted. +inf is no threshold at all."""
    if math.isnan(log10):
        return ""
    if math.isinf(log10):
        return "0" if log10 < 0 else "none"
    if log10 == 0:
        return "1"
    return f"1e{log10:.0f}" if log10 < -20 or float(log10).is_integer() else f"{10**log10:.1e}"
