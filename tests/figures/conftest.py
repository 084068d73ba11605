"""Tables of a small imitated run: planted passages, two control pools, known contamination."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

from memfoil import calibration, figures, tables

LENGTHS = (1, 2, 5, 10, 20, 50)
JUDGED = (10, 50)
ALPHAS = (0.001, 0.01, 0.1)
LEVELS = (0.0005, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
BUDGET, SUCCESS = 100_000, 0.95
# Per number of repetitions: share of a passage's difficulty that is left, and of its tokens
# that are the arg max. Close to what a 2.2 M Llama shows after a minute of training.
LEARNED = {
    0: (1.0, 0.19), 1: (0.99, 0.19), 2: (0.97, 0.2), 4: (0.85, 0.25), 8: (0.62, 0.4),
    16: (0.33, 0.72), 32: (0.07, 0.985), 64: (0.012, 0.9995),
}  # fmt: skip


@dataclass
class Run:
    """The tables of one run, by name."""

    scores: pd.DataFrame
    sequences: pd.DataFrame
    splits: pd.DataFrame
    contamination: pd.DataFrame
    thresholds: pd.DataFrame
    rates: pd.DataFrame
    operating_points: pd.DataFrame
    claims: pd.DataFrame
    validity: pd.DataFrame
    match: pd.DataFrame


def fits(frame: pd.DataFrame, table: tables.Table) -> pd.DataFrame:
    """The frame as a stage would read it."""
    arrow = table.validate(pa.Table.from_pandas(frame, preserve_index=False), table.name)
    return arrow.to_pandas(date_as_object=False)


def members(small: bool) -> pd.DataFrame:
    """Who is in the run: pool, role, repetitions, and the drift of the pool's difficulty."""
    size = 60 if small else 1050
    parts = [("planted", "candidate", n, 1.0, 12) for n in (2, 4, 8, 16, 32, 64)]
    parts += [
        ("seen once", "candidate", 1, 1.0, size),
        ("held-out", "control", 0, 1.0, size),
        ("post-cutoff", "control", 0, 1.07, int(0.8 * size)),
    ]
    rows = [
        (pool, role, repetitions, drift)
        for pool, role, repetitions, drift, count in parts
        for _ in range(count)
    ]
    frame = pd.DataFrame(rows, columns=["pool", "role", "repetitions", "drift"])
    frame["sequence_id"] = [f"d{i // 40}:{i * 500}-{i * 500 + 500}" for i in range(len(frame))]
    # A few controls turn out to be in the training text, several times.
    frame["member"] = False
    for pool, count in (("held-out", 2), ("post-cutoff", 5)):
        chosen = frame.index[frame["pool"] == pool][3 : 3 + count]
        frame.loc[chosen, "repetitions"] = 16
        frame.loc[chosen, "member"] = True
    return frame


def token_scores(who: pd.DataFrame, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log-probability, arg max, and membership in the top 40, each (sequences, 50)."""
    rng = np.random.default_rng(seed)
    left, sure = (np.array([LEARNED[n][i] for n in who["repetitions"]]) for i in (0, 1))
    temper = np.exp(0.16 * rng.standard_normal(len(who))) * who["drift"].to_numpy() * left
    shape = (len(who), max(LENGTHS))
    best = rng.random(shape) < sure[:, None]
    hard = rng.gamma(1.6, 3.4, shape) * temper[:, None]
    log_p = -np.where(best, 0.35 * rng.random(shape) * temper[:, None], hard)
    inside = best | (rng.random(shape) < np.exp(-hard / 9))
    return log_p, best, inside


def log_scores(who: pd.DataFrame, seed: int) -> pd.DataFrame:
    log_p, best, inside = token_scores(who, seed)
    frames = []
    for length in LENGTHS:
        total = log_p[:, :length].sum(axis=1)
        possible = inside[:, :length].all(axis=1)
        values = {
            "greedy": np.where(best[:, :length].all(axis=1), 0.0, -np.inf),
            "base": total,
            "top-40": np.where(possible, np.minimum(total + 0.15 * length, -1e-9), -np.inf),
        }
        frames += [
            pd.DataFrame(
                {
                    "sequence_id": who["sequence_id"], "procedure": procedure,
                    "suffix_tokens": length, "log_score": score,
                }
            )
            for procedure, score in values.items()
        ]  # fmt: skip
    return fits(pd.concat(frames, ignore_index=True), tables.SCORES)


def sequences_of(who: pd.DataFrame) -> pd.DataFrame:
    count = len(who)
    frame = pd.DataFrame(
        {
            "sequence_id": who["sequence_id"],
            "document_id": [f"d{i // 40}" for i in range(count)],
            "pool": who["pool"],
            "role": who["role"],
            "date": pd.Timestamp("1950-01-03"),
            "source": "imitation",
            "token_ids": [np.arange(100, dtype=np.int32)] * count,
            "prefix_tokens": 50,
            "text": "the state of the union",
        }
    )
    return fits(frame, tables.SEQUENCES)


def contamination_of(who: pd.DataFrame) -> pd.DataFrame:
    controls = who[who["role"] == "control"]
    frame = pd.DataFrame(
        {
            "sequence_id": controls["sequence_id"],
            "verdict": np.where(controls["member"], "exact", "none found"),
            "control_text": "the state of the union",
            "ngram_share": np.where(controls["member"], 1.0, 0.1),
            "skipped_pieces": 0,
            "member": controls["member"],
        }
    )
    return fits(frame, tables.CONTAMINATION)


def splits_of(who: pd.DataFrame) -> pd.DataFrame:
    names = who[["sequence_id", "repetitions"]].rename(columns={"sequence_id": "passage_id"})
    return fits(names.assign(split=who["pool"]), tables.SPLITS)


MATCH = pd.DataFrame(
    [
        ("held-out", "blind AUC", 0.507, 0.5, 0.481, 0.533),
        ("held-out", "mean words", 78.2, 78.0, np.nan, np.nan),
        ("post-cutoff", "blind AUC", 0.861, 0.5, 0.842, 0.879),
        ("post-cutoff", "mean words", 78.2, 77.1, np.nan, np.nan),
    ],
    columns=["control_pool", "quantity", "candidates", "controls", "low", "high"],
)


def imitate(small: bool = False, seed: int = 0, splits: int = 300) -> Run:
    """A whole run; `small` has fewer controls than the smallest rate asks for."""
    who = members(small)
    scores, sequences, contamination = (
        log_scores(who, seed),
        sequences_of(who),
        contamination_of(who),
    )
    match, known = fits(MATCH, tables.MATCH), splits_of(who)
    inputs = (scores, sequences, contamination)
    thresholds = calibration.thresholds(*inputs, alphas=ALPHAS, confidence=0.9)
    rates = calibration.rates(scores, sequences, thresholds, match, known)
    points = calibration.operating_points(*inputs, match, suffix_tokens=JUDGED, points=25)
    claims = calibration.claims(
        *inputs, thresholds, match, suffix_tokens=JUDGED, queries=BUDGET, success=SUCCESS, seed=1
    )
    validity = calibration.validity(
        *inputs, suffix_tokens=(50,), alphas=LEVELS, n_splits=splits, seed=1
    )
    return Run(
        scores=scores,
        sequences=sequences,
        splits=known,
        contamination=contamination,
        thresholds=fits(thresholds, tables.THRESHOLDS),
        rates=fits(rates, tables.RATES),
        operating_points=fits(points, tables.RATES),
        claims=fits(claims, tables.CLAIMS),
        validity=fits(validity, tables.VALIDITY),
        match=match,
    )


@pytest.fixture(scope="session")
def run() -> Run:
    """The imitated run; read only."""
    return imitate()


@pytest.fixture(scope="session")
def small_run() -> Run:
    """The same with 60 controls, too few for 0.1% or 1%; read only."""
    return imitate(small=True, splits=20)


OF_PROMPT_SEARCH = {"parrot_scores", "prompt_criteria", "prompt_searches"}


def drawings(run: Run, procedure: str = "base") -> dict[str, Callable[[], Figure]]:
    """How to draw each figure of a run, by name."""
    of_scores = (run.scores, run.sequences)
    null = {"procedure": procedure, "suffix_tokens": JUDGED}
    clean = {"decontaminated": True}
    pools = {"contamination": run.contamination}
    draw = {
        "greedy_rates": partial(figures.greedy_rates, *of_scores, **pools),
        "tail_distribution": partial(
            figures.tail_distribution, *of_scores, run.thresholds, **null, **pools, alpha=0.01
        ),
        "operating_points": partial(
            figures.operating_points, run.operating_points, **null, **clean
        ),
        "suffix_sweep": partial(
            figures.suffix_sweep, run.rates, procedure=procedure, alphas=ALPHAS, **clean
        ),
        "repetitions": partial(
            figures.repetitions, run.rates, suffix_tokens=JUDGED, alpha=0.01, **clean
        ),
        "control_pools": partial(
            figures.control_pools, *of_scores, run.thresholds, **null, **pools,
            reference="held-out", looser="post-cutoff",
        ),
        "decontamination": partial(figures.decontamination, run.thresholds, **null),
        "margin": partial(
            figures.margin, run.claims, run.sequences, **null, **clean, alpha=0.01
        ),
        "query_budget": partial(
            figures.query_budget, run.claims, *of_scores, **null, **pools, alpha=0.01,
            control_pool="held-out", budget=BUDGET, success=SUCCESS,
        ),
        "validity": partial(
            figures.validity, run.validity, procedure=procedure, suffix_tokens=50, alpha=0.02
        ),
        "match_check": partial(figures.match_check, run.match),
    }  # fmt: skip
    assert set(draw) == set(figures.__all__) - {"save"} - OF_PROMPT_SEARCH
    return draw


@pytest.fixture(scope="session")
def every_figure():
    """`drawings`, for tests that look at all figures alike."""
    return drawings
