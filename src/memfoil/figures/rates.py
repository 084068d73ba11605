"""Figures of rates: how many candidates are claimed, and the share memorized that it shows."""

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


@style.drawn
def operating_points(
    rates: pd.DataFrame, *, procedure: str, suffix_tokens: Sequence[int], decontaminated: bool
) -> Figure:
    """Calibrated rate against the certified false-positive rate, with its 95% band.

    `rates` is a RATES table over a grid of K. A column of panels per suffix length, a row per
    pool of candidates, a line per control pool. A line ends where the threshold reaches zero:
    from there every score above zero is claimed and a larger rate certifies nothing new.

    Source: Cooper et al. 2026, figure 4.
    """
    frame = of.rows(rates, procedure=procedure, decontaminated=decontaminated)
    strata, controls = of.candidate_strata(rates), of.control_pools(rates)
    figure, axes = style.panels(
        "Share memorized, at every false-positive rate that can be certified",
        "Share of candidates claimed minus the false positives allowed, with its 95% interval: a "
        "lower bound on the share memorized, as far as the controls match the candidates. "
        f"{of.procedure_named(procedure).capitalize()}; {of.pool_named(decontaminated)}.",
        rows=len(strata),
        columns=max(len(suffix_tokens), 1),
        sharex=True,
        sharey="row",
    )
    marks = style.control_marks(controls)
    for row, stratum in zip(axes, strata, strict=True):
        row[0].set_ylabel(f"share memorized, at least\n({of.called(stratum)})")
        for panel, length in zip(row, suffix_tokens, strict=False):
            panel.set_xscale("log")
            panel.axhline(0, color=style.QUIET, linewidth=0.8)
            kept = of.rows(frame, stratum=stratum, suffix_tokens=length)
            _operating_lines(panel, kept, marks)
            panel.set_xlim(*_certified_span(frame))
            style.percent_axis(panel.xaxis, "log")
            style.percent_axis(panel.yaxis)
    _name_columns(axes, [of.tokens(n) for n in suffix_tokens], "certified false-positive rate")
    style.legend(figure, _null_handles(marks))
    return figure


def _name_columns(axes: np.ndarray, titles: Sequence[str], below: str) -> None:
    for top, bottom, title in zip(axes[0], axes[-1], titles, strict=False):
        top.set_title(title)
        bottom.set_xlabel(below)


def _operating_lines(axes: Axes, frame: pd.DataFrame, marks: dict[str, dict[str, Any]]) -> None:
    for pool, mark in marks.items():
        points = certifiable(of.rows(frame, control_pool=pool))
        if points.empty:
            continue
        x, rate = points["alpha_n"].to_numpy(), points["calibrated_rate"].to_numpy()
        ends = points[["calibrated_low", "calibrated_high"]].to_numpy().T
        axes.fill_between(x, *ends, color=mark["color"], alpha=0.15, linewidth=0)
        axes.plot(x, rate, **mark)
        if len(points) == 1 or np.isneginf(points["log_tau"].iloc[-1]):
            bar = np.abs(ends - rate)[:, -1:]
            axes.errorbar(x[-1:], rate[-1:], yerr=bar, fmt="o", capsize=2, color=mark["color"])
    if not axes.lines[1:]:
        style.nothing(axes, _why_empty(frame))


def _certified_span(rates: pd.DataFrame) -> tuple[float, float]:
    """From below the smallest certified rate to 100%, whatever a procedure makes of it."""
    certified = rates.loc[rates["alpha_n"] > 0, "alpha_n"]
    return 0.8 * min(certified.min() if len(certified) else 0.01, 0.1), 1.2


def certifiable(rates: pd.DataFrame) -> pd.DataFrame:
    """Rows at which something can be claimed, by certified rate, each certified rate once.

    Left out: K = 0 and thresholds that no score can exceed (tau = 1); of the rows with a
    threshold of zero, which all claim the same, only the one of the smallest certified rate.
    """
    kept = rates[(rates["alpha_n"] > 0) & (rates["log_tau"] < 0)]
    kept = kept.sort_values("alpha_n").drop_duplicates("alpha_n")
    at_zero = np.isneginf(kept["log_tau"].to_numpy())
    return kept[~at_zero | (np.cumsum(at_zero) == 1)]


def _why_empty(rates: pd.DataFrame) -> str:
    if rates.empty:
        return "no such candidates in this run"
    if (rates["alpha_n"] <= 0).all():
        return f"too few controls:\n{of.smallest_level(rates['n_controls'].max())}"
    return "nothing can be claimed:\na control scores as high as a score can be"


def _null_handles(marks: dict[str, dict[str, Any]]) -> list[Line2D]:
    return [Line2D([], [], label=f"judged by {pool} controls", **m) for pool, m in marks.items()]


@style.drawn
def suffix_sweep(
    rates: pd.DataFrame, *, procedure: str, alphas: Sequence[float], decontaminated: bool
) -> Figure:
    """Claims (thin) and calibrated rate (thick, with its 95% band) by suffix length.

    `rates` is a RATES table over suffix lengths. A column of panels per requested rate, a row
    per pool of candidates, a line per control pool. Open circles: the threshold is zero there.

    Source: Cooper et al. 2026, figures 12 and 13.
    """
    frame = of.rows(rates, procedure=procedure, decontaminated=decontaminated)
    strata, controls = of.candidate_strata(rates), of.control_pools(rates)
    figure, axes = style.panels(
        "Evidence of memorization, by the length of the passage",
        "Thin: share of candidates above the threshold. Thick: the same minus the certified "
        "false-positive rate, with its 95% interval: a lower bound on the share memorized, as far "
        f"as the controls match the candidates. {of.procedure_named(procedure).capitalize()}; "
        f"{of.pool_named(decontaminated)}.",
        rows=len(strata),
        columns=max(len(alphas), 1),
        height=2.5,
        sharex=True,
        sharey="row",
    )
    marks = style.control_marks(controls)
    for row, stratum in zip(axes, strata, strict=True):
        row[0].set_ylabel(f"share of candidates\n({of.called(stratum)})")
        for panel, alpha in zip(row, sorted(alphas), strict=False):
            panel.axhline(0, color=style.QUIET, linewidth=0.8)
            _sweep_lines(panel, of.rows(frame, stratum=stratum, alpha=float(alpha)), marks)
            panel.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
            style.percent_axis(panel.yaxis)
    for panel, alpha in zip(axes[-1], sorted(alphas), strict=False):
        kept = of.rows(frame, stratum=strata[-1], alpha=float(alpha))
        few = of.control_pools(kept[kept["alpha_n"] <= 0])
        style.below(panel, [f"{pool}: too few controls" for pool in few], len(alphas))
    titles = [f"{style.percent(alpha)} false positives allowed" for alpha in sorted(alphas)]
    _name_columns(axes, titles, "suffix length, tokens")
    at_zero = Line2D(
        [], [], color=style.QUIET, marker="o", fillstyle="none", linestyle="",
        label="threshold zero: more is subtracted than needed",
    )  # fmt: skip
    shown = of.rows(frame, stratum=strata[0])
    extra = [at_zero] if np.isneginf(shown["log_tau"].to_numpy()).any() else []
    style.legend(figure, [*_null_handles(marks), *extra], 2)
    return figure


def _sweep_lines(axes: Axes, frame: pd.DataFrame, marks: dict[str, dict[str, Any]]) -> None:
    for pool, mark in marks.items():
        points = of.rows(frame, control_pool=pool)
        points = points[(points["alpha_n"] > 0) & (points["log_tau"] < 0)]
        points = points.sort_values("suffix_tokens")
        if points.empty:
            continue
        x = points["suffix_tokens"].to_numpy()
        axes.fill_between(
            x, points["calibrated_low"], points["calibrated_high"], color=mark["color"],
            alpha=0.15, linewidth=0,
        )  # fmt: skip
        axes.plot(x, points["generation_rate"], **(mark | {"linewidth": 0.8}))
        axes.plot(x, points["calibrated_rate"], **mark)
        zero = np.isneginf(points["log_tau"].to_numpy())
        axes.plot(
            x[zero], points["calibrated_rate"][zero], "o", fillstyle="none", color=mark["color"]
        )
    if not axes.lines[1:]:
        style.nothing(axes, _why_empty(frame))


@style.drawn
def repetitions(
    rates: pd.DataFrame, *, suffix_tokens: Sequence[int], alpha: float, decontaminated: bool
) -> Figure:
    """Share of candidates claimed, by how often the model read them, with 95% intervals.

    Uses the strata `repetitions <n>` of a RATES table. A column of panels per suffix length, a
    row per control pool, a line per procedure; the intervals are Clopper and Pearson's.
    """
    frame = of.rows(rates, decontaminated=decontaminated, alpha=float(alpha))
    frame = frame[frame["stratum"].str.startswith("repetitions ")]
    frame = frame.assign(times=frame["stratum"].str.removeprefix("repetitions ").astype(int))
    controls = of.control_pools(rates)
    times = sorted(set(frame["times"]))
    figure, axes = style.panels(
        "Share recognized as memorized, by how often the model read the passage",
        f"Share of candidates claimed at a requested false-positive rate of {style.percent(alpha)}"
        ", by how often the training text holds the passage, with 95% intervals. "
        f"{of.pool_named(decontaminated).capitalize()}.",
        rows=max(len(controls), 1),
        columns=max(len(suffix_tokens), 1),
        height=2.5,
        sharex=True,
        sharey=True,
    )
    order = ("greedy", "base", *sorted(set(rates["procedure"]) - {"greedy", "base"}))
    marks = style.procedure_marks([n for n in order if n in set(rates["procedure"])])
    for row, pool in zip(axes, controls, strict=False):
        row[0].set_ylabel(f"share claimed\n(judged by {pool})")
        for panel, length in zip(row, suffix_tokens, strict=False):
            kept = of.rows(frame, control_pool=pool, suffix_tokens=length)
            if kept.empty:
                style.nothing(panel, "no passages with a known number of repetitions")
            _repetition_lines(panel, kept, marks, times)
            panel.set_ylim(-0.03, 1.03)
            style.percent_axis(panel.yaxis)
    sizes = frame.groupby("times")["n_candidates"].max()
    for panel in axes[-1]:
        panel.set_xlim(-0.5, max(len(times), 1) - 0.5)
        panel.set_xticks(range(len(times)), [f"{t}\nn={sizes[t]}" for t in times])
    below = "times in the training text (n: passages)"
    _name_columns(axes, [of.tokens(n) for n in suffix_tokens], below)
    style.legend(
        figure,
        [Line2D([], [], label=of.procedure_named(n), **mark) for n, mark in marks.items()],
    )
    return figure


def _repetition_lines(
    axes: Axes, frame: pd.DataFrame, marks: dict[str, dict[str, Any]], times: list[int]
) -> None:
    silent = []
    for shift, (procedure, mark) in zip(_spread(len(marks)), marks.items(), strict=True):
        points = of.rows(frame, procedure=procedure).sort_values("times")
        if points.empty:
            continue
        if (points["log_tau"] >= 0).all():
            silent.append(procedure)
            continue
        rate = points["generation_rate"].to_numpy()
        ends = points[["generation_low", "generation_high"]].to_numpy().T
        x = np.array([times.index(t) for t in points["times"]]) + shift
        axes.errorbar(
            x, rate, yerr=np.abs(ends - rate), elinewidth=0.9, capsize=2, linewidth=1.2, **mark
        )
    if silent:
        style.note(
            axes, f"{', '.join(silent)}: nothing can be claimed at this rate", y=0.97, va="top"
        )


def _spread(count: int) -> np.ndarray:
    """Small offsets, so that error bars at the same place stand side by side."""
    return (np.arange(count) - (count - 1) / 2) * 0.12
