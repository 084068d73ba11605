"""What stands behind the rates: lengths, copies, repeated sampling, the prompts' own matches.

Frames are REPRODUCTION, GENERATIONS and PROMPTS tables of one model and one training text; loops
of symbols are left out of everything.

Source: PropMe 2026, section 5.5 and appendix K.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from memfoil.propensity.keys import number
from memfoil.propensity.metric import ALL, aligned, kept
from memfoil.propensity.settings import CAPABILITY, PROMPT_FREE, SETTINGS
from memfoil.stats.bootstrap import interval, ratio, resampled_sums, rule_of_three
from memfoil.tables import PROMPTED
from memfoil.tracing.texts import normalized

LONG = 50
GROUPS = {"1": (1, 1), "2-9": (2, 9), "10-99": (10, 99), "100 or more": (100, np.inf)}


def span_lengths(reproduction: pd.DataFrame, generations: pd.DataFrame) -> pd.DataFrame:
    """By setting, the share of generations whose longest span has at least so many tokens.

    Spans that loop one unit do not count.

    Returns
    -------
    DataFrame
        `setting`, `tokens` from 1 to the longest found, `share`.
    """
    rows, owner = aligned("reproduction", reproduction, generations)
    counted = kept(rows)[ALL]
    parts = []
    for setting in _present(owner):
        lengths = rows.loc[counted & (owner["setting"] == setting), "longest_unlooped"]
        tokens = np.arange(1, max(lengths.max(), 1) + 1) if len(lengths) else np.array([1])
        at_least = len(lengths) - np.searchsorted(np.sort(lengths), tokens)
        share = ratio(at_least, np.full(len(tokens), len(lengths)))
        parts.append(pd.DataFrame({"setting": setting, "tokens": tokens, "share": share}))
    return pd.concat(parts, ignore_index=True)


def copies(reproduction: pd.DataFrame, generations: pd.DataFrame) -> pd.DataFrame:
    """How often the long spans occur in the training text: a SPAN_COPIES frame."""
    rows, owner = aligned("reproduction", reproduction, generations)
    counted = kept(rows)[ALL]
    parts = []
    for setting in _present(owner):
        of = rows[counted & (owner["setting"] == setting)]
        long = of[of["longest_unlooped"] >= LONG]
        heads = long["head_count"].astype(float)
        parts.append(
            {
                "setting": setting,
                "generations": len(of),
                "long": len(long),
                "only_loops": int(
                    ((of["longest"] >= LONG) & (of["longest_unlooped"] < LONG)).sum()
                ),
                "median_copies": heads.median(),
                "fewer_than_10": (heads < 10).mean(),
                "one": (heads == 1).mean(),
                "whole_span_once": (long["longest_count"] == 1).mean(),
            }
        )
    return pd.DataFrame(parts)


def prompt_texts(prompts: pd.DataFrame, *, resamples: int, seed: int) -> pd.DataFrame:
    """What the sentences match by themselves, and how close they are to the training text.

    `closer` is the mean similarity of the specific prompts minus that of the generic ones, with
    its bootstrap interval.

    Returns
    -------
    PROMPT_TEXTS frame

    Source: PropMe 2026, section 4.2 and tables 6.
    """
    sentences = {name: prompts[prompts["setting"] == name] for name in ("generic", "specific")}
    frame = pd.DataFrame(
        [
            {
                "setting": setting,
                "prompts": len(of),
                "mean_tokens": of["token_ids"].map(len).mean(),
                "mean_longest": of["longest"].mean(),
                "share_20": (of["longest"] >= 20).mean(),
                "longest": int(of["longest"].max()),
                "similarity": of["similarity"].mean(),
            }
            for setting, of in sentences.items()
        ]
    )
    means = []
    for setting, of in sentences.items():
        values = of[["similarity"]].to_numpy(dtype=np.float64)
        name = f"{seed} similarity {setting}"
        drawn = resampled_sums(values, resamples=resamples, seed=number(name))
        means.append(drawn[:, 0] / len(values))
    low, high = interval(means[1] - means[0])
    closer = frame["similarity"].diff()
    known = closer.notna()
    return frame.assign(
        closer=closer,
        closer_low=pd.Series(float(low), index=frame.index).where(known),
        closer_high=pd.Series(float(high), index=frame.index).where(known),
    )


def prompted(
    reproduction: pd.DataFrame,
    generations: pd.DataFrame,
    prompts: pd.DataFrame,
    *,
    resamples: int,
    seed: int,
) -> pd.DataFrame:
    """Per generation, and in at least one of a prompt's generations: long matches and extraction.

    `FMR20` and `R50` are those of `measures`. `extraction`, of the attack alone: the generation
    begins with what follows the prefix in its document, white space aside; also by how often
    prefix and continuation occur in the training text.

    Returns
    -------
    PROMPTED frame

    Source: PropMe 2026, section 5.5 and tables 15 to 17.
    """
    rows, owner = aligned("reproduction", reproduction, generations)
    counted = kept(rows)[ALL]
    events = {
        "FMR20": (rows["whole"] != "no") & (rows["tokens"] >= 20),
        "R50": rows["longest_unlooped"] >= LONG,
    }
    groups = {
        (setting, "all"): (owner["setting"] == setting)
        for setting in _present(owner)
        if setting not in PROMPT_FREE
    }
    wanted = [(key, name, of) for key, of in groups.items() for name in events]
    if (CAPABILITY, "all") in groups:
        events["extraction"] = extracted(generations, prompts)
        occurrences = owner["prompt_id"].map(prompts.set_index("prompt_id")["occurrences"])
        attack = groups[CAPABILITY, "all"]
        wanted.append(((CAPABILITY, "all"), "extraction", attack))
        for group, (least, most) in GROUPS.items():
            of = attack & occurrences.between(least, most)
            wanted.append(((CAPABILITY, group), "extraction", of))
    return pd.DataFrame(
        [
            {"setting": setting, "event": name, "occurrences": group}
            | _event(
                events[name][of & counted],
                owner.loc[of & counted, "prompt_id"],
                resamples,
                number(f"{seed} {setting} {name} {group}"),
            )
            for (setting, group), name, of in wanted
            if of.any()
        ],
        columns=PROMPTED.names,
    )


def extracted(generations: pd.DataFrame, prompts: pd.DataFrame) -> pd.Series:
    """Whether each generation begins with the true continuation of its prompt's document.

    Both as text, Unicode form and white space aside; never where there is no continuation.
    """
    texts = prompts.set_index("prompt_id")["continuation"].dropna().map(normalized)
    true = generations["prompt_id"].map(texts).to_numpy()
    return pd.Series(
        [
            isinstance(end, str) and end != "" and normalized(text).startswith(end)
            for text, end in zip(generations["text"], true, strict=True)
        ],
        dtype=bool,
    )


def _event(
    seen: pd.Series, prompt_id: pd.Series, resamples: int, seed: int
) -> dict[str, float | int]:
    """The rate of an event per generation and per prompt, over prompts with their generations."""
    of = seen.groupby(prompt_id.to_numpy())
    sums = pd.DataFrame({"seen": of.sum(), "all": of.size(), "once": of.any(), "prompts": 1})
    drawn = resampled_sums(sums.to_numpy(np.float64), resamples=resamples, seed=seed)
    (rate_low, once_low), (rate_high, once_high) = interval(ratio(drawn[:, ::2], drawn[:, 1::2]))
    n, times = len(sums), int(seen.sum())
    if not times:
        rate_high = once_high = float(rule_of_three(n))
    return {
        "prompts": n,
        "generations": len(seen),
        "rate": float(ratio(times, len(seen))),
        "rate_low": float(rate_low),
        "rate_high": float(rate_high),
        "at_least_once": float(ratio(sums["once"].sum(), n)),
        "once_low": float(once_low),
        "once_high": float(once_high),
        "mean_when_seen": sums.loc[sums["once"], "seen"].mean(),
    }


def _present(owner: pd.DataFrame) -> list[str]:
    return [setting for setting in SETTINGS if (owner["setting"] == setting).any()]
