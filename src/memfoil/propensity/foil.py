"""The foil: text of the same kind and size that was not trained on."""

from __future__ import annotations

import pandas as pd

from memfoil.errors import InvalidConfiguration
from memfoil.testbed.split import smallest_keys

SPARE = ("unused", "post-cutoff")


def foil_splits(
    splits: pd.DataFrame, passages: pd.DataFrame, *, first: str, cutoff: str, seed: int
) -> pd.DataFrame:
    """The training text as it could have been: other passages, as many and as often repeated.

    Of the passages that nothing else uses, those with the smallest keys from the same side of
    the cutoff. So training text and foil are two random draws from the same passages.

    Parameters
    ----------
    splits : SPLITS frame
        Of the training text.
    passages : PASSAGES frame
    first, cutoff : days
        Between which the testbed's text lies, the second exclusive; what is leaked is later.

    Returns
    -------
    SPLITS frame
        Of the foil; what it leaves out is `unused`.

    Raises
    ------
    InvalidConfiguration
        If too few passages are left.
    """
    spare = splits.loc[splits["split"].isin(SPARE), "passage_id"]
    free = passages[passages["passage_id"].isin(spare)]
    later = free["date"] >= pd.Timestamp(cutoff)
    earlier = ~later & (free["date"] >= pd.Timestamp(first))
    sides = {True: set(free.loc[later, "passage_id"]), False: set(free.loc[earlier, "passage_id"])}
    assigned: dict[str, tuple[str, int]] = {}
    read = splits[splits["repetitions"] > 0]
    groups = read.groupby(["split", "repetitions"]).size().reset_index(name="count")
    for name, times, count in groups.itertuples(index=False, name=None):
        left = sides[name.startswith("leaked")] - assigned.keys()
        if count > len(left):
            raise InvalidConfiguration(
                f"propensity/foil: {count} passages like those of the split {name} are needed "
                f"and {len(left)} are left over; train on fewer, or name a foil of your own"
            )
        chosen = smallest_keys(left, count, f"{seed} foil {name} {times}")
        assigned |= dict.fromkeys(chosen, (name, times))
    rows = [(name, *assigned.get(name, ("unused", 0))) for name in passages["passage_id"]]
    return pd.DataFrame(rows, columns=["passage_id", "split", "repetitions"])
