"""The main numbers of a run as one Markdown page, which `make demo` also prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from memfoil.report.markdown import as_table, percent, power
from memfoil.stats.census import LOG_10
from memfoil.tables import LEFT_OUT

UNMATCHED_AUC = 0.6
"""Blind AUC above which candidates and controls are told apart too easily."""

MEANING_OF_M = (
    "M = G - alpha_N, the share claimed less the certified rate, is a lower bound on the share "
    "memorized; its 95% interval stands behind it."
)


@dataclass(frozen=True)
class Audit:
    """The tables of one model's audit that the page is made of."""

    sequences: pd.DataFrame
    scores: pd.DataFrame
    contamination: pd.DataFrame
    match: pd.DataFrame
    thresholds: pd.DataFrame
    rates: pd.DataFrame
    validity: pd.DataFrame


def summary(run: str, audits: Mapping[str, Audit], left_out: pd.DataFrame) -> str:
    """One page for all models of a run.

    Parameters
    ----------
    audits : mapping from model name to Audit
    left_out : DataFrame
        What each stage left out, as `count_left_out` gives it.
    """
    parts = [f"# Run {run}"]
    for model, audit in audits.items():
        parts += [f"## Model {model}", *_warnings(audit)]
        parts += [
            "### Claims at the smallest requested rate, controls decontaminated",
            MEANING_OF_M,
            _claims(audit),
        ]
        parts += _by_repetition(audit)
        parts += ["### Known non-members under each threshold", _drift(audit)]
        splits = audit.validity["split"].nunique()
        parts += [
            f"### Mean realized rate over {splits} re-splits of the controls",
            _validity(audit),
        ]
        parts += ["### Controls found in the training text", _contamination(audit)]
        parts += ["### Thresholds before and after taking them out", _before_and_after(audit)]
    parts += ["## Left out", as_table(left_out) if len(left_out) else "Nothing."]
    return "\n\n".join(parts) + "\n"


def count_left_out(paths: Iterable[str]) -> pd.DataFrame:
    """How many items each stage left out and for which reason, with the file that lists them."""
    counts = []
    for path in paths:
        reasons = LEFT_OUT.read(path)["reason"].value_counts()
        counts += [{"reason": name, "items": n, "list": path} for name, n in reasons.items()]
    return pd.DataFrame(counts, columns=["reason", "items", "list"])


def _smallest(rates: pd.DataFrame) -> pd.DataFrame:
    return rates[rates["alpha"] == rates["alpha"].min()]


def _claims(audit: Audit) -> str:
    """One row per null and procedure; a column per pool of candidates: claims, M, its interval."""
    rates = _reported(audit, _smallest(audit.rates))
    pools = audit.sequences.loc[audit.sequences["role"] == "candidate", "pool"].unique()
    rates = rates[rates["stratum"].isin(pools) & rates["decontaminated"]]
    found = rates["n_claims"].astype(str) + " of " + rates["n_candidates"].astype(str)
    rate, low, high = (
        rates[f"calibrated_{name}"].map("{:.1%}".format) for name in ("rate", "low", "high")
    )
    table = rates.assign(
        found=found + ": M = " + rate + " (" + low + " to " + high + ")",
        certified=percent(rates["alpha_n"]),
        tau=(rates["log_tau"] / LOG_10).map(power),
        blind_auc=rates["blind_auc"].map("{:.2f}".format).replace("nan", "not measured"),
    ).pivot(
        index=["suffix_tokens", "procedure", "control_pool", "blind_auc", "certified", "tau"],
        columns="stratum",
        values="found",
    )
    return as_table(table.reset_index())


def _before_and_after(audit: Audit) -> str:
    """What taking members out of the controls does to the threshold of the base distribution."""
    thresholds = _reported(audit, _smallest(audit.thresholds))
    thresholds = thresholds[thresholds["procedure"] == "base"]
    states = thresholds["decontaminated"].map({False: "as drawn", True: "decontaminated"})
    taus = (thresholds["log_tau"] / LOG_10).map(power)
    shown = taus + " (N = " + thresholds["n_controls"].astype(str) + ")"
    table = thresholds.assign(state=states, tau=shown).pivot(
        index=["suffix_tokens", "control_pool"], columns="state", values="tau"
    )
    return as_table(table.reset_index())


def _reported(audit: Audit, frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["suffix_tokens"].isin(audit.validity["suffix_tokens"].unique())]


def _by_repetition(audit: Audit) -> list[str]:
    longest = audit.validity["suffix_tokens"].max()
    rates = _smallest(audit.rates)
    rates = rates[
        rates["stratum"].str.startswith("repetitions ")
        & (rates["suffix_tokens"] == longest)
        & rates["decontaminated"]
        & (rates["procedure"] != "greedy")
    ]
    if rates.empty:
        return []
    repetitions = rates["stratum"].str.removeprefix("repetitions ").astype(int)
    shares = (rates["n_claims"].astype(str) + " of " + rates["n_candidates"].astype(str)).to_frame(
        "share"
    )
    shares["times in training"] = repetitions
    shares["by"] = rates["procedure"] + ", " + rates["control_pool"]
    table = shares.pivot_table(
        index="times in training", columns="by", values="share", aggfunc="first"
    )
    title = f"### Claimed by number of repetitions in training, {longest}-token suffix"
    return [title, as_table(table.reset_index())]


def _drift(audit: Audit) -> str:
    """Controls of every pool against the threshold of every pool: what drift does."""
    controls = audit.sequences[audit.sequences["role"] == "control"]
    members = audit.contamination.loc[audit.contamination["member"], "sequence_id"]
    clean = controls[~controls["sequence_id"].isin(members)]
    longest = audit.validity["suffix_tokens"].max()
    thresholds = _smallest(audit.thresholds)
    thresholds = thresholds[
        (thresholds["suffix_tokens"] == longest)
        & thresholds["decontaminated"]
        & (thresholds["procedure"] == "base")
    ]
    scores = audit.scores[
        (audit.scores["procedure"] == "base") & (audit.scores["suffix_tokens"] == longest)
    ].merge(clean[["sequence_id", "pool"]], on="sequence_id")
    rows = [
        {
            "threshold from": row.control_pool,
            "certified": f"{100 * row.alpha_n:.3g}%",
            "judged": pool,
            "above it": f"{(group['log_score'] > row.log_tau).sum()} of {len(group)}",
            "share": f"{100 * (group['log_score'] > row.log_tau).mean():.3g}%",
        }
        for row in thresholds.itertuples()
        for pool, group in scores.groupby("pool")
    ]
    return as_table(pd.DataFrame(rows))


def _validity(audit: Audit) -> str:
    longest = audit.validity["suffix_tokens"].max()
    rows = audit.validity[
        (audit.validity["suffix_tokens"] == longest)
        & (audit.validity["procedure"] == "base")
        & (audit.validity["k"] > 0)
    ]
    means = rows.groupby(["alpha", "control_pool"], as_index=False)[
        ["alpha_n", "realized_fpr"]
    ].mean()
    shown = percent(means["realized_fpr"]) + " (certified " + percent(means["alpha_n"]) + ")"
    table = means.assign(alpha=percent(means["alpha"]), shown=shown).pivot(
        index="alpha", columns="control_pool", values="shown"
    )
    table = table.loc[percent(pd.Series(sorted(means["alpha"].unique())))]
    return as_table(table.reset_index().rename(columns={"alpha": "requested"}))


def _contamination(audit: Audit) -> str:
    pools = audit.sequences[["sequence_id", "pool"]]
    found = audit.contamination.merge(pools, on="sequence_id")
    rows = found.groupby("pool", as_index=False).agg(
        controls=("sequence_id", "size"),
        exact=("verdict", lambda verdict: (verdict == "exact").sum()),
        near=("verdict", lambda verdict: (verdict == "near").sum()),
        reviewed=("review", "count"),
        taken_out=("member", "sum"),
        inexact_searches=("skipped_pieces", lambda skipped: (skipped > 0).sum()),
    )
    return as_table(rows)


def _warnings(audit: Audit) -> list[str]:
    blind = audit.match[audit.match["quantity"] == "blind AUC"]
    lines = [
        f"**Warning:** candidates and the controls `{pool}` are told apart without any model "
        f"(blind AUC {auc:.2f}; 0.50 is a match): the certified rate holds for controls like "
        "candidates, and these differ."
        for pool, auc in zip(blind["control_pool"], blind["candidates"], strict=True)
        if auc > UNMATCHED_AUC
    ]
    unmeasured = set(audit.match["control_pool"]) - set(blind["control_pool"])
    lines += [
        f"**Warning:** candidates or the controls `{pool}` come from a single document: how well "
        "they match cannot be measured, and their passages are no independent draws."
        for pool in sorted(unmeasured)
    ]
    idle = audit.thresholds[audit.thresholds["k"] == 0]
    for alpha, controls in idle.groupby("alpha")["n_controls"]:
        lines.append(
            f"**Warning:** {controls.min()} controls cannot certify {alpha:g}; nothing is claimed "
            f"there. The smallest level is {1 / (controls.max() + 1):.2g}."
        )
    return lines
