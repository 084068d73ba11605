"""The page of propensity: what each setting reproduces, and what predictability explains of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from tabulate import tabulate

from memfoil.propensity.metric import ALL
from memfoil.propensity.settings import CAPABILITY

SHOWN = ("FMR", "FMR50", "ALS", "NVR", "R20", "R50")
NULL = (
    "The foil is text of the same kind and size that the model never read. A match in it needs no "
    "memory, so its rate is what predictability alone gives. It is an upper bound on that only as "
    "far as the foil is like the training text, and it says nothing about a single generation."
)


def page(model: str, tables: Mapping[str, pd.DataFrame]) -> str:
    """Markdown.

    Parameters
    ----------
    tables : mapping
        `prompts`, `left_out`, `prompt_texts`, `propensity`, `prompted`, `span_copies`, and with
        a foil `span_rates`.
    """
    rates = tables["propensity"]
    parts = [f"# Propensity and capability: {model}"]
    parts += ["## Prompts", _prompts(tables["prompts"], tables["left_out"])]
    parts += [_texts(tables["prompt_texts"])]
    parts += ["## Rates, with 95% intervals over prompts", _rates(rates)]
    parts += ["## Propensity against the attack", _scores(rates)]
    if len(tables["span_rates"]):
        parts += ["## Beyond predictability", NULL, _calibrated(tables["span_rates"])]
    parts += ["## Copies of the long spans", _copies(tables["span_copies"])]
    parts += ["## Repeated sampling and extraction", _prompted(tables["prompted"])]
    return "\n\n".join(parts) + "\n"


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    return tabulate([dict(row) for row in rows], headers="keys", tablefmt="github")


def _prompts(prompts: pd.DataFrame, left_out: pd.DataFrame) -> str:
    setting = left_out["item_id"].str.extract(r"^(generic|specific) ")[0].fillna(CAPABILITY)
    rows = []
    for name, of in prompts.groupby("setting", sort=False):
        why = left_out.loc[setting == name, "reason"].value_counts(sort=False)
        rows.append(
            {
                "setting": name,
                "prompts": len(of),
                "generations": of["generations"].sum(),
                "left out": "; ".join(f"{n}: {reason}" for reason, n in why.items()) or "none",
            }
        )
    return _table(rows)


def _texts(texts: pd.DataFrame) -> str:
    rows = [
        {
            "sentences": row["setting"],
            "tokens": f"{row['mean_tokens']:.1f}",
            "own longest span": f"{row['mean_longest']:.1f}, at most {row['longest']}",
            "with 20 tokens or more": _percent(row["share_20"]),
            "similarity": f"{row['similarity']:.3f}",
            "closer than generic": _numbers(row, "closer", "{:+.3f}".format),
        }
        for _, row in texts.iterrows()
    ]
    return _table(rows)


def _rates(rates: pd.DataFrame) -> str:
    rows = []
    for setting, of in rates[rates["subset"] == ALL].groupby("setting", sort=False):
        row: dict[str, Any] = {"setting": setting}
        for metric in SHOWN:
            form = "{:.1f}".format if metric == "ALS" else _percent
            rate = of[of["metric"] == metric].iloc[0]
            other = _numbers(rate, "foil", form)
            row[metric] = _numbers(rate, "f", form) + (f"; foil {other}" if other else "")
        rows.append(row)
    excluded = rates[rates["subset"] == ALL].drop_duplicates("setting")["excluded"].sum()
    return _table(rows) + (
        f"\n\nLoops of symbols left out: {excluded} generations. FMR: found whole; ALS: mean "
        "longest span, in tokens; NVR: near-verbatim recall; R20, R50: with a span of so many "
        "tokens that is no loop. Where nothing was seen, the upper end is the rule of three."
    )


def _scores(rates: pd.DataFrame) -> str:
    of = rates[rates["metric"].isin(("FMR", "NVR", "R50")) & (rates["setting"] != CAPABILITY)]
    rows = [
        {
            "setting": row["setting"],
            "generations": row["subset"],
            "metric": row["metric"],
            "f": _percent(row["f"]),
            "f_c": _percent(row["f_c"]),
            "PM": _numbers(row, "pm", "{:.3f}".format),
            "f - f_c": _numbers(row, "difference", _percent),
        }
        for _, row in of.iterrows()
    ]
    return _table(rows)


def _calibrated(spans: pd.DataFrame) -> str:
    rows = [
        {
            "setting": row["setting"],
            "certified rate": _percent(row["alpha_n"]),
            "longest predictable span": f"{row['tau']:.0f} tokens",
            "generations above it": _numbers(row, "generation", _percent, "generation_rate"),
            "beyond predictability, at least": _numbers(
                row, "calibrated", _percent, "calibrated_rate"
            ),
        }
        for _, row in spans.iterrows()
    ]
    return _table(rows)


def _copies(copies: pd.DataFrame) -> str:
    rows = [
        {
            "setting": row["setting"],
            "with a span of 50 tokens or more": f"{row['long']} of {row['generations']}",
            "only loops": row["only_loops"],
            "median copies": "" if pd.isna(row["median_copies"]) else f"{row['median_copies']:g}",
            "fewer than 10": _percent(row["fewer_than_10"]),
            "one": _percent(row["one"]),
        }
        for _, row in copies.iterrows()
    ]
    return _table(rows)


def _prompted(prompted: pd.DataFrame) -> str:
    rows = [
        {
            "setting": row["setting"],
            "event": row["event"],
            "copies of the source": row["occurrences"],
            "prompts": row["prompts"],
            "per generation": _numbers(row, "rate", _percent),
            "at least once": _numbers(row, "once", _percent, "at_least_once"),
        }
        for _, row in prompted.iterrows()
    ]
    return _table(rows)


def _numbers(
    row: pd.Series, name: str, form: Callable[[float], str], value: str | None = None
) -> str:
    """A value with the interval of that name."""
    number = row[value or name]
    if pd.isna(number):
        return ""
    return f"{form(number)} [{form(row[f'{name}_low'])}, {form(row[f'{name}_high'])}]"


def _percent(share: float) -> str:
    return "" if pd.isna(share) else f"{100 * share:.3g}%"
