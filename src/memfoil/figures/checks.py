"""Figures of what the claims rest on: is the certified rate kept, and are the controls matched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.stats import beta

from memfoil.figures import selection as of
from memfoil.figures import style
from memfoil.stats.resplits import fresh_claims


@style.drawn
def validity(validity: pd.DataFrame, *, procedure: str, suffix_tokens: int, alpha: float) -> Figure:
    """Realized false-positive rates over random re-splits of known non-members.

    Left: mean realized over certified rate at every level, with twice the Monte Carlo standard
    error; 1 is exactly as certified, less is safer. Then, per control pool, the distribution of
    the realized rate at `alpha`, with the law it must follow: the rate of the threshold itself
    is Beta(K, N - K + 1), and counted in a fresh half of n it is beta-binomial.

    `validity` is a VALIDITY table.

    Source: Cooper et al. 2026, appendix C.4.
    """
    frame = of.rows(validity, procedure=procedure, suffix_tokens=suffix_tokens)
    pools = of.control_pools(validity)
    figure, axes = style.panels(
        "Is the certified false-positive rate kept?",
        "Known non-members are split at random, again and again: one half sets the threshold, the "
        f"other is judged. {of.procedure_named(procedure).capitalize()}, "
        f"{of.tokens(suffix_tokens)}.",
        columns=1 + max(len(pools), 1),
        height=3.4,
    )
    marks = style.control_marks(pools)
    left = axes[0, 0]
    left.set_title("mean over re-splits")
    left.set_xscale("log")
    left.axhline(1, color=style.QUIET, linewidth=0.9)
    for shift, (pool, mark) in zip(np.linspace(0.95, 1.05, len(marks)), marks.items(), strict=True):
        _mean_ratio(left, of.rows(frame, control_pool=pool), shift, mark)
    refused = frame[frame["k"] == 0].groupby("control_pool")["alpha"].unique()
    remarks = [
        f"{pool}: too few for {', '.join(style.percent(a) for a in sorted(levels))}"
        for pool, levels in refused.items()
    ]
    style.below(left, remarks, axes.size)
    left.set_xlabel("certified false-positive rate")
    left.set_ylabel("mean realized rate / certified rate")
    if not left.containers:
        style.nothing(left, "too few controls" if len(frame) else "no re-split in this run")
    style.percent_axis(left.xaxis, "log")
    for panel, pool in zip(axes[0, 1:], pools, strict=False):
        kept = of.rows(frame, control_pool=pool, alpha=float(alpha))
        panel.set_title(f"{pool} controls")
        panel.set_xlabel(f"realized rate, {style.percent(alpha)} requested")
        _realized_law(panel, kept, marks[pool]["color"])
    exact = Line2D([], [], color=style.INK, marker=".", linewidth=0.9)
    exact.set_label("law of the rate counted in the fresh half: beta-binomial")
    limit = Line2D([], [], color=style.QUIET, linestyle="--", linewidth=1)
    limit.set_label("law of the threshold's true rate: Beta(K, N − K + 1)")
    bars = [Patch(color=m["color"], alpha=0.6, label=f"{p} re-splits") for p, m in marks.items()]
    style.legend(figure, [*bars, exact, limit], 2)
    return figure


def mean_ratios(validity: pd.DataFrame) -> pd.DataFrame:
    """Per certified rate > 0: `ratio` of the mean realized rate, its `error`, and `splits`."""
    kept = validity[validity["k"] > 0]
    groups = kept.groupby("alpha_n")["realized_fpr"].agg(["mean", "std", "size"])
    level = groups.index.to_numpy()
    return pd.DataFrame(
        {
            "ratio": groups["mean"] / level,
            "error": groups["std"].fillna(0.0) / np.sqrt(groups["size"]) / level,
            "splits": groups["size"],
        }
    )


def _mean_ratio(axes: Axes, validity: pd.DataFrame, shift: float, mark: dict[str, Any]) -> None:
    ratios = mean_ratios(validity)
    if ratios.empty:
        return
    axes.errorbar(
        ratios.index * shift, ratios["ratio"], yerr=2 * ratios["error"], fmt="o",
        color=mark["color"], elinewidth=1, capsize=2,
    )  # fmt: skip


def _realized_law(axes: Axes, validity: pd.DataFrame, color: str) -> None:
    axes.set_ylabel("share of re-splits")
    if validity.empty:
        style.nothing(axes, "no re-split at this rate")
        return
    n_fresh, n, k = (int(validity[name].iloc[0]) for name in ("n_fresh", "n_controls", "k"))
    if k == 0:
        style.nothing(axes, f"too few controls:\n{of.smallest_level(n)}")
        return
    counts = np.rint(validity["realized_fpr"].to_numpy() * n_fresh).astype(int)
    law = np.cumsum(fresh_claims(k, n, n_fresh))
    last = max(int(counts.max()), int(np.searchsorted(law, 0.999)))
    width = max(1, (last + 1) // 40)
    edges = np.arange(0, last + width + 1, width)
    share = np.histogram(counts, edges)[0] / len(counts)
    expected = np.diff(np.concatenate([[0.0], law[np.minimum(edges[1:] - 1, n_fresh)]]))
    middle = (edges[:-1] + edges[1:] - 1) / 2 / n_fresh
    axes.bar(middle, share, width / n_fresh * 0.92, color=color, alpha=0.45, linewidth=0)
    axes.plot(middle, expected, ".-", color=style.INK, linewidth=0.9, markersize=4)
    x = np.linspace(0, last / n_fresh, 300)
    density = beta.pdf(x, k, n - k + 1) * width / n_fresh
    axes.plot(x, density, "--", color=style.QUIET, linewidth=1)
    axes.axvline(k / (n + 1), color=style.QUIET, linewidth=0.9, linestyle=":")
    axes.set_ylim(0, 1.25 * max(share.max(), expected.max(), density.max()))
    axes.set_xlim(left=-0.5 * width / n_fresh)
    style.percent_axis(axes.xaxis)
    style.percent_axis(axes.yaxis)
    style.note(
        axes, f"K = {k} of {n}\nmean {style.percent(counts.mean() / n_fresh)}\n"
        f"certified {style.percent(k / (n + 1))}", 0.98, 0.97, ha="right", va="top",
    )  # fmt: skip


@style.drawn
def match_check(match: pd.DataFrame) -> Figure:
    """Blind AUC of each control pool with its interval: 0.5 is what perfect matching gives.

    `match` is a MATCH table; its rows `blind AUC` are used.
    """
    frame = of.rows(match, quantity="blind AUC")
    pools = of.control_pools(match)
    marks = style.control_marks(pools)
    figure, axes = style.panels(
        "Can candidates be told from controls without the model?",
        "AUC of a classifier that sees only the words, digits masked. At 0.5 it guesses: the pools "
        "match. Towards 1 the words alone give the pool away, and a difference between candidates "
        "and controls may come from the text, not from memory.",
        height=0.8 + 0.45 * max(len(pools), 1),
    )
    panel = axes[0, 0]
    panel.axvline(0.5, color=style.INK, linewidth=1)
    for height, pool in enumerate(pools):
        _auc(panel, height, of.rows(frame, control_pool=pool), marks[pool])
    panel.set_yticks(range(len(pools)), pools)
    panel.set_ylim(max(len(pools), 1) - 0.5, -0.5)
    lowest = float(np.nanmin([0.45, *frame["candidates"], *frame["low"].dropna()]))
    panel.set_xlim(max(0.0, lowest - 0.02), 1.0)
    panel.set_xlabel("blind AUC, with its 95% interval")
    if frame.empty:
        style.nothing(panel, "no blind AUC in this run")
    return figure


def _auc(axes: Axes, height: int, rows: pd.DataFrame, mark: dict[str, Any]) -> None:
    if rows.empty or np.isnan(rows["candidates"].iloc[0]):
        axes.text(0.52, height, "not measured", va="center", fontsize=8.5, color=style.QUIET)
        return
    value, low, high = (float(rows[n].iloc[0]) for n in ("candidates", "low", "high"))
    axes.plot([low, high], [height, height], color=mark["color"], linewidth=2.4, alpha=0.55)
    axes.plot([value], [height], "o", color=mark["color"], markersize=7)
    axes.annotate(
        f"{value:.2f}", (np.nanmax([value, high]), height), xytext=(7, 0), va="center",
        textcoords="offset points", fontsize=9, bbox=style.PAPER,
    )  # fmt: skip
