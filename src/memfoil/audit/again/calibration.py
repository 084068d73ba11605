"""Scores from token scores; thresholds, rates, claims, validity and differences from scores."""

from __future__ import annotations

import pandas as pd

from memfoil import calibration, scoring
from memfoil import paired as models
from memfoil.audit.jobs import Job, Made
from memfoil.tables import (
    CLAIMS,
    CONTAMINATION,
    MATCH,
    SCORES,
    SEQUENCES,
    SPLITS,
    TOKEN_SCORES,
)


def scores(job: Job) -> Made:
    """SCORES of one model."""
    yield (
        job.output("scores/*.parquet"),
        scoring.derive(
            job.read(TOKEN_SCORES, "token_scores/*.parquet"),
            procedures=job.parameters["procedures"],
            suffix_lengths=range(1, job.parameters["suffix_tokens"] + 1),
        ),
    )


def _drawn(job: Job) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    return (
        job.read(SCORES, "scores/*.parquet"),
        job.read(SEQUENCES, "sequences/*.parquet"),
        job.read(CONTAMINATION, "contamination/*.parquet"),
    )


def calibrate(job: Job) -> Made:
    """THRESHOLDS, RATES, operating points and CLAIMS of one model."""
    asked, drawn = job.parameters, _drawn(job)
    match = job.read(MATCH, "match/*.parquet")
    splits = job.read_any(SPLITS, "testbed/splits.parquet")
    lengths = asked["suffix_tokens"]
    thresholds = calibration.thresholds(
        *drawn, alphas=asked["alphas"], confidence=asked["confidence"]
    )
    yield job.output("thresholds.parquet"), thresholds
    rates = calibration.rates(drawn[0], drawn[1], thresholds, match, splits)
    yield job.output("rates.parquet"), rates
    points = calibration.operating_points(
        *drawn, match, suffix_tokens=lengths, points=asked["operating_points"]
    )
    yield job.output("operating_points.parquet"), points
    claims = calibration.claims(
        *drawn,
        thresholds,
        match,
        suffix_tokens=lengths,
        queries=asked["query_budget"],
        success=asked["success"],
        seed=asked["seed"],
    )
    yield job.output("claims.parquet"), claims


def validity(job: Job) -> Made:
    """VALIDITY of one model."""
    asked = job.parameters
    frame = calibration.validity(
        *_drawn(job),
        suffix_tokens=asked["suffix_tokens"],
        alphas=asked["alphas"],
        n_splits=asked["splits"],
        seed=asked["seed"],
    )
    yield job.output("validity.parquet"), frame


def paired(job: Job) -> Made:
    """PAIRED of the models that share a tokenizer."""
    claims = {name: job.read(CLAIMS, f"{name}/claims.parquet") for name in job.parameters["models"]}
    yield job.output("paired/*.parquet"), models.differences(claims)
