"""Calibration over frames: brute force, and what neither order nor company may change."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matched_scores import blind, claims_of

from memfoil import calibration, tables
from memfoil.errors import InvalidConfiguration
from memfoil.stats.conformal import certified_k


def everything(scores, sequences, contamination, splits):
    thresholds = calibration.thresholds(
        scores, sequences, contamination, alphas=[0.05, 0.1], confidence=0.9
    )
    return {
        tables.THRESHOLDS: thresholds,
        tables.RATES: calibration.rates(scores, sequences, thresholds, blind(0.6), splits),
        tables.CLAIMS: claims_of(scores, sequences, contamination, thresholds),
        tables.VALIDITY: calibration.validity(
            scores,
            sequences,
            contamination,
            suffix_tokens=[50],
            alphas=[0.05, 0.2],
            n_splits=20,
            seed=1,
        ),
    }


def test_frames_fit_their_tables(scores, sequences, contamination, splits):
    results = everything(scores, sequences, contamination, splits)
    for table, frame in results.items():
        table.validate(pa.Table.from_pandas(frame, preserve_index=False), table.name)
    points = calibration.operating_points(
        scores, sequences, contamination, suffix_tokens=[10, 50], points=20
    )
    tables.RATES.validate(pa.Table.from_pandas(points, preserve_index=False), "points")


def test_order_of_rows_never_matters(scores, sequences, contamination, splits):
    before = everything(scores, sequences, contamination, splits)
    frames = (scores, sequences, contamination, splits)
    after = everything(*(frame.sample(frac=1, random_state=5) for frame in frames))
    for table in before:
        pd.testing.assert_frame_equal(before[table], after[table])


def test_thresholds_cover_every_null(thresholds):
    assert len(thresholds) == 2 * 2 * 3 * 2 * 3
    n = thresholds.groupby(["control_pool", "decontaminated"])["n_controls"].first()
    assert n.to_dict() == {
        ("held-out", False): 60,
        ("held-out", True): 58,
        ("post-cutoff", False): 40,
        ("post-cutoff", True): 39,
    }


def test_without_verdicts_there_are_only_pools_as_drawn(scores, sequences):
    result = calibration.thresholds(scores, sequences, None, alphas=[0.1], confidence=0.9)
    assert not result["decontaminated"].any()


def test_too_few_controls_give_a_row_that_claims_nothing(
    scores, sequences, contamination, thresholds
):
    idle = thresholds[thresholds["alpha"] == 0.001]
    assert (idle["k"] == 0).all()
    assert (idle["log_tau"] == math.inf).all()
    claims = claims_of(scores, sequences, contamination, idle)
    assert not claims[["claimed", "claimed_confident", "extractable", "bonferroni"]].any(axis=None)
    assert (calibration.rates(scores, sequences, idle)["n_claims"] == 0).all()


def test_a_rate_that_no_pool_can_certify_is_refused(scores, sequences, contamination):
    settings = {"alphas": [1e-6, 0.5], "confidence": 0.9}
    made = calibration.thresholds(scores, sequences, contamination, **settings)
    with pytest.raises(InvalidConfiguration, match="1e-06 cannot be certified") as caught:
        calibration.refuse_uncertifiable(made)
    assert f"1/{made.n_controls.max() + 1} = " in str(caught.value)
    calibration.refuse_uncertifiable(made[made.alpha > 0.1])


def test_rates_count_what_clears_the_threshold(scores, sequences, thresholds, splits):
    rates = calibration.rates(scores, sequences, thresholds, blind([0.5, 0.9]), splits)
    joined = scores.merge(sequences[["sequence_id", "pool", "role"]], on="sequence_id").merge(
        splits, left_on="sequence_id", right_on="passage_id"
    )
    assert set(rates["stratum"]) == {
        "all", "planted", "seen once", "repetitions 1", "repetitions 2", "repetitions 64"
    }  # fmt: skip
    for row in rates.sample(60, random_state=0).itertuples():
        judged = joined[
            (joined["role"] == "candidate")
            & (joined["procedure"] == row.procedure)
            & (joined["suffix_tokens"] == row.suffix_tokens)
        ]
        if row.stratum.startswith("repetitions"):
            judged = judged[judged["repetitions"] == int(row.stratum.split()[1])]
        elif row.stratum != "all":
            judged = judged[judged["pool"] == row.stratum]
        above = (judged["log_score"] > row.log_tau).sum()
        assert (row.n_candidates, row.n_claims) == (len(judged), above)
        assert row.calibrated_rate == pytest.approx(above / len(judged) - row.alpha_n)
        assert row.blind_auc == (0.5 if row.control_pool == "held-out" else 0.9)


def test_claims_agree_with_p_values_and_thresholds(scores, sequences, contamination, thresholds):
    claims = claims_of(
        scores, sequences, contamination, thresholds, suffix_tokens=[10, 50], queries=1
    )
    assert len(claims) == len(thresholds) * 80
    assert (claims["claimed"] == (claims["p_value"] <= claims["alpha"])).all()
    assert (claims["p_randomized"] <= claims["p_value"]).all()
    assert not (claims["claimed_confident"] & ~claims["claimed"]).any()
    assert not (claims["bonferroni"] & ~claims["benjamini_hochberg"]).any()
    assert not (claims["benjamini_hochberg"] & ~claims["claimed"]).any()
    within = claims["log10_queries"] <= 0.0
    assert (claims["extractable"] == (claims["claimed"] & within)).all()
    assert 0 < claims["extractable"].sum() < claims["claimed"].sum()
    finite = claims[claims["margin"].notna()]
    assert ((finite["margin"] > 0) == finite["claimed"]).all()
    assert np.isfinite(finite[["log_score", "margin"]]).all(axis=None)
    assert len(finite) < len(claims)


def test_claims_draw_randomness_per_item(scores, sequences, contamination, thresholds):
    """Fewer candidates keep the p-values of those that stay; another seed does not."""
    key = ["control_pool", "decontaminated", "procedure", "alpha", "sequence_id"]
    claims = claims_of(scores, sequences, contamination, thresholds).set_index(key)
    kept = sequences[sequences["pool"] != "seen once"]
    few = scores[scores["sequence_id"].isin(kept["sequence_id"])]
    fewer = claims_of(few, kept, contamination, thresholds).set_index(key)
    pd.testing.assert_series_equal(claims["p_randomized"].loc[fewer.index], fewer["p_randomized"])
    other = claims_of(scores, sequences, contamination, thresholds, seed=2).set_index(key)
    assert (other["p_randomized"] != claims["p_randomized"]).any()
    assert (other["p_value"] == claims["p_value"]).all()


def test_operating_points_end_one_step_above_the_atom(scores, sequences):
    points = calibration.operating_points(scores, sequences, None, suffix_tokens=[10], points=500)
    for procedure, rows in points[points["control_pool"] == "held-out"].groupby("procedure"):
        controls = scores[
            scores["sequence_id"].str.startswith("held-out")
            & (scores["procedure"] == procedure)
            & (scores["suffix_tokens"] == 10)
        ]["log_score"]
        taus = rows.drop_duplicates("alpha_n")
        assert set(taus["log_tau"]) == set(controls)
        exact = [(1 + (controls > tau).sum()) / 61 for tau in taus["log_tau"]]
        assert taus["alpha_n"].tolist() == exact


def test_validity_over_resplits(scores, sequences, contamination):
    validity = calibration.validity(
        scores,
        sequences,
        contamination,
        suffix_tokens=[50],
        alphas=[0.05, 0.1, 0.4],
        n_splits=800,
        seed=0,
    )
    by = ["control_pool", "procedure", "alpha"]
    for (pool, procedure, alpha), rows in validity.groupby(by):
        n = {"held-out": 29, "post-cutoff": 19}[pool]
        assert (rows["n_controls"] == n).all()
        assert (rows["n_fresh"] == {"held-out": 29, "post-cutoff": 20}[pool]).all()
        assert (rows["k"] == certified_k(n, alpha)).all()
        error = 4 * rows["realized_fpr"].std() / math.sqrt(len(rows))
        mean, certified = rows["realized_fpr"].mean(), rows["alpha_n"].iloc[0]
        assert mean <= certified + error
        if procedure == "base":
            assert mean == pytest.approx(certified, abs=error)


def test_more_resplits_keep_the_earlier_ones(scores, sequences):
    settings = {"suffix_tokens": [50], "alphas": [0.1], "seed": 3}
    many = calibration.validity(scores, sequences, None, n_splits=30, **settings)
    few = calibration.validity(scores, sequences, None, n_splits=10, **settings)
    pd.testing.assert_frame_equal(many[many["split"] < 10].reset_index(drop=True), few)
