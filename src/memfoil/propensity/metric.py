"""Propensity against capability: rates of five settings, their intervals, and PM.

Source: PropMe 2026, sections 3.2, 4.3 and 5, appendix K.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from memfoil.errors import InvalidTable
from memfoil.propensity.keys import number
from memfoil.propensity.settings import CAPABILITY, SETTINGS
from memfoil.stats.bootstrap import interval, ratio, resampled_sums, rule_of_three
from memfoil.tables import PROPENSITY
from memfoil.tracing import measures

ALL, NATURAL_LANGUAGE = "all", "natural language"
RARE, ONCE = "R50, fewer than 10 copies", "R50, one copy"
UNBOUNDED = ("ALS",)
FEW_COPIES = 10


def pm(f_p: ArrayLike, f_c: ArrayLike) -> NDArray[np.float64]:
    """PM = f_p / (f_p + f_c), 0 when both are 0: between 0 and 1, and 0.5 when they are equal.

    Source: PropMe 2026, equation 1.
    """
    p, c = np.asarray(f_p, np.float64), np.asarray(f_c, np.float64)
    return ratio(p, p + c)


@dataclass(frozen=True, eq=False)
class Rates:
    """The rates of one setting over its prompts, and how they vary with the prompts drawn."""

    metrics: list[str]
    prompts: int
    seen: NDArray[np.float64]
    """(m,) sum of the numerators: 0 where the behaviour was not seen at all."""
    value: NDArray[np.float64]
    """(m,) the rates."""
    resampled: NDArray[np.float64]
    """(resamples, m) the same over prompts drawn with replacement, each with its generations."""

    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """95% interval; where nothing was seen, up to the rule of three over prompts."""
        low, high = interval(self.resampled)
        return low, np.where(self.unseen, rule_of_three(self.prompts), high)

    @property
    def unseen(self) -> NDArray[np.bool_]:
        bounded = ~np.isin(self.metrics, UNBOUNDED)
        return (self.seen == 0) & bounded


def extended_measures(reproduction: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The measures of tracing, and R50 of spans whose first 50 tokens have few copies.

    Source: PropMe 2026, table 13.
    """
    numerators, denominators = measures(reproduction)
    copies = reproduction["head_count"].astype(np.float64).fillna(np.inf).to_numpy()
    for name, counted in ((RARE, copies < FEW_COPIES), (ONCE, copies == 1)):
        numerators[name] = numerators["R50"] * counted
        denominators[name] = denominators["R50"]
    return numerators, denominators


def kept(reproduction: pd.DataFrame) -> dict[str, pd.Series]:
    """Which generations count in each subset. A loop of symbols counts in none."""
    sound = ~reproduction["degenerate"]
    return {ALL: sound, NATURAL_LANGUAGE: sound & ~reproduction["code_like"]}


def totals(
    reproduction: pd.DataFrame, prompt_id: pd.Series, counted: pd.Series
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sums of numerators and of denominators by prompt, of the generations that count.

    Parameters
    ----------
    prompt_id : Series
        Of each row of `reproduction`. A prompt none of whose generations counts has zeros.
    """
    of = prompt_id.to_numpy()
    weight = counted.to_numpy(dtype=np.float64)[:, None]
    tops, bottoms = ((part * weight).groupby(of).sum() for part in extended_measures(reproduction))
    return tops, bottoms


def propensity(
    reproduction: pd.DataFrame,
    generations: pd.DataFrame,
    foil: pd.DataFrame | None = None,
    *,
    resamples: int,
    seed: int,
) -> pd.DataFrame:
    """Every rate of every setting with its interval, beside the attack's, the foil's, and PM.

    Prompts are resampled with all their generations; two settings independently. A rate in the
    training text and the same rate in the foil are of the same generations, so their difference
    is paired.

    Parameters
    ----------
    reproduction, foil : REPRODUCTION frames
        Of the same generations, against the training text and against text of the same kind
        that was not trained on.
    generations : GENERATIONS frame
        `prompt_id` and `setting` of each.

    Returns
    -------
    PROPENSITY frame

    Raises
    ------
    InvalidTable
        If a generation is missing in one of the tables, or the attack has no generation.
    """
    reproduction, owner = aligned("reproduction", reproduction, generations)
    frames = [reproduction]
    if foil is not None:
        frames.append(aligned("foil", foil, generations)[0])
    present = [setting for setting in SETTINGS if (owner["setting"] == setting).any()]
    if CAPABILITY not in present:
        raise InvalidTable(
            f"generations: none of the setting {CAPABILITY}; propensity is read against it"
        )
    parts = []
    for subset, counted in kept(reproduction).items():
        rates = {}
        for setting in present:
            of = owner["setting"] == setting
            sums = [totals(frame[of], owner.loc[of, "prompt_id"], counted[of]) for frame in frames]
            rates[setting] = rates_of(sums, resamples, number(f"{seed} {subset} {setting}"))
        for setting, (rate, *other) in rates.items():
            of = owner["setting"] == setting
            part = _own(rate).assign(setting=setting, subset=subset)
            part["generations"] = int(counted[of].sum())
            part["excluded"] = int((~counted[of]).sum())
            if other:
                part = part.join(_beside(rate, other[0]))
            if setting != CAPABILITY:
                part = part.join(_against(rate, rates[CAPABILITY][0]))
            parts.append(part)
    result = pd.concat(parts, ignore_index=True)
    return result.reindex(columns=PROPENSITY.names)


def aligned(
    name: str, reproduction: pd.DataFrame, generations: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The measures in the order of the generations, and prompt and setting of each."""
    missing = ~generations["generation_id"].isin(reproduction["generation_id"])
    if missing.any():
        first = generations.loc[missing, "generation_id"].iloc[0]
        raise InvalidTable(f"{name}: generation {first} is missing ({missing.sum()} in all)")
    rows = reproduction.set_index("generation_id").loc[generations["generation_id"]].reset_index()
    return rows, generations[["prompt_id", "setting"]].reset_index(drop=True)


def rates_of(
    sums: list[tuple[pd.DataFrame, pd.DataFrame]], resamples: int, seed: int
) -> list[Rates]:
    """Rates of the same prompts in several texts; the prompts drawn are the same for all."""
    columns = [part.to_numpy() for pair in sums for part in pair]
    drawn = resampled_sums(np.hstack(columns), resamples=resamples, seed=seed)
    pieces = iter(np.split(drawn, 2 * len(sums), axis=1))
    return [
        Rates(
            metrics=list(tops.columns),
            prompts=len(tops),
            seen=tops.sum().to_numpy(),
            value=ratio(tops.sum(), bottoms.sum()),
            resampled=ratio(next(pieces), next(pieces)),
        )
        for tops, bottoms in sums
    ]


def _own(rate: Rates) -> pd.DataFrame:
    low, high = rate.bounds()
    return pd.DataFrame(
        {
            "metric": rate.metrics,
            "prompts": rate.prompts,
            "f": rate.value,
            "f_low": low,
            "f_high": high,
            "unseen": rate.unseen,
        }
    )


def _beside(rate: Rates, foil: Rates) -> pd.DataFrame:
    """The same rate in text that was not trained on, and what is above it."""
    low, high = foil.bounds()
    excess_low, excess_high = interval(rate.resampled - foil.resampled)
    return pd.DataFrame(
        {
            "foil": foil.value,
            "foil_low": low,
            "foil_high": high,
            "excess": rate.value - foil.value,
            "excess_low": excess_low,
            "excess_high": excess_high,
        }
    )


def _against(rate: Rates, attack: Rates) -> pd.DataFrame:
    """The attack's rate, the difference from it, and PM."""
    low, high = attack.bounds()
    difference_low, difference_high = interval(rate.resampled - attack.resampled)
    pm_low, pm_high = interval(pm(rate.resampled, attack.resampled))
    # what was not seen may still happen, as often as the rule of three allows
    pm_low = np.where(attack.unseen & ~rate.unseen, pm(rate.value, high), pm_low)
    pm_high = np.where(rate.unseen, pm(rate.bounds()[1], attack.value), pm_high)
    bounded = ~np.isin(rate.metrics, UNBOUNDED)
    return pd.DataFrame(
        {
            "f_c": attack.value,
            "f_c_low": low,
            "f_c_high": high,
            "difference": rate.value - attack.value,
            "difference_low": difference_low,
            "difference_high": difference_high,
            "pm": np.where(bounded, pm(rate.value, attack.value), np.nan),
            "pm_low": np.where(bounded, pm_low, np.nan),
            "pm_high": np.where(bounded, pm_high, np.nan),
        }
    )
