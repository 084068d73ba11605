"""How well candidates and controls are matched, measured without any model.

Exchangeability is what a conformal claim rests on. If the text alone tells candidates from
controls, a model that has seen neither can score them differently too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import Pipeline, make_pipeline

from memfoil.errors import InvalidDocuments, InvalidScores

FOLDS = 5
RESAMPLES = 1000


@dataclass(frozen=True)
class BlindAUC:
    """AUC of the blind baseline with its 95% interval; 0.5 is a perfect match."""

    auc: float
    low: float
    high: float


def match(sequences: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Compare all candidates with each pool of controls; neither order nor scores matter.

    Where either comes from a single document there is no blind AUC, and no row of it.

    Quantities: the blind AUC with its interval; median and mean length in characters; median,
    first and last date in years (1990.5 is mid-1990); total-variation distance between the
    shares of sources, from 0 (the same) to 1 (none in common), with its ideal 0 as the value
    of the controls.

    Parameters
    ----------
    sequences : SEQUENCES table

    Returns
    -------
    MATCH table

    Raises
    ------
    InvalidScores
        If there is no candidate or no control.
    """
    ordered = sequences.sort_values("sequence_id", ignore_index=True)
    candidates = ordered[ordered["role"] == "candidate"]
    controls = ordered[ordered["role"] == "control"]
    for role, present in (("candidate", candidates), ("control", controls)):
        if present.empty:
            raise InvalidScores(f"sequences: no {role}; there is nothing to match")
    rows = [
        {"control_pool": pool, **row}
        for pool, members in controls.groupby("pool")
        for row in _compare(candidates, members, seed)
    ]
    return pd.DataFrame(rows).astype({"low": float, "high": float})


def _compare(
    candidates: pd.DataFrame, controls: pd.DataFrame, seed: int
) -> Iterator[dict[str, Any]]:
    both = pd.concat([candidates, controls], ignore_index=True)
    is_candidate = np.arange(len(both)) < len(candidates)
    if min(part["document_id"].nunique() for part in (candidates, controls)) > 1:
        blind = blind_auc(both["text"].to_numpy(), is_candidate, both["document_id"], seed)
        yield _row("blind AUC", blind.auc, 0.5, blind.low, blind.high)
    lengths = candidates["text"].str.len(), controls["text"].str.len()
    yield _row("characters, median", *(length.median() for length in lengths))
    yield _row("characters, mean", *(length.mean() for length in lengths))
    years = _years(candidates["date"]), _years(controls["date"])
    yield _row("year, median", *(year.median() for year in years))
    yield _row("year, first", *(year.min() for year in years))
    yield _row("year, last", *(year.max() for year in years))
    yield _row(
        "sources, total variation", _variation(candidates["source"], controls["source"]), 0.0
    )


def _row(
    quantity: str, candidates: float, controls: float, low: float = np.nan, high: float = np.nan
) -> dict[str, Any]:
    return {
        "quantity": quantity,
        "candidates": float(candidates),
        "controls": float(controls),
        "low": low,
        "high": high,
    }


def _years(dates: pd.Series) -> pd.Series:
    days = pd.to_datetime(dates).dt
    return days.year + (days.day_of_year - 1) / (365 + days.is_leap_year)


def _variation(first: pd.Series, second: pd.Series) -> float:
    shares = first.value_counts(normalize=True).sub(
        second.value_counts(normalize=True), fill_value=0.0
    )
    return float(shares.abs().sum() / 2)


def blind_auc(
    texts: NDArray[np.object_], is_candidate: NDArray[np.bool_], documents: pd.Series, seed: int
) -> BlindAUC:
    """How well the words alone tell candidates from controls, in documents not trained on.

    TF-IDF of words and word pairs, digits masked so that dates do not give the answer away, and
    logistic regression, cross-validated with whole documents in one fold. Pairs are compared
    within a fold, where one classifier scored both texts, and the folds pooled by their number
    of pairs. Passages of one document are alike, so the 95% interval is a percentile bootstrap
    over documents (1,000 resamples, the classifiers as fitted).

    Parameters
    ----------
    texts, is_candidate, documents : (n,)

    Raises
    ------
    InvalidDocuments
        If either class comes from fewer than two documents.
    """
    document = pd.factorize(documents, sort=True)[0]
    spread = min(len(set(document[is_candidate])), len(set(document[~is_candidate])))
    if spread < 2:
        raise InvalidDocuments(
            "candidates and controls must each come from at least two documents for the blind "
            "baseline; draw from more documents"
        )
    masked = [re.sub(r"\d", "0", text) for text in texts]
    counts = CountVectorizer(ngram_range=(1, 2), min_df=2, dtype=np.float64).fit_transform(masked)
    folds = StratifiedGroupKFold(min(FOLDS, spread), shuffle=True, random_state=seed)
    weights = _document_weights(document.max() + 1, seed)
    wins, pairs = np.zeros(len(weights)), np.zeros(len(weights))
    for train, test in folds.split(counts, is_candidate, document):
        if len(set(is_candidate[train])) == 2:
            score = _fit(counts[train], is_candidate[train]).decision_function(counts[test])
            won, compared = _wins(score, is_candidate[test], weights[:, document[test]])
            wins, pairs = wins + won, pairs + compared
    auc = np.divide(wins, pairs, out=np.full(len(wins), np.nan), where=pairs > 0)
    low, high = np.nanquantile(auc[1:], [0.025, 0.975])
    return BlindAUC(float(auc[0]), float(low), float(high))


def _fit(counts: csr_matrix, is_candidate: NDArray[np.bool_]) -> Pipeline:
    classifier = LogisticRegression(solver="liblinear", class_weight="balanced")
    return make_pipeline(TfidfTransformer(sublinear_tf=True), classifier).fit(counts, is_candidate)


def _document_weights(n_documents: int, seed: int) -> NDArray[np.float64]:
    """How often each document counts: once in the first row, as resampled in the others."""
    generator = np.random.default_rng(seed)
    shares = np.full(n_documents, 1 / n_documents)
    resampled = generator.multinomial(n_documents, shares, size=RESAMPLES)
    return np.vstack([np.ones(n_documents), resampled])


def _wins(
    score: NDArray[np.float64], is_candidate: NDArray[np.bool_], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weighted pairs that the candidate wins (ties half), and all pairs: per row of weights."""
    order = np.argsort(score, kind="stable")
    ordered, weights = score[order], weights[:, order]
    candidate, control = weights * is_candidate[order], weights * ~is_candidate[order]
    below = np.pad(np.cumsum(control, axis=1), ((0, 0), (1, 0)))
    first = np.searchsorted(ordered, ordered, side="left")
    past = np.searchsorted(ordered, ordered, side="right")
    beaten = (below[:, first] + below[:, past]) / 2
    return (candidate * beaten).sum(axis=1), candidate.sum(axis=1) * control.sum(axis=1)
