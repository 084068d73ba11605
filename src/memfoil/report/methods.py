"""What a paper's section on methods has to say of a run, as tables that nobody writes by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from memfoil.decontaminate import EXACT, NEAR
from memfoil.report.markdown import as_table, percent
from memfoil.report.summary import Audit

HEAD = (
    "Scores are teacher-forced log-probabilities, natural logs in float64. A candidate is claimed "
    "where its score exceeds the threshold of a pool of controls; the certified rate is the "
    "false-positive rate that the threshold keeps if candidates that were not memorized are "
    "exchangeable with these controls (Cooper et al. 2026, section 3)."
)


def methods(
    run: str,
    audits: Mapping[str, Audit],
    settings: Mapping[str, Mapping[str, Any]],
    origins: Mapping[str, Mapping[str, Any]],
    left_out: pd.DataFrame,
) -> str:
    """The page.

    Parameters
    ----------
    audits : mapping
        By model, as `summary` takes them.
    settings : mapping
        By model, what `config/models.yaml` says of it.
    origins : mapping
        By model, `provenance_of` its token scores.
    left_out : frame of `count_left_out`
    """
    parts = [f"# Methods of run {run}", HEAD]
    for model, audit in audits.items():
        parts += [
            f"## Model {model}",
            as_table(_measured(audit, settings[model], origins[model])),
            "### Sequences and nulls",
            as_table(_pools(audit)),
            "### Levels",
            as_table(_levels(audit.thresholds)),
        ]
    parts += ["## Left out", as_table(left_out) if len(left_out) else "Nothing."]
    return "\n\n".join(parts) + "\n"


def _measured(audit: Audit, settings: Mapping[str, Any], origin: Mapping[str, Any]) -> pd.DataFrame:
    lengths = audit.thresholds["suffix_tokens"]
    prefixes = audit.sequences["prefix_tokens"]
    versions = ", ".join(f"{name} {version}" for name, version in origin["versions"].items())
    said = {
        "source": settings["source"],
        "revision": settings["revision"] or "none: a folder",
        "run by": ", ".join(settings[name] for name in ("backend", "dtype", "device")),
        "start of text": settings["start_of_text"] or "as its tokenizer puts it",
        "prompt": f"the first {_numbers(prefixes)} tokens of a sequence",
        "scored": f"the {_numbers(lengths)} tokens behind it",
        "decoding": ", ".join(audit.thresholds["procedure"].unique()),
        "versions": versions,
    }
    return pd.DataFrame(said.items(), columns=["what", "value"])


def _numbers(values: pd.Series) -> str:
    """Whole numbers in words: 1 to 50, or 10 or 50."""
    distinct = sorted(values.unique())
    if distinct[0] + 1 < distinct[-1] == distinct[0] + len(distinct) - 1:
        return f"{distinct[0]} to {distinct[-1]}"
    return " or ".join(map(str, distinct))


def _pools(audit: Audit) -> pd.DataFrame:
    """Every pool as drawn and as it counts, and how well it matches."""
    verdicts = audit.contamination.merge(audit.sequences[["sequence_id", "pool"]])
    match = audit.match[audit.match["quantity"] == "blind AUC"]
    blind = match.set_index("control_pool")["candidates"].map("{:.2f}".format).to_dict()
    rows = []
    for (pool, role), own in audit.sequences.groupby(["pool", "role"], sort=False):
        of = verdicts[verdicts["pool"] == pool]
        rows.append(
            {
                "pool": pool,
                "role": role,
                "sequences": len(own),
                "documents": own["document_id"].nunique(),
                "dates": f"{own['date'].min():%Y-%m-%d} to {own['date'].max():%Y-%m-%d}",
                EXACT: int((of["verdict"] == EXACT).sum()),
                NEAR: int((of["verdict"] == NEAR).sum()),
                "judged by a person": int(of["review"].notna().sum()),
                "taken out": int(of["member"].sum()),
                "blind AUC": blind.get(str(pool), ""),
            }
        )
    return pd.DataFrame(rows)


def _levels(thresholds: pd.DataFrame) -> pd.DataFrame:
    """Requested and certified rates of each null."""
    names = ["control_pool", "decontaminated", "alpha"]
    levels = thresholds.groupby(names, sort=False)[["n_controls", "alpha_n"]].first().reset_index()
    for name in ("alpha", "alpha_n"):
        levels[name] = percent(levels[name])
    return levels.rename(columns={"alpha": "requested", "alpha_n": "certified"})
