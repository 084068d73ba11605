"""The page of one prompt search: what its criteria claim, and how its prompts fared."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from memfoil.prompts.criteria import prefix_groups, prefix_halves, prefix_tests
from memfoil.report.markdown import as_table

CIRCULAR = (
    "One-sided Mann-Whitney tests of success rates. The first row is circular: success decides "
    "who is memorized."
)


def page(title: str, targets: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> str:
    """Markdown.

    Parameters
    ----------
    tables : mapping
        `criteria` (PROMPT_CRITERIA), and what was measured: `compression` and `multi_prefix`,
        each with its `_runs`, or `parrots`.
    """
    parts = [f"# Prompt search: {title}", "## What each criterion claims", _published(tables)]
    parts += ["## What matched controls support", _levels(tables), _calibrated(tables)]
    runs = [frame for name, frame in tables.items() if name.endswith("_runs")]
    if runs:
        parts += ["## Two tests of success", _success(pd.concat(runs, ignore_index=True))]
    if "compression" in tables:
        parts += ["## Shortest prompts", _compression(targets, tables["compression"])]
    if "multi_prefix" in tables:
        parts += _prefixes(targets, tables["multi_prefix"], tables["multi_prefix_runs"])
    return "\n\n".join(parts) + "\n"


def _published(tables: Mapping[str, pd.DataFrame]) -> str:
    """One row per published criterion, one column per set of targets."""
    criteria = tables["criteria"]
    rows = criteria[~criteria["calibrated"]]
    return (
        "Claims of published criteria, in sets of members (candidates) and of non-members "
        "(controls) alike.\n\n" + _claims(rows, ["criterion"], _sets(criteria))
    )


def _calibrated(tables: Mapping[str, pd.DataFrame]) -> str:
    criteria = tables["criteria"]
    rows = criteria[criteria["calibrated"]].astype({"decontaminated": bool})
    if rows["decontaminated"].any():
        rows = rows[rows["decontaminated"]]
    rows = rows.assign(
        certified=rows["alpha_n"].map("{:.3g}".format), tau=rows["tau"].map("{:.3g}".format)
    )
    return _claims(rows, ["criterion", "control_pool", "certified", "tau"], _sets(criteria))


def _sets(criteria: pd.DataFrame) -> list[str]:
    """The sets of targets in their own order, which published criteria keep."""
    return list(dict.fromkeys(criteria["pool"] + " (" + criteria["role"] + ")"))


def _claims(rows: pd.DataFrame, index: list[str], order: list[str]) -> str:
    said = rows.assign(
        column=rows["pool"] + " (" + rows["role"] + ")",
        said=rows["claims"].astype(str) + " of " + rows["targets"].astype(str),
        line=rows.groupby(index, sort=False).ngroup(),
    )
    table = said.pivot(index=["line", *index], columns="column", values="said")[order]
    return as_table(table.fillna("").reset_index().drop(columns="line"))


def _levels(tables: Mapping[str, pd.DataFrame]) -> str:
    """The certified level that so few controls can give, said plainly."""
    criteria = tables["criteria"]
    known = criteria[criteria["calibrated"]].drop_duplicates(["control_pool", "decontaminated"])
    sentences = []
    for _, row in known.iterrows():
        n = int(row["n_controls"])
        state = "without the members found among them" if row["decontaminated"] else "as drawn"
        sentences.append(
            f"- {row['control_pool']}, {state}: {n} controls certify no "
            f"false-positive rate below 1/{n + 1} = {row['smallest_level']:.1%}; "
            f"claims are at {row['alpha_n']:.1%}."
        )
    return (
        "A set of N controls certifies no false-positive rate below 1/(N + 1). Claims of controls "
        "under their own threshold are in sample.\n\n" + "\n".join(sentences)
    )


def _success(runs: pd.DataFrame) -> str:
    signs = runs["first_teacher_forced"].notna()
    failed = int((~runs.loc[signs, "first_generated"].astype(bool)).sum())
    share = f" ({failed / signs.sum():.1%})" if signs.any() else ""
    return (
        f"{len(runs)} searches. In {signs.sum()} a prompt passed the teacher-forced test; "
        f"{failed} of these first prompts{share} failed real greedy generation from their text. "
        f"{int(runs['generated'].sum())} searches ended with a prompt that generates its target; "
        f"{int(runs['relaxed'].sum())} reach a geometric-mean token probability of 0.9."
    )


def _compression(targets: pd.DataFrame, compression: pd.DataFrame) -> str:
    known = targets.merge(compression, on="sequence_id")
    grouped = known.groupby("pool", sort=False)
    table = grouped.agg(
        targets=("sequence_id", "size"),
        found=("prompt_tokens", "count"),
        mean_ratio=("acr", "mean"),
        largest_ratio=("acr", "max"),
        prompts_with_words_of_the_target=("shared_words", "count"),
        mean_steps=("steps", "mean"),
    )
    return as_table(_rounded(table.reset_index()))


def _prefixes(targets: pd.DataFrame, multi_prefix: pd.DataFrame, runs: pd.DataFrame) -> list[str]:
    parts = ["## Many prefixes", as_table(_rounded(prefix_groups(targets, multi_prefix)))]
    tests = prefix_tests(targets, multi_prefix)
    if len(tests):
        parts += [CIRCULAR, as_table(_rounded(tests))]
    halves = prefix_halves(targets, multi_prefix)
    if len(halves):
        parts += ["### Wholes and halves", as_table(halves)]
    known = runs.dropna(subset=["original_generated"])
    if len(known):
        recalled = known[known["original_generated"].astype(bool)]["sequence_id"].nunique()
        parts.append(
            f"Of {known['sequence_id'].nunique()} paraphrases, {recalled} had a prompt that made "
            "the model write the original."
        )
    return parts


def _rounded(frame: pd.DataFrame) -> pd.DataFrame:
    real = frame.select_dtypes("float").columns
    return frame.assign(**{name: frame[name].map("{:.3g}".format) for name in real})
