"""Figures of a census: one document held against one control, window by window."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from memfoil.figures import selection as of
from memfoil.figures import style

MAXIMUM = "a measured maximum, not a certified level"
BOOK, BEFORE, AFTER = style.CANDIDATES[0], style.OTHER_CONTROLS[2][0], style.OTHER_CONTROLS[0][0]
REACHABLE, UNREACHABLE = style.SHADES[1], style.SHADES[3]
BELOW = "#F2F2F2"
COLD_TO_HOT = LinearSegmentedColormap.from_list(
    "heat", ["#A9CDE8", "#7DB6DE", "#E69F00", "#D55E00", "#7F2A00"]
).with_extremes(under=BELOW)
COLUMNS = 1200  # of a heat strip


def pairs_of(frame: pd.DataFrame) -> list[str]:
    """The pairs of a table, in its order."""
    return list(dict.fromkeys(frame["pair"]))


def tau_of(thresholds: pd.DataFrame, pair: str, procedure: str, *, clean: bool = True) -> float:
    """log10 of tau_book; -inf where there is none."""
    row = of.rows(thresholds, pair=pair, procedure=procedure, decontaminated=clean)
    return float(row["log10_tau"].iloc[0]) if len(row) else -np.inf


@style.drawn
def census_scores(positions: pd.DataFrame, thresholds: pd.DataFrame, *, procedure: str) -> Figure:
    """Histograms of the scores of a document's windows and its control's, one panel for each pair.

    Parameters
    ----------
    positions : frame of `memfoil.census.case.positions`
    thresholds : CENSUS_THRESHOLDS table

    Source: Cooper et al. 2026, figures 16 and 17.
    """
    frame = of.rows(positions, procedure=procedure)
    pairs = pairs_of(frame)
    figure, axes = style.panels(
        "How probable the windows of each document are, beside those of its control",
        "Windows by the probability of their 50-token suffix, as shares of each text's windows "
        "(log scale). Vertical: the\nthreshold, "
        f"{MAXIMUM}, of the control as it is (dotted) and without reused passages.\n"
        f"{of.procedure_named(procedure).capitalize()}.",
        rows=len(pairs),
        height=2.3,
        sharex=True,
    )
    powers = frame["log_score"].to_numpy() / of.LOG_10
    bins = np.arange(np.floor(powers[np.isfinite(powers)].min(initial=-1.0)), 1.0)
    bins = bins if len(bins) < 90 else np.linspace(bins[0], 0.0, 90)
    for panel, pair in zip(axes[:, 0], pairs, strict=True):
        _histograms(panel, of.rows(frame, pair=pair), bins)
        for clean, line in ((False, ":"), (True, "-")):
            tau = tau_of(thresholds, pair, procedure, clean=clean)
            if np.isfinite(tau):
                panel.axvline(tau, color=style.INK, linewidth=1.0, linestyle=line)
        panel.set_title(pair)
        panel.set_ylabel("share of windows")
    axes[-1, 0].set_xlabel("probability of the suffix (log scale)")
    style.power_axis(axes[-1, 0].xaxis)
    style.legend(
        figure,
        [
            Patch(color=BOOK, alpha=0.55, label="document"),
            Line2D([], [], color=BEFORE, label="control, as it is"),
            Line2D([], [], color=AFTER, label="control, without reused passages"),
        ],
    )
    return figure


def _histograms(axes: Axes, frame: pd.DataFrame, bins: np.ndarray) -> None:
    control = of.rows(frame, text="control")
    texts: list[tuple[pd.DataFrame, dict[str, Any]]] = [
        (of.rows(frame, text="document"), {"color": BOOK, "alpha": 0.55, "histtype": "stepfilled"}),
        (control, {"color": BEFORE, "histtype": "step", "linewidth": 1.8}),
        (control[~control["leaving"]], {"color": AFTER, "histtype": "step", "linewidth": 1.3}),
    ]
    zero = []
    for windows, look in texts:
        powers = windows["log_score"].to_numpy() / of.LOG_10
        finite = powers[np.isfinite(powers)]
        axes.hist(
            finite, bins.tolist(), weights=np.full(len(finite), 1 / max(len(powers), 1)), **look
        )
        zero.append(style.percent(1 - len(finite) / max(len(powers), 1)))
    axes.set_yscale("log")
    if set(zero) != {"0%"}:
        style.note(axes, f"probability zero, not drawn: document {zero[0]}, control {zero[1]}")


@style.drawn
def census_coverage(census: pd.DataFrame, *, prefix_tokens: int) -> Figure:
    """Share of each document's characters that is memorized, and of that what queries reach.

    `census` is a CENSUS table. A group of bars for each pair, a bar for each procedure at its
    tau_book (greedy decoding: what it generates), and hollow marks at tau_global.

    Source: Cooper et al. 2026, figures 6 and 7.
    """
    frame = of.rows(census, prefix_tokens=prefix_tokens)
    pairs, procedures = pairs_of(frame), list(dict.fromkeys(frame["procedure"]))
    figure, axes = style.panels(
        "How much of each document is memorized, and could be generated",
        "Share of the document's characters in a 50-token suffix above the control's threshold, "
        f"{MAXIMUM}.\nDark: within the query budget. Light: memorized and out of its reach. "
        "Hollow: above the largest threshold of all pairs.",
        height=0.5 + 0.27 * len(pairs) * len(procedures),
    )
    panel = axes[0, 0]
    labels = []
    for row, (pair, procedure) in enumerate((a, b) for a in pairs for b in procedures):
        own = of.rows(frame, pair=pair, procedure=procedure).set_index("threshold")
        threshold = "none" if procedure == "greedy" else "book"
        shares = [float(own[name].loc[threshold]) for name in ("reachable", "unreachable")]
        panel.barh(row, shares[0], color=REACHABLE, height=0.7)
        panel.barh(row, shares[1], left=shares[0], color=UNREACHABLE, height=0.7)
        if "global" in own.index:
            panel.plot(
                own.loc["global", "coverage"], row, "D",
                color=style.INK, fillstyle="none", clip_on=False,
            )  # fmt: skip
        panel.text(sum(shares), row, f"  {style.percent(sum(shares))}", va="center", fontsize=8)
        labels.append(f"{pair}: {procedure}")
    panel.set_yticks(range(len(labels)), labels)
    panel.invert_yaxis()
    panel.set_xlim(left=0, right=max(float(frame["coverage"].max()) * 1.15, 1e-6))
    panel.set_xlabel("share of the document's characters")
    style.percent_axis(panel.xaxis)
    style.legend(
        figure,
        [
            Patch(color=REACHABLE, label=f"within {frame['query_budget'].iloc[0]:,} queries"),
            Patch(color=UNREACHABLE, label="memorized, not within them"),
            Line2D([], [], marker="D", color=style.INK, fillstyle="none", linestyle="",
                   label="at the global threshold"),
        ],
    )  # fmt: skip
    return figure


@style.drawn
def census_margin(curves: pd.DataFrame, *, prefix_tokens: int) -> Figure:
    """Coverage above tau_book times ten to the margin; CENSUS_CURVES table.

    Source: Cooper et al. 2026, figure 18.
    """
    figure, axes = _curve_panels(
        curves, "margin", prefix_tokens,
        "How far above its control's threshold each document is covered",
        "Share of the characters in a suffix whose probability exceeds the threshold by more than "
        "this many powers of ten;\nat 0, the share memorized.",
    )  # fmt: skip
    for panel in axes[0]:
        panel.set_xlabel("margin Δ, powers of ten above the threshold")
        panel.set_xlim(left=0)
    return figure


@style.drawn
def census_budget(curves: pd.DataFrame, *, prefix_tokens: int, query_budget: int) -> Figure:
    """Coverage above tau_book within a number of queries at 95%; CENSUS_CURVES table.

    Source: Cooper et al. 2026, figures 7 and 21.
    """
    figure, axes = _curve_panels(
        curves, "budget", prefix_tokens,
        "How many queries it takes to generate what is memorized",
        "Share of the characters in a memorized suffix that so many independent samples show with "
        "the success asked for.\nThe curve ends at the share memorized; vertical: the query budget "
        "of the run.",
    )  # fmt: skip
    for panel in axes[0]:
        panel.axvline(np.log10(query_budget), color=style.QUIET, linewidth=0.9, linestyle=":")
        panel.set_xlabel("queries (log scale)")
        style.power_axis(panel.xaxis)
    return figure


def _curve_panels(
    curves: pd.DataFrame, curve: str, prefix_tokens: int, title: str, subtitle: str
) -> tuple[Figure, np.ndarray]:
    frame = of.rows(curves, curve=curve, prefix_tokens=prefix_tokens)
    procedures = list(dict.fromkeys(curves["procedure"]))
    pairs = pairs_of(curves)
    figure, axes = style.panels(title, subtitle, columns=len(pairs), height=2.9, sharey=True)
    marks = style.procedure_marks(procedures)
    for panel, pair in zip(axes[0], pairs, strict=True):
        for name, mark in marks.items():
            own = of.rows(frame, pair=pair, procedure=name)
            panel.plot(own["x"], own["coverage"], markevery=0.1, **mark)
        undrawn = [name for name in marks if not len(of.rows(frame, pair=pair, procedure=name))]
        if undrawn and curve == "margin":
            remark = f"no margin over a threshold of zero: {', '.join(undrawn)}"
            style.note(panel, remark, 0.98, 0.97, ha="right", va="top")
        panel.set_title(pair)
        panel.set_ylim(bottom=0)
        style.percent_axis(panel.yaxis)
    axes[0, 0].set_ylabel("share of the document's characters")
    style.legend(figure, [Line2D([], [], label=name, **mark) for name, mark in marks.items()])
    return figure, axes


@style.drawn
def census_heat(
    heat: pd.DataFrame, thresholds: pd.DataFrame, *, procedure: str, prefix_tokens: int
) -> Figure:
    """Each whole document as a strip, coloured by the best suffix over each stretch of it.

    `heat` is a CENSUS_HEAT table. Colours begin at the lowest threshold shown.

    Source: Cooper et al. 2026, appendix E.2.
    """
    frame = of.rows(heat, procedure=procedure, prefix_tokens=prefix_tokens)
    pairs = pairs_of(frame)
    taus = [tau_of(thresholds, pair, procedure) for pair in pairs]
    lowest = min([tau for tau in taus if np.isfinite(tau)], default=-50.0)
    figure, axes = style.panels(
        "Where in each document the memorized passages lie",
        "From the first character to the last; the colour is the largest probability among the "
        "suffixes over each stretch.\nGrey: below the control's threshold, "
        f"{MAXIMUM}. White: in no suffix.",
        rows=len(pairs),
        height=0.95,
    )
    for panel, pair, tau in zip(axes[:, 0], pairs, taus, strict=True):
        strip = heat_strip(of.rows(frame, pair=pair))
        shown = np.where(strip > tau, np.maximum(strip, lowest), lowest - 1.0)
        image = panel.imshow(
            np.where(np.isnan(strip), np.nan, shown)[None], cmap=COLD_TO_HOT, aspect="auto",
            vmin=lowest, vmax=0.0, extent=(0.0, 1.0, 0.0, 1.0), interpolation="nearest",
        )  # fmt: skip
        panel.set_title(pair)
        panel.set_yticks([])
        panel.grid(False)
        style.percent_axis(panel.xaxis)
    axes[-1, 0].set_xlabel("position in the document")
    bar = figure.colorbar(image, ax=axes[:, 0].tolist(), shrink=0.9, pad=0.01)
    style.power_axis(bar.ax.yaxis)
    return figure


def heat_strip(runs: pd.DataFrame, columns: int = COLUMNS) -> np.ndarray:
    """The largest log10 score in each of `columns` equal parts of one document; NaN in no suffix.

    `runs` are the rows of one measurement of a CENSUS_HEAT table.
    """
    length = runs["end_char"].max()
    first = (runs["start_char"] * columns // length).to_numpy()
    last = ((runs["end_char"] - 1) * columns // length).to_numpy()
    strip = np.full(columns, np.nan)
    for start, end, score in zip(first, last, runs["log_score"] / of.LOG_10, strict=True):
        strip[start : end + 1] = np.fmax(strip[start : end + 1], score)
    return strip


@style.drawn
def census_positions(
    positions: pd.DataFrame, thresholds: pd.DataFrame, *, procedure: str
) -> Figure:
    """Every window's probability against its place, document and control one above the other.

    Parameters as `census_scores`.
    """
    frame = of.rows(positions, procedure=procedure)
    pairs = pairs_of(frame)
    figure, axes = style.panels(
        "Probability of every window, from the beginning of the text to its end",
        "A dot is a window. A window of the document above the line, the control's threshold, is "
        f"memorized.\nThe threshold is {MAXIMUM}. Crosses: windows "
        f"that overlap reused text. {of.procedure_named(procedure).capitalize()}.",
        rows=len(pairs), columns=2, height=2.3, sharey=True,
    )  # fmt: skip
    for row, pair in zip(axes, pairs, strict=True):
        tau = tau_of(thresholds, pair, procedure)
        for panel, text, color in zip(row, ("document", "control"), (BOOK, AFTER), strict=True):
            own = of.rows(frame, pair=pair, text=text)
            for leaving, marker in ((False, "."), (True, "x")):
                some = own[own["leaving"] == leaving]
                panel.plot(
                    some["position"], some["log_score"] / of.LOG_10, marker, color=color,
                    markersize=3.5, alpha=0.7,
                )  # fmt: skip
            panel.set_title(f"{pair}: {text}")
            style.percent_axis(panel.xaxis)
            if np.isfinite(tau):
                panel.axhline(tau, color=style.INK, linewidth=1.0)
        row[0].set_ylabel("probability (log scale)")
        style.power_axis(row[0].yaxis)
    for panel in axes[-1]:
        panel.set_xlabel("position in the text")
    return figure
