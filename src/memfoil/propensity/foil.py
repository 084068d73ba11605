"""The foil: text of the same kind and size that was not trained on.

What a generation shares with it, it shares because the text is predictable. So the longest span
in the foil is the control score of a generation, the longest span in the training text its
candidate score, and the calibration of every other score judges them.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from memfoil.errors import InvalidConfiguration
from memfoil.judge import Judgement, judge
from memfoil.propensity.keys import number
from memfoil.propensity.metric import ALL, aligned, kept
from memfoil.stats.bootstrap import interval, ratio, resampled_sums, rule_of_three
from memfoil.tables import SPAN_RATES, SPAN_SCORES
from memfoil.testbed import split

SPARE = ("unused", "post-cutoff")
IN_TRAINING_TEXT, IN_FOIL = " in the training text", " in the foil"


def foil_splits(
    splits: pd.DataFrame,
    passages: pd.DataFrame,
    *,
    cutoff: datetime.date | str,
    first: datetime.date | str,
    seed: int,
) -> pd.DataFrame:
    """The training text as it could have been: other passages, drawn and repeated by its rule.

    Of the passages that nothing else uses, as many from the same years are read once, planted
    and leaked as in the training text. Training text and foil are then two random draws from the
    same passages, of one size and with the same repetitions.

    Parameters
    ----------
    splits : SPLITS frame
        Of the training text.
    passages : PASSAGES frame

    Returns
    -------
    SPLITS frame
        Of the foil; what is in neither is `unused`.

    Raises
    ------
    InvalidConfiguration
        If too few passages are left.
    """
    spare = splits.loc[splits["split"].isin(SPARE), "passage_id"]
    left = passages[passages["passage_id"].isin(spare)]
    planted = splits[splits["split"] == "planted"].groupby("repetitions").size()
    leaked = splits[splits["split"].str.startswith("leaked")]
    try:
        drawn = split(
            left,
            cutoff=cutoff,
            first=first,
            held_out=0,
            planted_per_level=int(planted.iloc[0]) if len(planted) else 0,
            repetitions=[int(level) for level in planted.index],
            training_passages=int((splits["split"] == "training").sum()),
            leaked=len(leaked),
            leaked_repetitions=int(leaked["repetitions"].max()) if len(leaked) else 1,
            seed=seed,
        )
    except InvalidConfiguration as error:
        raise InvalidConfiguration(
            f"propensity/foil: the passages left over do not make a second text: {error}"
        ) from None
    return drawn


def span_scores(
    reproduction: pd.DataFrame, foil: pd.DataFrame, generations: pd.DataFrame
) -> pd.DataFrame:
    """The longest span of every generation in both texts, as scores to calibrate.

    Parameters
    ----------
    reproduction, foil : REPRODUCTION frames
        Of the same generations.

    Returns
    -------
    SPAN_SCORES frame
        Without loops of symbols.
    """
    rows, owner = aligned("reproduction", reproduction, generations)
    other, _ = aligned("foil", foil, generations)
    counted = kept(rows)[ALL]
    parts = [
        pd.DataFrame(
            {
                "sequence_id": frame.loc[counted, "generation_id"] + where,
                "procedure": owner.loc[counted, "setting"],
                "role": role,
                "score": frame.loc[counted, "longest_unlooped"],
            }
        )
        for frame, where, role in (
            (rows, IN_TRAINING_TEXT, "candidate"),
            (other, IN_FOIL, "control"),
        )
    ]
    return pd.concat(parts, ignore_index=True)


def span_rates(
    path: str | Path,
    generations: pd.DataFrame,
    alphas: Sequence[float],
    *,
    resamples: int,
    seed: int,
) -> pd.DataFrame:
    """Judge a file of span scores as `memfoil calibrate` does.

    Generations of one prompt are alike, so the interval of the rate is a bootstrap over prompts
    with all their generations, the threshold held fixed, where that of independent candidates
    would be too narrow.

    Parameters
    ----------
    path : path
        A SPAN_SCORES table.
    generations : GENERATIONS frame
        Whose prompts are resampled.

    Returns
    -------
    SPAN_RATES frame

    Raises
    ------
    InvalidScores
        If a setting has too few generations for a rate.
    """
    scores = SPAN_SCORES.read(path)
    candidates = scores[scores["role"] == "candidate"].merge(
        generations.assign(sequence_id=generations["generation_id"] + IN_TRAINING_TEXT)
    )
    rows = [
        _row(judgement, alpha, candidates, resamples, seed)
        for alpha in alphas
        for judgement in judge(path, alpha)
    ]
    return pd.DataFrame(rows)[[column.name for column in SPAN_RATES.columns]]


def _row(
    judgement: Judgement, alpha: float, candidates: pd.DataFrame, resamples: int, seed: int
) -> dict[str, object]:
    threshold, setting = judgement.threshold, judgement.group["procedure"]
    of = candidates[candidates["setting"] == setting]
    claimed = of["score"].gt(threshold.log_tau).groupby(of["prompt_id"])
    sums = np.column_stack([claimed.sum(), claimed.size()])
    name = f"{seed} spans {setting} {alpha}"
    drawn = resampled_sums(sums, resamples=resamples, seed=number(name))
    low, high = (float(end) for end in interval(ratio(drawn[:, 0], drawn[:, 1])))
    if not judgement.n_claims:
        high = float(rule_of_three(len(sums)))
    return {
        "setting": setting,
        "alpha": alpha,
        "n_controls": threshold.n_controls,
        "k": threshold.k,
        "alpha_n": threshold.alpha_n,
        "tau": threshold.log_tau,
        "in_sample_fpr": threshold.in_sample_fpr,
        "alpha_dagger": judgement.alpha_dagger,
        "n_candidates": judgement.n_candidates,
        "n_claims": judgement.n_claims,
        "generation_rate": judgement.generation_rate,
        "generation_low": low,
        "generation_high": high,
        "calibrated_rate": judgement.calibrated_rate,
        "calibrated_low": low - threshold.alpha_n,
        "calibrated_high": high - threshold.alpha_n,
    }
