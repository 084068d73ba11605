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

from memfoil import figures, tables
from memfoil.stats import budgets, conformal, multiplicity, proportions, resplits

LENGTHS = (1, 2, 5, 10, 20, 50)
JUDGED = (10, 50)
ALPHAS = (0.001, 0.01, 0.1)
PROCEDURES = ("greedy", "base", "top-40")
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


def nulls(run_scores: pd.DataFrame, who: pd.DataFrame):
    """Every null of the run: its columns, its control scores, and its candidates' rows."""
    frame = run_scores.merge(who[["sequence_id", "pool", "role", "repetitions", "member"]])
    for (procedure, length), group in frame.groupby(["procedure", "suffix_tokens"]):
        candidates = group[group["role"] == "candidate"]
        for pool in ("held-out", "post-cutoff"):
            for clean in (False, True):
                kept = group[(group["pool"] == pool) & ~(group["member"] & clean)]
                null = {
                    "control_pool": pool, "decontaminated": clean,
                    "procedure": procedure, "suffix_tokens": length,
                }  # fmt: skip
                yield null, kept["log_score"].to_numpy(), candidates


def threshold_row(null: dict, controls: np.ndarray, alpha: float) -> dict:
    at = conformal.threshold(controls, alpha)
    law = conformal.realized_fpr(at.k, at.n_controls)
    confident = conformal.confident_k(at.n_controls, alpha, 0.9)
    return null | {
        "alpha": alpha, "n_controls": at.n_controls, "k": at.k, "alpha_n": at.alpha_n,
        "log_tau": at.log_tau, "in_sample_fpr": at.in_sample_fpr,
        "alpha_dagger": conformal.alpha_dagger(controls), "alpha_star_mean": law.mean,
        "alpha_star_q025": law.q025, "alpha_star_q90": law.q90, "alpha_star_q95": law.q95,
        "alpha_star_q975": law.q975, "alpha_star_exceedance": law.exceedance, "confidence": 0.9,
        "k_confident": confident,
        "log_tau_confident": conformal.threshold_at(controls, confident).log_tau,
    }  # fmt: skip


def strata_of(candidates: pd.DataFrame) -> dict[str, np.ndarray]:
    """Scores of all candidates, of each pool, and of each number of repetitions."""
    scores = candidates["log_score"].to_numpy()
    strata = {"all": scores}
    for column, prefix in (("pool", ""), ("repetitions", "repetitions ")):
        values = candidates[column].to_numpy()
        strata |= {f"{prefix}{value}": scores[values == value] for value in set(values)}
    return strata


def rate_rows(null: dict, at: conformal.Threshold, alpha: float, strata: dict) -> list:
    return [
        null | {
            "alpha": alpha, "stratum": stratum, "n_controls": at.n_controls,
            "alpha_n": at.alpha_n, "log_tau": at.log_tau, "n_candidates": len(scores),
            "n_claims": int((scores > at.log_tau).sum()),
        }
        for stratum, scores in strata.items()
    ]  # fmt: skip


def with_rates(rows: list) -> pd.DataFrame:
    frame = pd.DataFrame(rows)
    count, claims = frame["n_candidates"], frame["n_claims"]
    frame["generation_rate"] = claims / count
    frame["generation_low"], frame["generation_high"] = proportions.clopper_pearson(claims, count)
    for end in ("rate", "low", "high"):
        frame[f"calibrated_{end}"] = frame[f"generation_{end}"] - frame["alpha_n"]
    return fits(frame, tables.RATES)


def claim_rows(
    null: dict, at: conformal.Threshold, alpha: float, controls: np.ndarray, group: pd.DataFrame
) -> pd.DataFrame:
    score = group["log_score"].to_numpy()
    p = conformal.p_values(score, controls)
    claimed = score > at.log_tau
    queries = budgets.log10_queries(score, SUCCESS)
    with np.errstate(invalid="ignore"):
        margins = (score - at.log_tau) / np.log(10)
    return pd.DataFrame(
        null | {
            "alpha": alpha, "sequence_id": group["sequence_id"].to_numpy(), "log_score": score,
            "p_value": p, "p_randomized": p, "claimed": claimed, "claimed_confident": claimed,
            "margin": np.where(np.isfinite(margins), margins, np.nan), "log10_queries": queries,
            "extractable": claimed & (queries <= np.log10(BUDGET)),
            "bonferroni": multiplicity.bonferroni(p, alpha),
            "benjamini_hochberg": multiplicity.benjamini_hochberg(p, alpha),
        }
    )  # fmt: skip


def validity_of(scores: pd.DataFrame, who: pd.DataFrame, splits: int) -> pd.DataFrame:
    levels = (0.0005, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
    frames = []
    for pool in ("held-out", "post-cutoff"):
        chosen = who[(who["pool"] == pool) & ~who["member"]]
        kept = scores[(scores["procedure"] == "base") & (scores["suffix_tokens"] == 50)]
        values = kept.loc[kept["sequence_id"].isin(chosen["sequence_id"]), "log_score"].to_numpy()
        halves = resplits.calibration_halves(len(values), splits, seed=1)
        result = resplits.resplit(values, halves, levels)
        frames += [
            pd.DataFrame(
                {
                    "control_pool": pool, "procedure": "base", "suffix_tokens": 50, "alpha": alpha,
                    "split": np.arange(splits), "n_controls": result.n_controls,
                    "n_fresh": result.n_fresh, "k": result.k[i], "alpha_n": result.alpha_n[i],
                    "realized_fpr": result.realized_fpr[:, i],
                }
            )
            for i, alpha in enumerate(levels)
        ]  # fmt: skip
    return fits(pd.concat(frames, ignore_index=True), tables.VALIDITY)


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
    scores = log_scores(who, seed)
    thresholds, rates, points, claims = [], [], [], []
    for null, controls, candidates in nulls(scores, who):
        strata = strata_of(candidates)
        for alpha in ALPHAS:
            at = conformal.threshold(controls, alpha)
            thresholds.append(threshold_row(null, controls, alpha))
            rates += rate_rows(null, at, alpha, strata)
            if null["suffix_tokens"] in JUDGED:
                claims.append(claim_rows(null, at, alpha, controls, candidates))
        if null["suffix_tokens"] not in JUDGED:
            continue
        for k in sorted(set(np.geomspace(1, len(controls), 25).astype(int))):
            at = conformal.threshold_at(controls, int(k))
            points += rate_rows(null, at, at.alpha_n, strata)
    splits_table = who[["sequence_id", "repetitions"]].rename(columns={"sequence_id": "passage_id"})
    return Run(
        scores=scores,
        sequences=sequences_of(who),
        splits=fits(splits_table.assign(split=who["pool"]), tables.SPLITS),
        contamination=contamination_of(who),
        thresholds=fits(pd.DataFrame(thresholds), tables.THRESHOLDS),
        rates=with_rates(rates),
        operating_points=with_rates(points),
        claims=fits(pd.concat(claims, ignore_index=True), tables.CLAIMS),
        validity=validity_of(scores, who, splits),
        match=fits(MATCH, tables.MATCH),
    )


@pytest.fixture(scope="session")
def run() -> Run:
    """The imitated run; read only."""
    return imitate()


@pytest.fixture(scope="session")
def small_run() -> Run:
    """The same with 60 controls, too few for 0.1% or 1%; read only."""
    return imitate(small=True, splits=20)


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
    assert set(draw) == set(figures.__all__) - {"save"}
    return draw


@pytest.fixture(scope="session")
def every_figure():
    """`drawings`, for tests that look at all figures alike."""
    return drawings
