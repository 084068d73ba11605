"""The figure of greedy decoding: what it completes word for word, and what chance explains."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from memfoil.figures import selection as of
from memfoil.figures import style
from memfoil.stats.proportions import clopper_pearson


@style.drawn
def greedy_rates(
    scores: pd.DataFrame, sequences: pd.DataFrame, contamination: pd.DataFrame | None = None
) -> Figure:
    """Share of passages that greedy decoding completes word for word, by suffix length.

    One panel per control pool: candidates, controls, and as an area the smallest rate these
    controls can certify, (1 + matching controls) / (N + 1).

    Parameters
    ----------
    scores, sequences : SCORES and SEQUENCES tables
    contamination : CONTAMINATION table, optional
        Takes its members out of the control pools; None shows the pools as drawn.

    Source: Cooper et al. 2026, figures 3 and 11.
    """
    frame = of.scored(scores, sequences, contamination, "greedy")
    controls = of.pools(sequences, "control")
    candidates = style.candidate_marks(of.pools(sequences, "candidate"))
    figure, axes = style.panels(
        "How often greedy decoding completes a passage word for word",
        "Share of passages whose next tokens are reproduced exactly, by how many tokens are asked "
        "for, with 95% intervals of the candidates. What controls reach is predictability, not "
        "memory. Shaded: up to the smallest false-positive rate they can certify, (1 + matching "
        f"controls) / (controls + 1). {of.pool_named(contamination is not None).capitalize()}.",
        columns=max(len(controls), 1),
        height=3.0,
        sharex=True,
        sharey=True,
    )
    marks = style.control_marks(controls)
    smallest = 1.0
    for panel, pool in zip(axes[0], controls, strict=False):
        rates = _match_rates(frame, pool)
        panel.set_title(f"against {pool} controls")
        if rates.empty:
            style.nothing(panel, f"no greedy score of a {pool} control")
            continue
        floor = (1 + rates["matches"]) / (rates["n"] + 1)
        smallest = min(smallest, float(1 / (rates["n"].max() + 1)))
        panel.fill_between(
            rates.index, 0, floor, color=marks[pool]["color"], alpha=0.18, linewidth=0
        )
        panel.plot(rates.index, floor, color=marks[pool]["color"], linewidth=0.8)
        panel.annotate(
            f"floor {style.percent(floor.iloc[-1])}", (rates.index[-1], floor.iloc[-1]),
            xytext=(-2, 2), textcoords="offset points", ha="right", va="bottom", fontsize=8,
            color=marks[pool]["color"],
        )  # fmt: skip
        panel.plot(rates.index, rates["share"], **marks[pool])
        for name, mark in candidates.items():
            _with_interval(panel, _match_rates(frame, name), mark)
    if not controls:
        style.nothing(axes[0, 0], "no control pool")
    for panel in axes[0]:
        panel.set_xlabel("tokens to reproduce")
        panel.set_yscale("symlog", linthresh=smallest, linscale=0.5)
        ticks = [0.0, *(10.0**e for e in range(-8, 1) if 10.0**e >= 0.9 * smallest)]
        panel.set_yticks(ticks, [style.percent(tick) for tick in ticks], minor=False)
        panel.set_ylim(-0.12 * smallest, 1)
        panel.margins(x=0.02)
    axes[0, 0].set_ylabel("share of passages (log scale)")
    handles = [Line2D([], [], label=f"candidates: {n}", **mark) for n, mark in candidates.items()]
    handles += [Line2D([], [], label=f"controls: {n}", **mark) for n, mark in marks.items()]
    floor_patch = Patch(color=style.QUIET, alpha=0.3, label="certified floor (shaded)")
    style.legend(figure, [*handles, floor_patch])
    return figure


def _match_rates(frame: pd.DataFrame, pool: str) -> pd.DataFrame:
    """Greedy matches of one pool: `n`, `matches`, `share`, indexed by suffix length."""
    kept = of.rows(frame, pool=pool)
    matched = (kept["log_score"] == 0).groupby(kept["suffix_tokens"])
    return pd.DataFrame({"n": matched.size(), "matches": matched.sum(), "share": matched.mean()})


def _with_interval(axes: Axes, rates: pd.DataFrame, mark: dict[str, Any]) -> None:
    if rates.empty:
        return
    low, high = clopper_pearson(rates["matches"].to_numpy(), rates["n"].to_numpy())
    axes.fill_between(rates.index, low, high, color=mark["color"], alpha=0.16, linewidth=0)
    axes.plot(rates.index, rates["share"], **mark)
