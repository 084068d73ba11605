"""Two models against the same training text.

Source: PropMe 2026, sections 4.3 and 5.3.
"""

from __future__ import annotations

import pandas as pd

from memfoil.errors import InvalidTable
from memfoil.propensity.keys import number
from memfoil.propensity.metric import ALL, NATURAL_LANGUAGE, aligned, kept, rates_of, totals
from memfoil.propensity.settings import PROMPT_FREE, SETTINGS
from memfoil.stats.bootstrap import interval


def model_differences(
    first: tuple[pd.DataFrame, pd.DataFrame],
    second: tuple[pd.DataFrame, pd.DataFrame],
    *,
    resamples: int,
    seed: int,
) -> pd.DataFrame:
    """How much more one model reproduces than another, setting by setting.

    Where both continued the same prompts they are paired: a resample draws the same prompts for
    both. Settings without a prompt are independent.

    Parameters
    ----------
    first, second : (REPRODUCTION, GENERATIONS) frames
        Of the two models, in the same training text.

    Returns
    -------
    MODEL_DIFFERENCES frame
        `difference` is the first's rate minus the second's.

    Raises
    ------
    InvalidTable
        If a generation is missing, or prompted settings do not share a prompt.
    """
    sides = [aligned("reproduction", *side) for side in (first, second)]
    present = [s for s in SETTINGS if all((owner["setting"] == s).any() for _, owner in sides)]
    parts = []
    for setting in present:
        for subset in (ALL, NATURAL_LANGUAGE):
            sums = []
            for rows, owner in sides:
                of = owner["setting"] == setting
                sums.append(totals(rows[of], owner.loc[of, "prompt_id"], kept(rows)[subset][of]))
            name = f"{seed} models {subset} {setting}"
            paired = setting not in PROMPT_FREE
            if paired:
                a, b = rates_of(_shared(sums, setting), resamples, number(name))
            else:
                a, b = (
                    rates_of([s], resamples, number(f"{name} {i}"))[0] for i, s in enumerate(sums)
                )
            low, high = interval(a.resampled - b.resampled)
            parts.append(
                pd.DataFrame(
                    {
                        "setting": setting,
                        "subset": subset,
                        "metric": a.metrics,
                        "paired": paired,
                        "prompts": a.prompts,
                        "first": a.value,
                        "second": b.value,
                        "difference": a.value - b.value,
                        "difference_low": low,
                        "difference_high": high,
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)


def _shared(
    sums: list[tuple[pd.DataFrame, pd.DataFrame]], setting: str
) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    names = sums[0][0].index.intersection(sums[1][0].index).sort_values()
    if names.empty:
        raise InvalidTable(
            f"generations: the two models share no prompt of the setting {setting}; only the same "
            "prompts can be paired"
        )
    return [(tops.loc[names], bottoms.loc[names]) for tops, bottoms in sums]
