"""What a census found, as one Markdown page for all models, pairs and prefixes of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from memfoil.decontaminate import EXACT, NEAR, NONE_FOUND
from memfoil.report.markdown import as_table, percent, power
from memfoil.stats.census import LOG_10

MAXIMUM = (
    "A threshold is the largest score among the control's windows, rounded up to a power of ten: a "
    "measured maximum, not a certified level. Windows that overlap verified reused text are out."
)
MEANING = (
    "Coverage is the share of the document's characters in at least one suffix above the threshold "
    "(greedy: that greedy decoding generates). `reachable` is the part within the query budget, "
    "`unreachable` the part that is memorized and beyond it."
)
RECOVERY = (
    "Beam search does not know the suffix. `beyond` is what it recovers although the query budget "
    "does not reach it by sampling."
)


def summary(
    thresholds: pd.DataFrame,
    census: pd.DataFrame,
    recovery: pd.DataFrame,
    truth: pd.DataFrame,
    controls: pd.DataFrame,
    near_verbatim: pd.DataFrame,
    left_out: pd.DataFrame,
    warnings: Sequence[str],
) -> str:
    """The page.

    Parameters
    ----------
    thresholds, census, recovery, truth : tables of all models, one under the other
    controls : CENSUS_CONTROLS frame of all models, with a column `model`
    near_verbatim : NEAR_VERBATIM tables of all models, one under the other
    left_out : frame of `count_left_out`
    warnings : one line each, shown at the top
    """
    parts = ["# Census", *(f"> **Warning:** {line}." for line in warnings)]
    parts += ["## Coverage", MEANING, _coverage(census)]
    parts += ["## Thresholds", MAXIMUM, _thresholds(thresholds)]
    parts += ["## Controls looked up", _controls(controls)]
    if len(truth):
        parts += ["## Planted and found", _truth(truth)]
    parts += ["## Recovered by beam search", RECOVERY, _recovery(recovery)]
    parts += ["## Cost of a near-verbatim search", _cost(near_verbatim)]
    if len(left_out):
        parts += ["## Left out", as_table(left_out)]
    return "\n\n".join(parts) + "\n"


def _coverage(census: pd.DataFrame) -> str:
    frame = census[_NAMES].copy()
    frame["threshold"] = census["threshold"]
    frame["tau"] = [power(value) for value in census["log10_tau"]]
    frame["windows"] = census["n_windows"]
    frame["above"] = census["n_above"]
    for name in ("coverage", "reachable", "unreachable"):
        frame[name] = percent(census[name])
    return as_table(frame)


def _thresholds(thresholds: pd.DataFrame) -> str:
    wide = thresholds.pivot(index=_NAMES, columns="decontaminated")
    frame = wide.index.to_frame(index=False)
    frame["as it is"] = [power(value) for value in wide["log10_tau", False]]
    frame["tau_book"] = [power(value) for value in wide["log10_tau", True]]
    frame["tau_global"] = [power(value) for value in wide["log10_tau_global", True]]
    frame["windows left"] = wide["n_windows", True].to_numpy()
    frame["removed"] = wide["n_removed", True].to_numpy()
    frame["set by"] = wide["window_id", True].to_numpy()
    usable = wide["usable", True].to_numpy(dtype=bool)
    frame["of use"] = np.where(usable, "yes", "no: at or near 1")
    return as_table(frame)


def _controls(controls: pd.DataFrame) -> str:
    """Counts of the verdicts; the highest score that nobody and nothing has explained."""
    rows = []
    for (model, pair), own in controls.groupby(["model", "pair"], sort=False):
        open_ = own[~own["leaves"] & own["review"].isna()]
        counts = own["verdict"].value_counts()
        rows.append(
            {
                "model": model,
                "pair": pair,
                "looked up": len(own),
                **{name: int(counts.get(name, 0)) for name in (EXACT, NEAR, NONE_FOUND)},
                "judged by a person": int(own["review"].notna().sum()),
                "members": int(own["member"].sum()),
                "waiting for a person": len(open_),
                "highest waiting": power(open_["log_score"].max() / LOG_10) if len(open_) else "",
            }
        )
    return as_table(pd.DataFrame(rows))


def _truth(truth: pd.DataFrame) -> str:
    frame = truth[[*_NAMES, "repetitions", "characters"]].copy()
    frame["share of the document"] = percent(truth["share"])
    frame["of these memorized"] = percent(truth["found"])
    return as_table(frame)


def _recovery(recovery: pd.DataFrame) -> str:
    names = ["pair", "model", "prefix_tokens", "match", "output", "n_searched", "n_recovered"]
    frame = recovery[names].copy()
    for name in ("coverage", "beyond"):
        frame[name] = percent(recovery[name])
    return as_table(frame)


def _cost(near_verbatim: pd.DataFrame) -> str:
    means = near_verbatim.groupby("prefix_tokens")[["forward_tokens", "sampling_tokens"]].mean()
    frame = means.round(1).reset_index()
    return as_table(
        frame.rename(
            columns={
                "forward_tokens": "forward tokens a window",
                "sampling_tokens": "of 20 samples",
            }
        )
    )


_NAMES = ["pair", "model", "prefix_tokens", "procedure"]
