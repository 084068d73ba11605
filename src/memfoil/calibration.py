"""Calibration: scores of candidates and controls in; thresholds, rates, claims and validity out.

Frames fit the schemas of `memfoil.tables`. Where a function takes `scores`, `sequences` and
`contamination`, these are as `memfoil.nulls.compare` describes them, and it raises what that does.

Source: Cooper et al. 2026, sections 3, 4 and 6, appendices C, D and F.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memfoil.errors import InvalidConfiguration, InvalidScores
from memfoil.nulls import GROUP_KEY, NULL_KEY, Comparison, Null, compare
from memfoil.stats import budgets, conformal, multiplicity, resplits
from memfoil.stats.proportions import clopper_pearson
from memfoil.tables import CLAIMS, RATES, VALIDITY


def thresholds(
    scores: pd.DataFrame,
    sequences: pd.DataFrame,
    contamination: pd.DataFrame | None,
    *,
    alphas: Sequence[float],
    confidence: float,
) -> pd.DataFrame:
    """Thresholds of every control pool, as drawn and decontaminated.

    An alpha that a pool is too small for has k = 0 and log_tau = +inf: nothing can be claimed.

    Returns
    -------
    THRESHOLDS table
        One row per pool, state, procedure, suffix length and alpha.
    """
    comparison = compare(scores, sequences, contamination)
    rows = [
        _threshold(null, group, comparison.scores_of(group)[null.controls], alpha, confidence)
        for null in comparison.nulls
        for group in comparison.groups
        for alpha in alphas
    ]
    return pd.DataFrame(rows)


def refuse_uncertifiable(thresholds: pd.DataFrame) -> None:
    """Refuse a requested rate that no control pool is large enough to certify.

    Raises
    ------
    InvalidConfiguration
        Naming the rate, the number of controls and the smallest rate they can certify.
    """
    for alpha, rows in thresholds.groupby("alpha"):
        if (rows["k"] == 0).all():
            most = int(rows["n_controls"].max())
            raise InvalidConfiguration(
                f"calibration/alphas: {alpha:g} cannot be certified: {most} controls certify "
                f"nothing below 1/{most + 1} = {conformal.smallest_level(most):.2g}; ask for a "
                "larger rate or draw more controls"
            )


def _threshold(
    null: Null, group: tuple[str, int], controls: NDArray, alpha: float, confidence: float
) -> dict[str, Any]:
    certified = conformal.threshold(controls, alpha)
    k_confident = conformal.confident_k(len(controls), alpha, confidence)
    law = conformal.realized_fpr(certified.k, len(controls))
    return {
        **null.key(group),
        "alpha": alpha,
        "n_controls": len(controls),
        "k": certified.k,
        "alpha_n": certified.alpha_n,
        "log_tau": certified.log_tau,
        "in_sample_fpr": certified.in_sample_fpr,
        "alpha_dagger": conformal.alpha_dagger(controls),
        **{f"alpha_star_{name}": value for name, value in vars(law).items()},
        "confidence": confidence,
        "k_confident": k_confident,
        "log_tau_confident": conformal.threshold_at(controls, k_confident).log_tau,
    }


def rates(
    scores: pd.DataFrame,
    sequences: pd.DataFrame,
    thresholds: pd.DataFrame,
    match: pd.DataFrame | None = None,
    splits: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """How many candidates clear each threshold, and the calibrated rate M = G - alpha_N.

    Parameters
    ----------
    match : MATCH table, optional
        Whose blind AUC stands beside each rate.
    splits : SPLITS table, optional
        Adds the strata `repetitions <n>` to `all` and the pools of candidates.

    Returns
    -------
    RATES table
    """
    return _rates(compare(scores, sequences, None), thresholds, match, splits)


def _rates(
    comparison: Comparison,
    thresholds: pd.DataFrame,
    match: pd.DataFrame | None,
    splits: pd.DataFrame | None,
) -> pd.DataFrame:
    strata = comparison.strata(splits)
    inside = np.stack(list(strata.values())).astype(np.float32)
    parts = []
    grouped: Any = thresholds.groupby(GROUP_KEY, sort=False)
    for group, rows in grouped:
        claimed = comparison.scores_of(group) > rows["log_tau"].to_numpy()[:, None]
        part = rows.loc[rows.index.repeat(len(strata))]
        parts.append(part.assign(n_claims=(claimed.astype(np.float32) @ inside.T).ravel()))
    result = pd.concat(parts, ignore_index=True).astype({"n_claims": np.int64})
    result["stratum"] = list(strata) * len(thresholds)
    result["n_candidates"] = np.tile(inside.sum(axis=1).astype(np.int64), len(thresholds))
    return _with_match(_with_rates(result), match)[RATES.names]


def _with_match(frame: pd.DataFrame, match: pd.DataFrame | None) -> pd.DataFrame:
    """Put the blind AUC of each row's control pool beside it."""
    if match is None:
        return frame.assign(blind_auc=np.nan)
    auc = match[match["quantity"] == "blind AUC"].set_index("control_pool")["candidates"]
    return frame.assign(blind_auc=frame["control_pool"].map(auc))


def _with_rates(counts: pd.DataFrame) -> pd.DataFrame:
    low, high = clopper_pearson(counts["n_claims"], counts["n_candidates"])
    rate = counts["n_claims"] / counts["n_candidates"]
    return counts.assign(
        generation_rate=rate,
        generation_low=low,
        generation_high=high,
        calibrated_rate=rate - counts["alpha_n"],
        calibrated_low=low - counts["alpha_n"],
        calibrated_high=high - counts["alpha_n"],
    )


def operating_points(
    scores: pd.DataFrame,
    sequences: pd.DataFrame,
    contamination: pd.DataFrame | None,
    match: pd.DataFrame | None = None,
    *,
    suffix_tokens: Sequence[int],
    points: int,
) -> pd.DataFrame:
    """Calibrated rate against certified false-positive rate, K on a log grid from 1 to N.

    Where several K share a threshold (ties) only the smallest stands, which certifies most: a
    greedy score has one operating point, at its floor (1 + matching controls) / (N + 1), and
    top-k ends one step above alpha_dagger.

    Returns
    -------
    RATES table
        With alpha = alpha_n = K/(N+1); at most `points` rows per null, procedure, suffix length
        and stratum.
    """
    comparison = compare(scores, sequences, contamination)
    rows = [
        {
            **null.key(group),
            "alpha": point.alpha_n,
            "n_controls": point.n_controls,
            "alpha_n": point.alpha_n,
            "log_tau": point.log_tau,
        }
        for null in comparison.nulls
        for group in comparison.at(suffix_tokens)
        for point in _sweep(comparison.scores_of(group)[null.controls], points)
    ]
    return _rates(comparison, pd.DataFrame(rows), match, None)


def _sweep(controls: NDArray, points: int) -> Iterator[conformal.Threshold]:
    grid = np.unique(np.geomspace(1, len(controls), points).round().astype(int))
    ascending = np.sort(controls)
    tied_from = len(controls) - np.searchsorted(ascending, ascending[-grid], side="right") + 1
    return (conformal.threshold_at(controls, int(k)) for k in np.unique(tied_from))


def claims(
    scores: pd.DataFrame,
    sequences: pd.DataFrame,
    contamination: pd.DataFrame | None,
    thresholds: pd.DataFrame,
    match: pd.DataFrame | None = None,
    *,
    suffix_tokens: Sequence[int],
    queries: float,
    success: float,
    seed: int,
) -> pd.DataFrame:
    """The verdict on every candidate, for chosen suffix lengths.

    A claim is extractable when `queries` samples show the sequence with probability `success`.
    Bonferroni and Benjamini-Hochberg are over all candidates of one null, procedure and length.

    Returns
    -------
    CLAIMS table
    """
    comparison = compare(scores, sequences, contamination)
    wanted = set(comparison.at(suffix_tokens))
    parts = []
    grouped: Any = thresholds.groupby(NULL_KEY, sort=False)
    for (pool, decontaminated, *group), rows in grouped:
        if tuple(group) in wanted:
            null = comparison.null(pool, decontaminated)
            evidence = _evidence(comparison, null, tuple(group), seed)
            evidence["log10_queries"] = budgets.log10_queries(evidence["log_score"], success)
            parts += [_verdicts(evidence, row, queries) for _, row in rows.iterrows()]
    result = _with_match(pd.concat(parts, ignore_index=True), match)
    return result[CLAIMS.names]


def _evidence(
    comparison: Comparison, null: Null, group: tuple[str, int], seed: int
) -> pd.DataFrame:
    log_scores = comparison.scores_of(group)
    names = comparison.sequences.loc[comparison.candidates, "sequence_id"]
    candidates, controls = log_scores[comparison.candidates], log_scores[null.controls]
    items = [f"{group[0]}\0{group[1]}\0{name}" for name in names]
    return pd.DataFrame(
        {
            "sequence_id": names.to_numpy(),
            "log_score": candidates,
            "p_value": conformal.p_values(candidates, controls),
            "p_randomized": conformal.randomized_p_values(candidates, controls, items, seed),
        }
    )


def _verdicts(evidence: pd.DataFrame, row: pd.Series, queries: float) -> pd.DataFrame:
    log_score, p = evidence["log_score"], evidence["p_value"]
    claimed = log_score > row["log_tau"]
    with np.errstate(invalid="ignore"):
        margin = (log_score - row["log_tau"]) / math.log(10)
    return evidence.assign(
        **row[[*NULL_KEY, "alpha"]],
        claimed=claimed,
        claimed_confident=log_score > row["log_tau_confident"],
        margin=margin.where(np.isfinite(margin)),
        extractable=claimed & (evidence["log10_queries"] <= math.log10(queries)),
        bonferroni=multiplicity.bonferroni(p, row["alpha"]),
        benjamini_hochberg=multiplicity.benjamini_hochberg(p, row["alpha"]),
    )


def validity(
    scores: pd.DataFrame,
    sequences: pd.DataFrame,
    contamination: pd.DataFrame | None,
    *,
    suffix_tokens: Sequence[int],
    alphas: Sequence[float],
    n_splits: int,
    seed: int,
) -> pd.DataFrame:
    """Realized false-positive rates over random re-splits of each control pool in halves.

    The pool is decontaminated where `contamination` is given: only known non-members count.

    Returns
    -------
    VALIDITY table
    """
    comparison = compare(scores, sequences, contamination)
    parts = []
    for null in comparison.nulls:
        if null.decontaminated == (contamination is not None):
            halves = resplits.calibration_halves(int(null.controls.sum()), n_splits, seed)
            parts += [
                _resplit(comparison, null, group, halves, alphas)
                for group in comparison.at(suffix_tokens)
            ]
    return pd.concat(parts, ignore_index=True)[VALIDITY.names]


def _resplit(
    comparison: Comparison,
    null: Null,
    group: tuple[str, int],
    halves: NDArray[np.bool_],
    alphas: Sequence[float],
) -> pd.DataFrame:
    controls = comparison.scores_of(group)[null.controls]
    if len(controls) < 2:
        raise InvalidScores(f"pool {null.pool}: one control cannot be split in two")
    result = resplits.resplit(controls, halves, alphas)
    return pd.DataFrame(
        {
            "control_pool": null.pool,
            "procedure": group[0],
            "suffix_tokens": group[1],
            "alpha": np.repeat(alphas, len(halves)),
            "split": np.tile(np.arange(len(halves)), len(alphas)),
            "n_controls": result.n_controls,
            "n_fresh": result.n_fresh,
            "k": np.repeat(result.k, len(halves)),
            "alpha_n": np.repeat(result.alpha_n, len(halves)),
            "realized_fpr": result.realized_fpr.T.ravel(),
        }
    )
