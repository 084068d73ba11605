"""Figures of prompt searches: what criteria claim of whom, and how the searches went."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from memfoil.figures import style


@style.drawn
def prompt_criteria(criteria: pd.DataFrame) -> Figure:
    """The share of each set of targets that each criterion claims, published beside calibrated.

    `criteria` is a PROMPT_CRITERIA table. Whiskers are Clopper-Pearson 95% intervals. Calibrated
    claims are those of the first set of controls, decontaminated where that is known.
    """
    published = criteria[~criteria["calibrated"]]
    judged = _first_null(criteria[criteria["calibrated"]])
    rows = max(published["criterion"].nunique(), judged["criterion"].nunique(), 1)
    figure, axes = style.panels(
        "What criteria claim of members and of non-members",
        "Share of each set of target sequences that is claimed as memorized, with its 95% "
        "interval. Left: published criteria. Right: the same measurements as scores, judged by "
        f"matched controls{_certified(judged)}.",
        columns=2,
        height=0.55 * rows + 0.9,
        sharex=True,
    )
    marks = _marks(criteria)
    for panel, frame, title in zip(
        axes[0], (published, judged), ("published criteria", "calibrated scores"), strict=True
    ):
        panel.set_title(title)
        _shares(panel, frame, marks)
        style.percent_axis(panel.xaxis)
        panel.set_xlim(-0.03, 1.03)
        panel.set_xlabel("share claimed")
    style.legend(figure, [Line2D([], [], label=name, **mark) for name, mark in marks.items()])
    return figure


def _first_null(judged: pd.DataFrame) -> pd.DataFrame:
    if judged.empty:
        return judged
    clean = judged["decontaminated"].astype(bool)
    kept = judged[clean] if clean.any() else judged
    return kept[kept["control_pool"] == kept["control_pool"].iloc[0]]


def _certified(judged: pd.DataFrame) -> str:
    if judged.empty:
        return ""
    first = judged.iloc[0]
    return (
        f" ({int(first['n_controls'])} {first['control_pool']}; certified rate "
        f"{style.percent(first['alpha_n'])}, no rate below {style.percent(first['smallest_level'])}"
        " can be certified)"
    )


def _marks(criteria: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Colours of the sets; candidates are dots, controls squares."""
    sets = criteria.drop_duplicates("pool")
    candidates, controls = (
        sets.loc[sets["role"] == role, "pool"].tolist() for role in ("candidate", "control")
    )
    colours = style.candidate_marks(candidates) | style.control_marks(controls)
    return {
        name: {
            "color": mark["color"],
            "marker": "o" if name in candidates else "s",
            "linestyle": "none",
        }
        for name, mark in colours.items()
    }


def _shares(panel: Axes, frame: pd.DataFrame, marks: dict[str, dict[str, Any]]) -> None:
    names = list(dict.fromkeys(frame["criterion"]))
    offsets = dict(zip(marks, np.linspace(-0.3, 0.3, len(marks)), strict=True))
    for pool, mark in marks.items():
        own = frame[frame["pool"] == pool]
        if own.empty:
            continue
        share = own["claims"] / own["targets"]
        places = own["criterion"].map(names.index) + offsets[pool]
        panel.hlines(places, own["low"], own["high"], color=str(mark["color"]), linewidth=1)
        panel.plot(share, places, **mark)
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(max(len(names), 1) - 0.5, -0.5)


@style.drawn
def prompt_searches(targets: pd.DataFrame, losses: pd.DataFrame, runs: pd.DataFrame) -> Figure:
    """How searches went: the lowest loss so far by step, one line per search.

    `targets`, `losses` and `runs` are TARGETS, PROMPT_LOSSES and PROMPT_RUNS tables. A dot ends
    a search whose prompt generates its target.
    """
    pools = list(dict.fromkeys(targets["pool"]))
    columns = min(3, max(len(pools), 1))
    rows = -(-max(len(pools), 1) // columns)
    figure, axes = style.panels(
        "The course of the searches",
        "Lowest loss of the target so far, in nats per token, by step of the search; one line per "
        "search. A dot ends a search whose prompt, read from its text, makes the model generate "
        "the target.",
        rows=rows,
        columns=columns,
        height=2.2,
        sharex=True,
        sharey=True,
    )
    key = ["procedure", "sequence_id", "run"]
    known = losses.merge(targets[["sequence_id", "pool", "role"]], on="sequence_id")
    known = known.merge(runs[[*key, "generated"]], on=key)
    marks = _marks(targets)
    for panel, pool in zip(axes.flat, pools, strict=False):
        panel.set_title(pool)
        own = known[known["pool"] == pool]
        colour = str(marks[pool]["color"])
        for _, line in own.groupby(key, sort=False):
            panel.plot(line["step"], line["lowest"], color=colour, linewidth=0.7, alpha=0.6)
            if line["generated"].iloc[0]:
                panel.plot(line["step"].iloc[-1], line["lowest"].iloc[-1], "o", color=colour)
        ended = own.drop_duplicates(key)["generated"]
        style.aside(panel, f"{int(ended.sum())} of {len(ended)} succeed")
    axes[0, 0].set_ylim(bottom=0)  # once everything shared is drawn
    for panel in axes.flat[len(pools) :]:
        panel.set_visible(False)
    for panel in axes.flat[: len(pools)][-columns:]:  # the lowest of each column
        panel.set_xlabel("step")
        panel.tick_params(labelbottom=True)
    for panel in axes[:, 0]:
        panel.set_ylabel("lowest loss")
    return figure


@style.drawn
def parrot_scores(targets: pd.DataFrame, parrots: pd.DataFrame) -> Figure:
    """The probability of targets after each parrot prompt, set by set.

    `targets` and `parrots` are TARGETS and PARROTS tables. A filled dot is a target that greedy
    generation writes.
    """
    templates = list(dict.fromkeys(parrots["template_id"]))
    figure, axes = style.panels(
        "Parrot prompts hold their targets",
        "Log10 probability of each target after a prompt that holds it and asks for it; filled: "
        "greedy generation writes it. Members and non-members alike mean that success says "
        "nothing of memory.",
        columns=max(len(templates), 1),
        height=2.6,
        sharey=True,
        sharex=True,
    )
    known = parrots.merge(targets[["sequence_id", "pool"]], on="sequence_id")
    pools, marks = list(dict.fromkeys(targets["pool"])), _marks(targets)
    for panel, template in zip(axes[0], templates, strict=False):
        panel.set_title(template)
        for place, pool in enumerate(pools):
            own = known[(known["pool"] == pool) & (known["template_id"] == template)]
            spread = place + np.linspace(-0.28, 0.28, len(own)) if len(own) > 1 else [place]
            x = own["log_score"].to_numpy() / np.log(10)
            for done, face in ((True, str(marks[pool]["color"])), (False, "none")):
                kept = (own["generated"] == done).to_numpy()
                panel.plot(x[kept], np.asarray(spread)[kept], markerfacecolor=face, **marks[pool])
        panel.set_yticks(range(len(pools)), pools)
        panel.set_ylim(len(pools) - 0.5, -0.5)
        panel.set_xlabel("log10 probability")
    return figure
