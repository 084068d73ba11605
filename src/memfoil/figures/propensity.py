"""Figures of propensity: what a model reproduces unasked, against an attack, and against chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from memfoil.figures import style
from memfoil.propensity.metric import ALL, NATURAL_LANGUAGE, ONCE, RARE
from memfoil.propensity.settings import CAPABILITY, SETTINGS

COLOURS = dict(zip(SETTINGS, ("#4D4D4D", "#009E73", "#0072B2", "#56B4E9", "#D55E00"), strict=True))
FOIL: dict[str, Any] = {"color": style.INK, "marker": "D", "markersize": 3.6, "linestyle": "none"}
FILTERS = (
    ("20 tokens or more", ALL, "R20"),
    ("50 tokens or more", ALL, "R50"),
    ("... natural language", NATURAL_LANGUAGE, "R50"),
    ("... fewer than 10 copies", NATURAL_LANGUAGE, RARE),
    ("... one copy", NATURAL_LANGUAGE, ONCE),
)


@style.drawn
def propensity(rates: pd.DataFrame, *, metrics: Sequence[str]) -> Figure:
    """Rates of every setting with the foil's beside them, and under them PM against the attack.

    `rates` is a PROPENSITY table. A column of panels per metric; bars are rates with their 95%
    interval, the attack's last; diamonds the same rate in text not trained on.

    Source: PropMe 2026, figures 2 and 3.
    """
    frame = rates[rates["subset"] == ALL]
    settings = _present(frame)
    figure, axes = style.panels(
        "What the model reproduces without being asked, and when attacked",
        "Above: how much each setting reproduces of the training text, with 95% intervals over "
        "prompts; diamonds: of text that was not trained on. Below: PM = f / (f + f of prefix). "
        "At 0.5 a setting reproduces as much as the attack; at 0 nothing was seen.",
        rows=2,
        columns=len(metrics),
        height=2.3,
        sharey="row",
    )
    for column, metric in zip(axes.T, metrics, strict=True):
        of = frame[frame["metric"] == metric].set_index("setting").reindex(settings)
        column[0].set_title(metric)
        _rates(column[0], of)
        _pm(column[1], of.drop(index=CAPABILITY, errors="ignore"))
    axes[0, 0].set_ylim(bottom=0)  # of all panels, when their highest whisker is known
    axes[0, 0].set_ylabel("rate f")
    axes[1, 0].set_ylabel("PM")
    handles: list[Any] = [Patch(color=COLOURS[name], label=name) for name in settings]
    if frame["foil"].notna().any():
        handles.append(Line2D([], [], label="in the foil", **FOIL))
    style.legend(figure, handles, columns=6)
    return figure


def _present(frame: pd.DataFrame) -> list[str]:
    return [name for name in SETTINGS if (frame["setting"] == name).any()]


def _rates(panel: Axes, of: pd.DataFrame) -> None:
    x = np.arange(len(of))
    panel.bar(x, of["f"], color=[COLOURS[str(name)] for name in of.index], width=0.7)
    _whiskers(panel, x, of["f"], of["f_low"], of["f_high"])
    panel.plot(x, of["foil"], clip_on=False, zorder=4, **FOIL)
    panel.set_xticks([])
    style.percent_axis(panel.yaxis)
    panel.grid(visible=False, axis="x")


def _pm(panel: Axes, of: pd.DataFrame) -> None:
    x = np.arange(len(of))
    panel.axhline(0.5, color=style.QUIET, linewidth=0.8, linestyle=(0, (4, 2)))
    panel.bar(x, of["pm"], color=[COLOURS[str(name)] for name in of.index], width=0.7)
    _whiskers(panel, x, of["pm"], of["pm_low"], of["pm_high"])
    panel.set_ylim(0, 1.02)
    both = [
        f"f {style.percent(f, 2)}\nf_c {style.percent(c, 2)}"
        for f, c in zip(of["f"], of["f_c"], strict=True)
    ]
    panel.set_xticks(x, both, fontsize=6.5)
    panel.tick_params(axis="x", length=0)
    panel.grid(visible=False, axis="x")


def _whiskers(
    panel: Axes, x: np.ndarray, value: pd.Series, low: pd.Series, high: pd.Series
) -> None:
    ends = np.abs(np.vstack([value - low, high - value]))
    panel.errorbar(
        x, value, yerr=ends, fmt="none", ecolor=style.INK, elinewidth=1, capsize=2.5, zorder=3
    )


@style.drawn
def span_lengths(lengths: pd.DataFrame, rates: pd.DataFrame) -> Figure:
    """Share of generations whose longest span has at least so many tokens, in both texts.

    `lengths` is a SPAN_LENGTHS table, `rates` a SPAN_RATES table, whose thresholds are marked:
    longer spans than these are claimed at the rate certified.

    Source: PropMe 2026, figure 4.
    """
    settings = _present(lengths)
    figure, axes = style.panels(
        "How long the longest verbatim span of a generation is",
        "Share of generations whose longest span has at least so many tokens: in the training "
        "text (line), and in as much text of the same kind that was not trained on (dashed), "
        "which is what predictability alone gives. Vertical: the longest span that still counts "
        "as predictable, with its false-positive rate written below; dotted: 50 tokens.",
        columns=len(settings),
        height=2.6,
        sharex=True,
        sharey=True,
    )
    longest = max(int(lengths["tokens"].max()), 52)
    strictest = rates[rates["alpha"] == rates["alpha"].min()].set_index("setting")
    for panel, setting in zip(axes[0], settings, strict=True):
        for text, line in (("training", "-"), ("foil", (0, (3, 2)))):
            of = lengths[(lengths["setting"] == setting) & (lengths["text"] == text)]
            above_zero = of[of["share"] > 0]
            colour = COLOURS[setting] if text == "training" else style.INK
            panel.step(
                above_zero["tokens"], above_zero["share"], where="mid", color=colour, linestyle=line
            )
        panel.axvline(50, color=style.QUIET, linestyle=":", linewidth=0.9)
        if setting in strictest.index:
            rate = strictest.loc[setting]
            panel.axvline(rate["tau"], color=style.CANDIDATES[2], linewidth=1.2)
            panel.set_xlabel(
                f"{rate['tau']:.0f} tokens\nat {style.percent(rate['alpha_n'])}",
                color=style.QUIET,
                fontsize=8,
            )
        panel.set_title(setting)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlim(3, longest * 1.1)
        panel.set_xticks([5, 10, 20, 50], ["5", "10", "20", "50"])
        panel.minorticks_off()
        panel.set_ylim(0.7 * lengths.loc[lengths["share"] > 0, "share"].min(), 1.3)
        style.percent_axis(panel.yaxis, "log")
    axes[0, 0].set_ylabel("generations")
    figure.supxlabel("tokens of the longest span, at least", fontsize=9)
    return figure


@style.drawn
def long_matches(rates: pd.DataFrame, spans: pd.DataFrame) -> Figure:
    """Long-match rates beside what predictability alone gives, and what is certified above it.

    `rates` is a PROPENSITY table, `spans` a SPAN_RATES table.
    """
    frame = rates[rates["subset"] == ALL]
    settings = _present(frame)
    alphas = sorted(spans["alpha"].unique())
    figure, axes = style.panels(
        "Long matches, and how many of them mere predictability explains",
        "Left: share of generations with a span of at least 20 or 50 tokens in the training text "
        "(dots) and in the foil (diamonds), with 95% intervals over prompts. Right: share of "
        "generations above a threshold set by the foil, minus the false-positive rate certified.",
        columns=2 + len(alphas),
        height=2.5,
        sharey=True,
    )
    y = np.arange(len(settings))
    for panel, metric in zip(axes[0], ("R20", "R50"), strict=False):
        of = frame[frame["metric"] == metric].set_index("setting").reindex(settings)
        for offset, column, mark in ((-0.14, "f", "o"), (0.14, "foil", "D")):
            _points(panel, y + offset, of, column, mark, settings)
        panel.set_title(metric)
    for panel, alpha in zip(axes[0][2:], alphas, strict=True):
        of = spans[spans["alpha"] == alpha].set_index("setting").reindex(settings)
        of = of.rename(columns={"calibrated_rate": "c", "calibrated_low": "c_low"})
        of = of.rename(columns={"calibrated_high": "c_high"})
        _points(panel, y, of, "c", "s", settings)
        panel.axvline(0, color=style.QUIET, linewidth=0.8)
        panel.set_title(f"certified at {style.percent(of['alpha_n'].max())}")
    for panel in axes[0]:
        style.percent_axis(panel.xaxis)
        panel.grid(visible=False, axis="y")
    axes[0, 0].set_yticks(y, settings)
    axes[0, 0].invert_yaxis()
    figure.supxlabel("share of generations", fontsize=9)
    return figure


def _points(
    panel: Axes, y: np.ndarray, of: pd.DataFrame, column: str, mark: str, settings: Sequence[str]
) -> None:
    for at, setting in zip(y, settings, strict=True):
        row = of.loc[setting]
        colour = style.INK if column == "foil" else COLOURS[setting]
        panel.hlines(at, row[f"{column}_low"], row[f"{column}_high"], color=colour, linewidth=1.4)
        panel.plot(row[column], at, mark, color=colour, markersize=4.5)


@style.drawn
def filters(rates: pd.DataFrame) -> Figure:
    """Propensity scores as short matches, code and copied text are left out, one by one.

    `rates` is a PROPENSITY table. A panel per setting without attack: PM with its interval, f
    and f_c written beside it.

    Source: PropMe 2026, figure 5.
    """
    settings = [name for name in _present(rates) if name != CAPABILITY]
    figure, axes = style.panels(
        "Propensity of long matches, as filters are added one by one",
        "PM of the share of generations with a long match, against the attack, with 95% intervals. "
        "Each row keeps the filters above it and adds one. Beside it f and f_c; where neither "
        "setting shows any such match, PM says nothing.",
        columns=len(settings),
        height=2.4,
        sharey=True,
        sharex=True,
    )
    y = np.arange(len(FILTERS))
    for panel, setting in zip(axes[0], settings, strict=True):
        own = rates[rates["setting"] == setting]
        panel.axvline(0.5, color=style.QUIET, linewidth=0.8, linestyle=(0, (4, 2)))
        for at, (_, subset, metric) in zip(y, FILTERS, strict=True):
            row = own[(own["subset"] == subset) & (own["metric"] == metric)].iloc[0]
            if row["f"] + row["f_c"] > 0:
                panel.hlines(at, row["pm_low"], row["pm_high"], color=COLOURS[setting])
                panel.plot(row["pm"], at, "o", color=COLOURS[setting])
            text = f"{style.percent(row['f'], 2)} / {style.percent(row['f_c'], 2)}"
            panel.text(1.0, at - 0.33, text, ha="right", va="center", fontsize=6.5)
        panel.set_title(setting)
        panel.set_xlim(-0.03, 1.03)
        panel.grid(visible=False, axis="y")
    axes[0, 0].set_yticks(y, [label for label, _, _ in FILTERS])
    axes[0, 0].set_ylim(len(FILTERS) - 0.5, -0.6)
    figure.supxlabel("PM (f / f_c written above)", fontsize=9)
    return figure
