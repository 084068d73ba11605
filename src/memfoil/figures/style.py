"""The one look of all figures: colours that keep their meaning, sizes, and the way to a file."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib.style
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from memfoil.tables import atomic

WIDTH = 8.0  # inches: the width of a report page
LINE = 112  # characters of a subtitle's line at that width
INK = "#262626"
QUIET = "#737373"
GRID = "#E3E3E3"
PAPER = {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.5}  # behind text

# Okabe and Ito's palette, and for procedures three of Tol's: told apart with any colour vision.
# Line styles and markers differ too, so that nothing rests on colour alone.
CANDIDATES = ("#D55E00", "#E69F00", "#CC79A7", "#7F4F24")
CONTROLS = {"held-out": ("#0072B2", "-"), "post-cutoff": ("#009E73", (0, (5, 1.6)))}
OTHER_CONTROLS = (
    ("#0072B2", "-"), ("#009E73", (0, (5, 1.6))), ("#56B4E9", (0, (2, 1.2))), ("#6A51A3", "-."),
)  # fmt: skip
GREEDY, BASE = ("#4D4D4D", "s"), ("#332288", "o")
TOP_K = (("#AA4499", "^"), ("#DDAA33", "v"), ("#44AA99", "D"))
SHADES = ("#0B3C5D", "#2F7FB8", "#8CC0E3", "#C9D9E6")

LOOK = {
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.7,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "text.color": INK,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 2.4,
    "legend.borderaxespad": 0.8,
    "svg.fonttype": "path",
    "svg.hashsalt": "memfoil",
}

P = ParamSpec("P")


def drawn(function: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draw in this look whatever the user's matplotlibrc says; no panel stays without a word."""

    @wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with matplotlib.style.context(LOOK, after_reset=True):
            figure = function(*args, **kwargs)
            for panel in figure.axes:
                if _is_silent(panel):
                    nothing(panel, "the tables hold nothing to show here")
            return figure

    return inside


def _is_silent(axes: Axes) -> bool:
    """Neither data nor words; lines across the whole panel are no data."""
    lines = [line for line in axes.lines if line.get_transform() == axes.transData]
    drawn = axes.patches or axes.images or any(len(np.asarray(line.get_xdata())) for line in lines)
    return not (drawn or axes.collections or axes.texts or axes.get_title(loc="right"))


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as its name ends (`.svg` or `.png`), atomically; same figure, same bytes."""
    kind = Path(path).suffix.removeprefix(".")
    metadata = {"Date": None} if kind == "svg" else None
    with matplotlib.style.context(LOOK, after_reset=True), atomic(path) as temporary:
        figure.savefig(temporary, format=kind, metadata=metadata)


def panels(
    title: str,
    subtitle: str,
    rows: int = 1,
    columns: int = 1,
    height: float = 2.7,
    **shared: Any,
) -> tuple[Figure, np.ndarray]:
    """A figure of report width with a title over (rows, columns) panels, each `height` inches."""
    lines = _wrapped(subtitle)
    head = 0.42 + 0.165 * len(lines)
    tall = head + rows * height + 0.35
    figure = Figure(figsize=(WIDTH, tall), layout="constrained")
    FigureCanvasAgg(figure)
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.set(rect=(0.0, 0.0, 1.0, 1.0 - head / tall), h_pad=0.06, w_pad=0.06)  # type: ignore[call-arg]
    figure.text(
        0.012, 1 - 0.1 / tall, title, ha="left", va="top", fontsize=12, fontweight="bold", color=INK
    )
    figure.text(
        0.012, 1 - 0.36 / tall, "\n".join(lines), ha="left", va="top", fontsize=9, color=QUIET,
        linespacing=1.25,
    )  # fmt: skip
    return figure, figure.subplots(rows, columns, squeeze=False, **shared)


def _wrapped(text: str) -> list[str]:
    """Lines as wide as the page, or a little less where the last would be a word or two."""
    widths = range(LINE, LINE - 20, -1)
    breaks = [textwrap.wrap(text, width) for width in widths]
    return next((lines for lines in breaks if len(lines[-1]) > 16), breaks[0])


def legend(figure: Figure, handles: Sequence[Artist], columns: int = 3) -> None:
    """One legend for all panels, under them."""
    figure.legend(handles=list(handles), loc="outside lower left", ncols=columns)


def note(axes: Axes, text: str, x: float = 0.02, y: float = 0.03, **style: Any) -> None:
    """A remark inside a panel, in fractions of its size; readable over lines."""
    settings: dict[str, Any] = {
        "ha": "left", "va": "bottom", "fontsize": 8, "color": QUIET, "linespacing": 1.3,
        "bbox": PAPER,
    }  # fmt: skip
    axes.text(x, y, text, transform=axes.transAxes, zorder=6, **(settings | style))


def below(axes: Axes, remarks: Sequence[str], columns: int) -> None:
    """Remarks under a panel's label, wrapped to the width of one of `columns` panels."""
    width = LINE * 9 // (8 * columns) - 9
    lines = [
        line for remark in remarks for line in textwrap.wrap(remark, width, break_on_hyphens=False)
    ]
    axes.annotate(
        "\n".join(lines), (0, 0), xycoords=("axes fraction", axes.xaxis.label), xytext=(0, -4),
        textcoords="offset points", va="top", fontsize=8, color=QUIET, linespacing=1.3,
    )  # fmt: skip


def aside(axes: Axes, text: str) -> None:
    """A remark over the right end of a panel, beside its title."""
    axes.set_title(text, loc="right", fontsize=8, fontweight="normal", color=QUIET)


def nothing(axes: Axes, text: str) -> None:
    """An empty panel says why it is empty."""
    note(axes, text, 0.5, 0.5, ha="center", va="center", fontsize=9)
    axes.grid(False)


def percent(value: float, digits: int = 3) -> str:
    """0.00025 as `0.025%`."""
    return f"{100 * value:.{digits}g}%"


def power(log10: float) -> str:
    """-7.54 as a power of ten; below 1e-20 only the exponent is trusted, and is rounded."""
    if not np.isfinite(log10):
        return "0"
    exponent = f"{log10:.0f}" if log10 < -20 else f"{log10:.3g}"
    return rf"$10^{{{exponent}}}$"


def percent_axis(axis: Axis, scale: str = "linear") -> None:
    """Ticks in percent; on a logarithmic axis, once its limits are set, at powers of ten."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.6g}%"))
    if scale == "log":
        low, high = axis.get_view_interval()
        between = (1.0,) if high > 100 * low else (1.0, 2.0, 5.0)
        axis.set_major_locator(LogLocator(subs=between, numticks=12))
        axis.set_minor_locator(NullLocator())


def power_axis(axis: Axis) -> None:
    """An axis whose data are log10 of a probability or a count, with ticks 10^x, four or more."""
    low, high = axis.get_view_interval()
    if high - low < 4:
        limits = axis.axes.set_ylim if axis is axis.axes.yaxis else axis.axes.set_xlim
        limits(high - 4, high)
    axis.set_major_locator(MaxNLocator(6, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: rf"$10^{{{value:.0f}}}$"))


def candidate_marks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour of each pool of candidates, in the order given."""
    return {
        name: {"color": CANDIDATES[i % len(CANDIDATES)], "linewidth": 1.9}
        for i, name in enumerate(names)
    }


def control_marks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour and line style of each control pool; the testbed's two keep theirs everywhere."""
    marks = {name: CONTROLS[name] for name in names if name in CONTROLS}
    free = [mark for mark in OTHER_CONTROLS if mark not in marks.values()] or OTHER_CONTROLS
    others = [name for name in names if name not in CONTROLS]
    marks |= {name: free[i % len(free)] for i, name in enumerate(others)}
    return {name: {"color": marks[name][0], "linestyle": marks[name][1]} for name in names}


def procedure_marks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour and marker of each extraction procedure."""
    marks = {"greedy": GREEDY, "base": BASE}
    others = [name for name in names if name not in marks]
    marks |= {name: TOP_K[i % len(TOP_K)] for i, name in enumerate(others)}
    return {name: {"color": marks[name][0], "marker": marks[name][1]} for name in names}
