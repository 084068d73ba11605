"""Longest spans as scores: the training text's are the candidates', the foil's the controls'.

What a generation shares with text that was not trained on, it shares because the text is
predictable. So the calibration of every other score judges long matches too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from memfoil.judge import Judgement, judge
from memfoil.propensity.keys import number
from memfoil.propensity.metric import ALL, aligned, kept
from memfoil.propensity.settings import SETTINGS
from memfoil.stats.bootstrap import interval, ratio, resampled_sums, rule_of_three
from memfoil.tables import SPAN_RATES, SPAN_SCORES

IN_TRAINING_TEXT, IN_FOIL = " in the training text", " in the foil"


def span_scores(
    reproduction: pd.DataFrame, foil: pd.DataFrame | None, generations: pd.DataFrame
) -> pd.DataFrame:
    """The longest span of every generation in both texts, as scores to calibrate.

    Parameters
    ----------
    reproduction, foil : REPRODUCTION frames
        Of the same generations. Without a foil there are no controls.

    Returns
    -------
    SPAN_SCORES frame
        Without loops of symbols.
    """
    rows, owner = aligned("reproduction", reproduction, generations)
    texts = [(rows, IN_TRAINING_TEXT, "candidate")]
    if foil is not None:
        texts.append((aligned("foil", foil, generations)[0], IN_FOIL, "control"))
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
        for frame, where, role in texts
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
        Empty where there are no controls.

    Raises
    ------
    InvalidScores
        If a setting has too few generations for a rate.
    """
    scores = SPAN_SCORES.read(path)
    if not (scores["role"] == "control").any():
        return pd.DataFrame(columns=SPAN_RATES.names)
    candidates = scores[scores["role"] == "candidate"].merge(
        generations.assign(sequence_id=generations["generation_id"] + IN_TRAINING_TEXT)
    )
    rows = [
        _row(judgement, alpha, candidates, resamples, seed)
        for alpha in alphas
        for judgement in judge(path, alpha)
    ]
    order = {setting: place for place, setting in enumerate(SETTINGS)}
    rows.sort(key=lambda row: (row["alpha"], order[str(row["setting"])]))
    return pd.DataFrame(rows)[SPAN_RATES.names]


def _row(
    judgement: Judgement, alpha: float, candidates: pd.DataFrame, resamples: int, seed: int
) -> dict[str, Any]:
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
