"""Rates, intervals, PM and what stands behind them, from what each generation reproduces."""

from __future__ import annotations

import pandas as pd

from memfoil.audit.jobs import Job, Made
from memfoil.propensity import details
from memfoil.propensity.metric import propensity
from memfoil.propensity.models import model_differences
from memfoil.propensity.spans import span_rates, span_scores
from memfoil.tables import GENERATIONS, PROMPTS, REPRODUCTION


def tables(job: Job) -> Made:
    """PROPENSITY, PROMPTED, PROMPT_TEXTS, SPAN_COPIES, SPAN_LENGTHS, SPAN_SCORES, SPAN_RATES."""
    prompts = job.read(PROMPTS, "prompts/*.parquet")
    generations = job.read(GENERATIONS, "generations.parquet")
    training = job.read(REPRODUCTION, "training/reproduction.parquet")
    foil = job.read_any(REPRODUCTION, "foil/reproduction.parquet")
    asked = job.parameters
    drawn = {"resamples": asked["resamples"], "seed": asked["seed"]}
    yield job.output("propensity.parquet"), propensity(training, generations, foil, **drawn)
    prompted = details.prompted(training, generations, prompts, **drawn)
    yield job.output("prompted.parquet"), prompted
    yield job.output("prompt_texts.parquet"), details.prompt_texts(prompts, **drawn)
    yield job.output("span_copies.parquet"), details.copies(training, generations)
    lengths = [
        details.span_lengths(frame, generations).assign(text=text)
        for text, frame in (("training", training), ("foil", foil))
        if frame is not None
    ]
    yield job.output("span_lengths.parquet"), pd.concat(lengths)
    scores = job.output("span_scores.parquet")
    yield scores, span_scores(training, foil, generations)
    judged = span_rates(job.root / scores, generations, asked["alphas"], **drawn)
    yield job.output("span_rates.parquet"), judged


def models(job: Job) -> Made:
    """MODEL_DIFFERENCES of two models."""
    output = job.output("minus/*.parquet")
    *_, first, _, second = output.removesuffix(".parquet").split("/")
    sides = [
        (
            job.read(REPRODUCTION, f"{model}/training/reproduction.parquet"),
            job.read(GENERATIONS, f"{model}/generations.parquet"),
        )
        for model in (first, second)
    ]
    asked = job.parameters
    differences = model_differences(*sides, resamples=asked["resamples"], seed=asked["seed"])
    yield output, differences
