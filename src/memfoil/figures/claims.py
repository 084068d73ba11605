"""Figures of single claims: how far above the threshold, and at what cost in queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from memfoil.figures import selection as of
from memfoil.figures import style
from memfoil.stats.budgets import log10_queries


@style.drawn
def margin(
    claims: pd.DataFrame,
    sequences: pd.DataFrame,
    *,
    procedure: str,
    suffix_tokens: Sequence[int],
    alpha: float,
    decontaminated: bool,
) -> Figure:
    """Share of candidates whose score exceeds the threshold by more than Delta powers of ten.

    `claims` and `sequences` are CLAIMS and SEQUENCES tables. A column of panels per suffix
    length, a row per pool of candidates, a line per control pool. At Delta = 0 the curve is the
    share claimed. A threshold of zero has no margin, and the panel says so.

    Source: Cooper et al. 2026, appendix D.5.
    """
    frame = _judged(claims, sequences, procedure, alpha, decontaminated)
    candidates, controls = of.pools(sequences, "candidate"), of.control_pools(claims)
    figure, axes = style.panels(
        "How far above the threshold the claims lie",
        "Share of candidates that would still be claimed if the threshold were raised by this many "
        f"powers of ten; at 0, the share claimed at {style.percent(alpha)} false positives. "
        f"{of.procedure_named(procedure).capitalize()}; {of.pool_named(decontaminated)}.",
        rows=max(len(candidates), 1),
        columns=max(len(suffix_tokens), 1),
        height=2.5,
        sharex="col",
        sharey="row",
    )
    marks = style.control_marks(controls)
    for row, pool in zip(axes, candidates, strict=False):
        row[0].set_ylabel(f"share of candidates\n({pool})")
        for panel, length in zip(row, suffix_tokens, strict=False):
            _margin_lines(panel, of.rows(frame, pool=pool, suffix_tokens=length), marks)
            style.percent_axis(panel.yaxis)
    _from_zero(axes, [of.tokens(n) for n in suffix_tokens])
    for panel in axes[-1]:
        panel.set_xlabel("margin Δ, powers of ten above the threshold")
        panel.xaxis.set_major_locator(MaxNLocator(5))  # small margins have long labels
    style.legend(
        figure,
        [Line2D([], [], label=f"judged by {n} controls", **mark) for n, mark in marks.items()],
    )
    return figure


def _from_zero(axes: np.ndarray, titles: Sequence[str]) -> None:
    """Titles above the columns; both axes start at 0, once everything shared is drawn."""
    for panel, title in zip(axes[0], titles, strict=False):
        panel.set_title(title)
    for panel in axes.flat:
        panel.set_xlim(left=0)
        panel.set_ylim(bottom=0)


def _judged(
    claims: pd.DataFrame, sequences: pd.DataFrame, procedure: str, alpha: float, clean: bool
) -> pd.DataFrame:
    kept = of.rows(claims, procedure=procedure, alpha=float(alpha), decontaminated=clean)
    return kept.merge(sequences[["sequence_id", "pool"]], on="sequence_id", how="inner")


def margin_curve(claims: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Share of candidates with a margin greater than Delta, at 0 and at each margin above 0.

    To be drawn with steps after: the share at Delta holds up to the next margin.
    """
    margins = np.sort(claims.loc[claims["margin"] > 0, "margin"].to_numpy())
    share = np.arange(len(margins), -1, -1) / max(len(claims), 1)
    return np.concatenate([[0.0], margins]), share


def _margin_lines(axes: Axes, claims: pd.DataFrame, marks: dict[str, dict[str, Any]]) -> None:
    remarks = []
    for name, mark in marks.items():
        kept = of.rows(claims, control_pool=name)
        if kept.empty:
            remarks.append(f"{name}: no candidates")
        elif not kept["claimed"].any():
            remarks.append(f"{name}: no claim")
        elif kept.loc[kept["claimed"], "margin"].isna().all():
            share = style.percent(kept["claimed"].mean())
            remarks.append(f"{name}: threshold zero, no margin ({share} claimed)")
        else:
            axes.plot(*margin_curve(kept), drawstyle="steps-post", **mark)
    if remarks:
        style.note(axes, "\n".join(remarks), 0.98, 0.96, ha="right", va="top")


@style.drawn
def query_budget(
    claims: pd.DataFrame,
    scores: pd.DataFrame,
    sequences: pd.DataFrame,
    *,
    procedure: str,
    suffix_tokens: Sequence[int],
    alpha: float,
    control_pool: str,
    budget: float,
    success: float,
    contamination: pd.DataFrame | None = None,
) -> Figure:
    """Share generated at least once within n queries, with probability `success`, against n.

    A column of panels per suffix length, a row per pool of candidates: all candidates, the
    controls, and the candidates that are both claimed (against `control_pool` at `alpha`) and
    within reach. The dots at `budget` are the table's own verdict `extractable`.

    Parameters
    ----------
    claims, scores, sequences : CLAIMS, SCORES and SEQUENCES tables
    contamination : CONTAMINATION table, optional
        Takes its members out of the controls and uses the claims of the decontaminated pool.

    Source: Cooper et al. 2026, section 6 and figure 20.
    """
    frame = _judged(claims, sequences, procedure, alpha, contamination is not None)
    frame = of.rows(frame, control_pool=control_pool)
    controls = of.scored(scores, sequences, contamination, procedure)
    candidates = of.pools(sequences, "candidate")
    figure, axes = style.panels(
        "What a budget of queries would bring to light",
        f"Share of passages that appear at least once in n samples with {style.percent(success)} "
        f"certainty. Filled: candidates that are also claimed as memorized, at "
        f"{style.percent(alpha)} false positives, judged by {control_pool} controls. "
        f"{of.procedure_named(procedure).capitalize()}; "
        f"{of.pool_named(contamination is not None)}.",
        rows=max(len(candidates), 1),
        columns=max(len(suffix_tokens), 1),
        height=2.5,
        sharex="col",
        sharey="row",
    )
    control = style.control_marks([control_pool])[control_pool]
    marks = style.candidate_marks(candidates)
    for row, pool in zip(axes, candidates, strict=False):
        row[0].set_ylabel(f"share of passages\n({pool})")
        for panel, length in zip(row, suffix_tokens, strict=False):
            of_length = of.rows(frame, suffix_tokens=length)
            kept = of.rows(of_length, pool=pool)
            costs = log10_queries(of.log_scores(controls, control_pool, length), success)
            end = _last_of_interest(of_length, budget)
            _coverage_line(panel, costs, end, control)
            _candidate_lines(panel, kept, end, budget, marks[pool])
            panel.axvline(np.log10(budget), color=style.QUIET, linewidth=0.9, linestyle=":")
            style.percent_axis(panel.yaxis)
            style.power_axis(panel.xaxis)
    _from_zero(axes, [of.tokens(n) for n in suffix_tokens])
    for panel in axes[-1]:
        panel.set_xlabel("queries n (log scale)")
    budget_line = Line2D(
        [], [], color=style.QUIET, linewidth=0.9, linestyle=":",
        label=f"budget of this run: {budget:,.0f} queries",
    )  # fmt: skip
    handles = [Line2D([], [], label=f"candidates: {n}", **mark) for n, mark in marks.items()]
    handles.append(Line2D([], [], label=f"controls: {control_pool}", **control))
    style.legend(figure, [*handles, budget_line])
    return figure


def coverage(costs: np.ndarray, end: float) -> tuple[np.ndarray, np.ndarray]:
    """log10 n up to `end`, and the share of passages whose log10 cost is at most that.

    Passages that can never be generated cost +inf; they count in the whole. To be drawn with
    steps after.
    """
    within = np.sort(costs[costs <= end])
    share = np.arange(len(within) + 1) / max(len(costs), 1)
    return np.array([0.0, *within, end]), np.append(share, share[-1])


def _last_of_interest(claims: pd.DataFrame, budget: float) -> float:
    """log10 n at which the last claim is within reach, or well past the budget."""
    costs = claims.loc[claims["claimed"].to_numpy(dtype=bool), "log10_queries"].to_numpy()
    return 1.05 * max(costs[np.isfinite(costs)].max(initial=0.0), 2 * np.log10(budget))


def _coverage_line(axes: Axes, costs: np.ndarray, end: float, mark: dict[str, Any]) -> None:
    axes.plot(*coverage(costs, end), drawstyle="steps-post", **mark)


def _candidate_lines(
    axes: Axes, claims: pd.DataFrame, end: float, budget: float, mark: dict[str, Any]
) -> None:
    if claims.empty:
        style.nothing(axes, "no candidates")
        return
    costs = claims["log10_queries"].to_numpy()
    _coverage_line(axes, costs, end, mark)
    if not claims["claimed"].any():
        style.aside(axes, "no claim")
        return
    x, y = coverage(np.where(claims["claimed"], costs, np.inf), end)
    axes.fill_between(x, y, step="post", color=mark["color"], alpha=0.25, linewidth=0)
    extractable = float(claims["extractable"].mean())
    axes.plot([np.log10(budget)], [extractable], "o", color=mark["color"], zorder=4)
    style.aside(axes, f"claimed {style.percent(y[-1])}, in budget {style.percent(extractable)}")
