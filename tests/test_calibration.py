"""Calibration over frames: published cases, brute force, and what must not be let through."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from memfoil import calibration, tables
from memfoil.errors import InvalidConfiguration, InvalidScores, InvalidTable
from memfoil.stats.conformal import certified_k

POOLS = {"planted": 30, "seen once": 50, "held-out": 60, "post-cutoff": 40}
CANDIDATE_POOLS = ("planted", "seen once")


def sequences_of(pools, candidate_pools=CANDIDATE_POOLS):
    names = [f"{pool}:{i}" for pool, n in pools.items() for i in range(n)]
    pool = [name.split(":")[0] for name in names]
    return pd.DataFrame(
        {
            "sequence_id": names,
            "document_id": [name[-1] for name in names],
            "pool": pool,
            "role": ["candidate" if p in candidate_pools else "control" for p in pool],
            "date": pd.Timestamp("1950-01-01"),
            "source": "made",
            "token_ids": [np.zeros(2, dtype=np.int32)] * len(names),
            "prefix_tokens": 1,
            "text": "words",
        }
    )


def scores_of(sequences, values, procedure="base", suffix_tokens=50):
    return pd.DataFrame(
        {
            "sequence_id": sequences["sequence_id"],
            "procedure": procedure,
            "suffix_tokens": suffix_tokens,
            "log_score": values,
        }
    )


def verdicts(sequences, members):
    controls = sequences.loc[sequences["role"] == "control", "sequence_id"]
    return pd.DataFrame({"sequence_id": controls, "member": controls.isin(members)})


def blind(auc):
    pools = [p for p in POOLS if p not in CANDIDATE_POOLS]
    return pd.DataFrame({"control_pool": pools, "quantity": "blind AUC", "candidates": auc})


@pytest.fixture
def sequences():
    return sequences_of(POOLS)


@pytest.fixture
def scores(sequences):
    """Three procedures (continuous, with an atom, binary) at two lengths."""
    generator = np.random.default_rng(0)
    bonus = sequences["pool"].map({"planted": 6.0, "seen once": 0.5}).fillna(0.0)
    parts = []
    for length in (10, 50):
        base = np.minimum(-generator.exponential(length / 5, len(sequences)) + bonus, 0.0)
        parts += [
            scores_of(sequences, base, "base", length),
            scores_of(sequences, base.where(base > -length / 5, -np.inf), "top-40", length),
            scores_of(sequences, np.where(base > -1.0, 0.0, -np.inf), "greedy", length),
        ]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture
def contamination(sequences):
    return verdicts(sequences, ["held-out:3", "held-out:4", "post-cutoff:0"])


@pytest.fixture
def splits(sequences):
    return pd.DataFrame(
        {
            "passage_id": sequences["sequence_id"],
            "split": "planted",
            "repetitions": np.where(sequences["pool"] == "planted", [2, 64] * 90, 1),
        }
    )


@pytest.fixture
def thresholds(scores, sequences, contamination):
    return calibration.thresholds(
        scores, sequences, contamination, alphas=[0.001, 0.05, 0.1], confidence=0.9
    )


def claims_of(scores, sequences, contamination, thresholds, **changes):
    settings = {"suffix_tokens": [50], "queries": 1e5, "success": 0.95, "seed": 1} | changes
    return calibration.claims(scores, sequences, contamination, thresholds, **settings)


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


# Published cases: Cooper et al. 2026.


def wikipedia(candidates, controls, procedure):
    pools = {"members": 5000, "controls": 5000}
    sequences = sequences_of(pools, ("members",))
    values = np.concatenate([candidates, controls])
    return scores_of(sequences, values, procedure), sequences


def test_published_top_40_rate_of_50_tokens():
    log_tau = math.log(8.9e-6)
    controls = np.full(5000, -math.inf)
    controls[:520] = np.linspace(-5, -90, 520)
    controls[:5] = log_tau + np.array([4.0, 3.0, 2.0, 1.0, 0.0])
    controls[5:520] = np.linspace(log_tau - 1, -90, 515)
    members = np.where(np.arange(5000) < 137, log_tau + 0.5, -math.inf)
    scores, sequences = wikipedia(members, controls, "top-40")
    thresholds = calibration.thresholds(scores, sequences, None, alphas=[0.001], confidence=0.9)
    row = thresholds.iloc[0]
    assert (row["k"], row["alpha_n"]) == (5, 5 / 5001)
    assert row["alpha_dagger"] == pytest.approx(0.104)
    assert math.exp(row["log_tau"]) == pytest.approx(8.9e-6)
    rate = calibration.rates(scores, sequences, thresholds).iloc[0]
    percent = [100 * rate[f"generation_{name}"] for name in ("rate", "low", "high")]
    assert percent == pytest.approx([2.74, 2.31, 3.23], abs=5e-3)
    assert 100 * rate["calibrated_rate"] == pytest.approx(2.64, abs=5e-3)


def test_taking_members_out_of_the_controls_lowers_the_threshold():
    """Twelve contaminants in 5,000: ten at the top, two at zero; N = 4988, K = 4."""
    controls = np.concatenate([-np.linspace(0.1, 1, 10), [-math.inf] * 2, -np.arange(20.0, 5008)])
    scores, sequences = wikipedia(np.full(5000, -19.5), controls, "base")
    contamination = verdicts(sequences, [f"controls:{i}" for i in range(12)])
    thresholds = calibration.thresholds(
        scores, sequences, contamination, alphas=[0.001], confidence=0.9
    ).set_index("decontaminated")
    assert thresholds["n_controls"].to_dict() == {False: 5000, True: 4988}
    assert thresholds["k"].to_dict() == {False: 5, True: 4}
    assert thresholds.loc[True, "alpha_n"] == 4 / 4989
    assert thresholds["log_tau"].to_dict() == {False: pytest.approx(-0.5), True: -23.0}
    rates = calibration.rates(scores, sequences, thresholds.reset_index())
    rates = rates[rates["stratum"] == "all"].set_index("decontaminated")
    assert rates["n_claims"].to_dict() == {False: 0, True: 5000}


def test_greedy_has_one_operating_point_at_its_floor():
    binary = [np.where(np.arange(5000) < matches, 0.0, -np.inf) for matches in (377, 91)]
    scores, sequences = wikipedia(*binary, "greedy")
    points = calibration.operating_points(scores, sequences, None, suffix_tokens=[50], points=60)
    points = points[points["stratum"] == "all"]
    point = points[points["n_claims"] > 0]
    assert len(point) == 1
    assert point["alpha_n"].item() == 92 / 5001
    assert point["generation_rate"].item() == pytest.approx(0.0754)


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


# What is refused, with the place of the mistake.


def judge(scores, sequences, contamination=None):
    return calibration.thresholds(scores, sequences, contamination, alphas=[0.1], confidence=0.9)


@pytest.mark.parametrize("value", [math.nan, 0.25])
def test_what_is_no_log_probability_is_refused(scores, sequences, value):
    scores.loc[17, "log_score"] = value
    with pytest.raises(InvalidScores, match=f"column log_score, row 17: {value}"):
        judge(scores, sequences)


def test_a_missing_score_is_named(scores, sequences):
    with pytest.raises(InvalidScores, match="planted:5 has 0 scores for base at 10"):
        judge(scores.drop(index=5), sequences)


def test_a_second_score_is_named(scores, sequences):
    with pytest.raises(InvalidScores, match="planted:5 has 2 scores for base at 10"):
        judge(pd.concat([scores, scores.loc[[5]]]), sequences)


def test_no_score_at_all(scores, sequences):
    with pytest.raises(InvalidScores, match="empty"):
        judge(scores.iloc[:0], sequences)


def test_scores_of_unknown_sequences_are_refused(scores, sequences):
    with pytest.raises(InvalidTable, match="planted:0 is not in the sequences"):
        judge(scores, sequences.iloc[1:])


def test_an_unknown_role_is_refused(scores, sequences):
    sequences.loc[2, "role"] = "member"
    with pytest.raises(InvalidTable, match="planted:2: role member"):
        judge(scores, sequences)


def test_no_control(scores, sequences):
    with pytest.raises(InvalidScores, match="no control"):
        judge(scores, sequences.assign(role="candidate"))


def test_no_candidate(scores, sequences, thresholds):
    with pytest.raises(InvalidScores, match="no candidate"):
        calibration.rates(scores, sequences.assign(role="control"), thresholds)


def test_a_pool_of_members_only_is_named(scores, sequences):
    everyone = [f"post-cutoff:{i}" for i in range(40)]
    with pytest.raises(InvalidScores, match="pool post-cutoff: no control is left, all 40"):
        judge(scores, sequences, verdicts(sequences, everyone))


def test_a_control_that_was_not_searched_for_is_an_error(scores, sequences, contamination):
    missing = contamination[contamination["sequence_id"] != "held-out:7"]
    with pytest.raises(InvalidTable, match="held-out:7 is missing"):
        judge(scores, sequences, missing)


def test_a_suffix_length_that_was_not_scored(scores, sequences, contamination, thresholds):
    with pytest.raises(InvalidConfiguration, match="suffix length 60: scored are 10 to 50"):
        claims_of(scores, sequences, contamination, thresholds, suffix_tokens=[60])


def test_thresholds_of_another_null_are_refused(scores, sequences, thresholds):
    with pytest.raises(InvalidTable, match="pool held-out, decontaminated"):
        claims_of(scores, sequences, None, thresholds)


def test_a_candidate_without_a_split_is_named(scores, sequences, thresholds, splits):
    with pytest.raises(InvalidTable, match="planted:0"):
        calibration.rates(scores, sequences, thresholds, splits=splits.iloc[1:])
