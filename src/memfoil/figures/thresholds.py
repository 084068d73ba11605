"""Figures of scores and of the thresholds that controls set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from memfoil.figures import selection as of
from memfoil.figures import style
from memfoil.stats.proportions import clopper_pearson

RING: dict[str, Any] = {"markersize": 9, "fillstyle": "none"}


@style.drawn
def tail_distribution(
    scores: pd.DataFrame,
    sequences: pd.DataFrame,
    thresholds: pd.DataFrame,
    *,
    procedure: str,
    suffix_tokens: Sequence[int],
    alpha: float,
    contamination: pd.DataFrame | None = None,
) -> Figure:
    """Share of passages that score at least x (1 - CDF, both axes logarithmic), with tau.

    A panel per suffix length; scores of zero have no place on a logarithmic axis, and the panel
    says how many there are.

    Parameters
    ----------
    scores, sequences, thresholds : SCORES, SEQUENCES and THRESHOLDS tables
    contamination : CONTAMINATION table, optional
        Takes its members out of the control pools, and uses the thresholds of the decontaminated
        pools; None shows the pools as drawn.

    Source: Cooper et al. 2026, appendix D.2.
    """
    frame = of.scored(scores, sequences, contamination, procedure)
    marks = style.candidate_marks(of.pools(sequences, "candidate"))
    controls = style.control_marks(of.pools(sequences, "control"))
    null = of.rows(
        thresholds, procedure=procedure, alpha=float(alpha),
        decontaminated=contamination is not None,
    )  # fmt: skip
    figure, axes = style.panels(
        "How probable the model makes each passage, and where a claim begins",
        "Share of passages whose suffix is generated with at least this probability. Vertical: the "
        f"threshold τ of each control pool for {style.percent(alpha)} false positives; a candidate "
        f"to its right is claimed. {of.procedure_named(procedure).capitalize()}; "
        f"{of.pool_named(contamination is not None)}.",
        columns=max(len(suffix_tokens), 1),
        height=3.7,
        sharey=True,
    )
    for panel, length in zip(axes[0], suffix_tokens, strict=False):
        panel.set_title(of.tokens(length))
        panel.set_yscale("log")
        curves = {name: of.log_scores(frame, name, length) for name in marks | controls}
        for name, mark in (controls | marks).items():
            tail_curve(panel, curves[name], mark)
        remarks = []
        for name, mark in controls.items():
            row = of.rows(null, control_pool=name, suffix_tokens=length)
            remarks.append(f"threshold τ, {name}: {_threshold_in_words(row)}")
            tau = row["log_tau"].to_numpy() / of.LOG_10
            for place in tau[np.isfinite(tau)]:
                panel.axvline(place, **(mark | {"linewidth": 0.9}))
        _probability_axes(panel, curves)
        style.below(panel, [*remarks, *not_drawn(curves)], len(suffix_tokens))
    axes[0, 0].set_ylabel("share of passages (log scale)")
    handles = [Line2D([], [], label=f"candidates: {n}", **mark) for n, mark in marks.items()]
    handles += [Line2D([], [], label=f"controls: {n}", **mark) for n, mark in controls.items()]
    style.legend(figure, handles)
    return figure


def tail_curve(axes: Axes, log_score: np.ndarray, mark: dict[str, Any]) -> None:
    """1 - CDF of ascending natural log scores, against log10; -inf counts but is not drawn."""
    n = len(log_score)
    share = np.arange(n, 0, -1) / max(n, 1)
    finite = ~np.isneginf(log_score)
    axes.plot(log_score[finite] / of.LOG_10, share[finite], drawstyle="steps-pre", **mark)


def _threshold_in_words(row: pd.DataFrame) -> str:
    if row.empty:
        return "not in this run"
    if row["k"].iloc[0] == 0:
        return "none, too few controls"
    return style.power(row["log_tau"].iloc[0] / of.LOG_10)


def not_drawn(curves: dict[str, np.ndarray]) -> list[str]:
    """What a logarithmic axis cannot show: pools without scores, and shares of scores of zero."""
    shares = {name: of.zero_share(values) for name, values in curves.items() if len(values)}
    zeros = [f"{name} {style.percent(share)}" for name, share in shares.items() if share]
    empty = [name for name, values in curves.items() if not len(values)]
    notes = ["probability zero, not drawn: " + ", ".join(zeros)] if zeros else []
    return notes + (["without scores: " + ", ".join(empty)] if empty else [])


def _probability_axes(axes: Axes, curves: dict[str, np.ndarray]) -> None:
    most = max((len(values) for values in curves.values()), default=0)
    axes.set_ylim(0.8 / max(most, 2), 1.25)
    right = axes.get_xlim()[1]
    axes.set_xlim(right=0.5 if right > -0.5 else right)
    axes.set_xlabel("probability of the suffix (log scale)")
    style.percent_axis(axes.yaxis, "log")
    style.power_axis(axes.xaxis)


@style.drawn
def control_pools(
    scores: pd.DataFrame,
    sequences: pd.DataFrame,
    thresholds: pd.DataFrame,
    *,
    procedure: str,
    suffix_tokens: Sequence[int],
    reference: str,
    looser: str,
    contamination: pd.DataFrame | None = None,
) -> Figure:
    """Two control pools side by side, and what thresholds from the looser one really do.

    Above: 1 - CDF of both pools with their thresholds as dots. Below: share of the `reference`
    pool (known non-members, exchangeable with candidates) above the thresholds that the `looser`
    pool sets, against the rate those certify; Clopper-Pearson intervals at the requested rates.

    Source: Cooper et al. 2026, appendix C.3 (distribution shift).
    """
    frame = of.scored(scores, sequences, contamination, procedure)
    null = of.rows(thresholds, procedure=procedure, decontaminated=contamination is not None)
    marks = style.control_marks([reference, looser])
    figure, axes = style.panels(
        f"Controls side by side, {reference} and {looser}: scores and false positives",
        "Above: share of controls generated with at least this probability, with the thresholds of "
        f"the requested rates as dots. Below: share of {reference} passages that thresholds set by "
        f"{looser} passages falsely claim; on the diagonal the certified rate is kept. "
        f"{of.procedure_named(procedure).capitalize()}; "
        f"{of.pool_named(contamination is not None)}.",
        rows=2,
        columns=max(len(suffix_tokens), 1),
        height=2.75,
        sharey="row",
    )
    for column, length in zip(axes.T, suffix_tokens, strict=False):
        curves = {name: of.log_scores(frame, name, length) for name in marks}
        column[0].set_title(of.tokens(length))
        column[0].set_yscale("log")
        for name, mark in marks.items():
            tail_curve(column[0], curves[name], mark)
            rows = of.rows(null, control_pool=name, suffix_tokens=length)
            rows = rows[np.isfinite(rows["log_tau"])]
            column[0].plot(
                rows["log_tau"] / of.LOG_10, rows["alpha_n"], "o", color=mark["color"], zorder=3
            )
        _probability_axes(column[0], curves)
        style.below(column[0], not_drawn(curves), len(suffix_tokens))
        kept = of.rows(null, control_pool=looser, suffix_tokens=length)
        remarks = _realized(column[1], curves[reference], curves[looser], kept)
        style.below(column[1], remarks, len(suffix_tokens))
    axes[0, 0].set_ylabel("share of controls (log scale)")
    axes[1, 0].set_ylabel(f"share of {reference}\npassages claimed")
    style.legend(figure, [Line2D([], [], label=f"controls: {n}", **m) for n, m in marks.items()])
    return figure


def _realized(
    axes: Axes, reference: np.ndarray, looser: np.ndarray, thresholds: pd.DataFrame
) -> list[str]:
    """Draw the curve and the requested rates; what these came to, in words."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("false-positive rate the looser controls certify")
    if not len(reference) or not len(looser):
        style.nothing(axes, "needs scores of both pools")
        return []
    certified, realized = realized_rates(reference, looser)
    smallest = 1 / (max(len(reference), len(looser)) + 1)
    axes.plot([smallest, 1], [smallest, 1], color=style.QUIET, linewidth=0.9)
    axes.plot(certified, np.where(realized > 0, realized, np.nan), color=style.INK, linewidth=1.2)
    kept = thresholds[thresholds["k"] > 0]
    remarks = []
    for level, log_tau in zip(kept["alpha_n"], kept["log_tau"], strict=True):
        count = int(np.sum(reference > log_tau))
        low, high = clopper_pearson(np.array([count]), np.array([len(reference)]))
        rate = count / len(reference)
        bars = np.array([[rate - low[0]], [high[0] - rate]])
        axes.errorbar(
            [level], [max(rate, 0.6 * smallest)], yerr=bars, fmt="o", color=style.INK,
            markerfacecolor=style.INK if count else "white", elinewidth=0.9, capsize=2,
        )  # fmt: skip
        remarks.append(f"{style.percent(rate, 2)} where {style.percent(level, 2)} is certified")
    axes.set_xlim(smallest * 0.8, 1.2)
    axes.set_ylim(smallest * 0.5, 1.2)
    missing = [style.percent(alpha) for alpha in thresholds.loc[thresholds["k"] == 0, "alpha"]]
    style.note(axes, "↑ more false positives", y=0.97, va="top")
    for axis in (axes.xaxis, axes.yaxis):
        style.percent_axis(axis, "log")
    return remarks + [f"{', '.join(missing)}: too few controls"] * bool(missing)


def realized_rates(reference: np.ndarray, looser: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Certified rate K / (N + 1) and the share of `reference` above the K-th largest `looser`.

    Both arrays are ascending natural logs. Returns two (N,) arrays, for K = 1..N.
    """
    tau = looser[::-1]
    above = len(reference) - np.searchsorted(reference, tau, side="right")
    return np.arange(1, len(looser) + 1) / (len(looser) + 1), above / len(reference)


@style.drawn
def decontamination(
    thresholds: pd.DataFrame, *, procedure: str, suffix_tokens: Sequence[int]
) -> Figure:
    """Thresholds of the control pools as drawn (open) and without known members (filled).

    A panel per suffix length, a line per control pool and requested rate. Thresholds that are no
    probability are written out: zero (the atom), or none because N controls cannot certify alpha.

    Source: Cooper et al. 2026, appendix D.2.
    """
    frame = of.rows(thresholds, procedure=procedure)
    pools, alphas = of.control_pools(thresholds), sorted(set(thresholds["alpha"]), reverse=True)
    marks = style.control_marks(pools)
    places = [(pool, alpha) for pool in pools for alpha in alphas]
    figure, axes = style.panels(
        "Thresholds before and after decontamination",
        "The probability a passage must exceed to be claimed, per control pool and requested "
        "false-positive rate. A control that the model has read raises it. "
        f"{of.procedure_named(procedure).capitalize()}.",
        columns=max(len(suffix_tokens), 1),
        height=0.7 + 0.34 * len(places),
        sharey=True,
    )
    for panel, length in zip(axes[0], suffix_tokens, strict=False):
        panel.set_title(of.tokens(length))
        panel.set_xlabel("threshold on the probability of the suffix (log scale)")
        for height, (pool, alpha) in enumerate(places):
            kept = of.rows(frame, control_pool=pool, alpha=alpha, suffix_tokens=length)
            _dumbbell(panel, height, kept, marks[pool]["color"])
        panel.margins(x=0.12)
        if not any(len(line.get_xdata()) for line in panel.lines):
            panel.set_xlim(-4, 0)
        style.power_axis(panel.xaxis)
        panel.set_xlim(right=panel.get_xlim()[1] + 0.1)  # room for a ring, however near they lie
    axes[0, 0].set_ylim(max(len(places), 1) - 0.5, -0.5)
    labels = [f"{pool}, {style.percent(alpha)}" for pool, alpha in places]
    axes[0, 0].set_yticks(range(len(places)), labels)
    handles = [_removed_handle(thresholds, pool, marks[pool]["color"]) for pool in pools]
    dot: dict[str, Any] = {"color": style.QUIET, "linestyle": "", "marker": "o"}
    handles.append(Line2D([], [], **dot, **RING, label="pool as drawn"))
    handles.append(Line2D([], [], **dot, label="controls found in the training text taken out"))
    style.legend(figure, handles, 2)
    return figure


def _dumbbell(axes: Axes, height: int, rows: pd.DataFrame, color: str) -> None:
    log10 = rows["log_tau"] / of.LOG_10
    ends = {
        bool(after): float(tau) for after, tau in zip(rows["decontaminated"], log10, strict=True)
    }
    finite = {after: tau for after, tau in ends.items() if np.isfinite(tau)}
    axes.plot(list(finite.values()), [height] * len(finite), color=color, linewidth=1.4)
    for after, tau in finite.items():
        axes.plot([tau], [height], "o", color=color, **({} if after else RING))
    words = {
        ("before" if not after else "after"): "zero" if tau < 0 else "none, too few controls"
        for after, tau in ends.items()
        if not np.isfinite(tau)
    }
    if words:
        text = words.get("before") if len(set(words.values())) == 1 and len(words) == 2 else None
        text = text or "; ".join(f"{when}: {word}" for when, word in words.items())
        axes.text(
            0.02, height, text, fontsize=8, color=style.QUIET, va="center",
            transform=axes.get_yaxis_transform(), bbox=style.PAPER,
        )  # fmt: skip


def _removed_handle(thresholds: pd.DataFrame, pool: str, color: str) -> Line2D:
    sizes = of.rows(thresholds, control_pool=pool).groupby("decontaminated")["n_controls"].max()
    counts = [str(sizes[side]) if side in sizes.index else "?" for side in (False, True)]
    return Line2D([], [], color=color, label=f"{pool}: {counts[0]} controls, {counts[1]} after")
