"""Published criteria beside calibrated claims, on tables whose answers are known."""

import numpy as np
import pandas as pd
import pytest

from memfoil import calibration
from memfoil.errors import InvalidScores
from memfoil.prompts.criteria import (
    judge,
    prefix_groups,
    prefix_halves,
    prefix_tests,
    published,
    scores,
)
from memfoil.report.prompts import page
from memfoil.stats import conformal
from memfoil.tables import (
    GENERAL_SCORES,
    PREFIX_GROUPS,
    PREFIX_HALVES,
    PREFIX_TESTS,
    PROMPT_CRITERIA,
    RATES,
    THRESHOLDS,
    Provenance,
)

MEMBERS, CONTROLS = 6, 9


def targets_of(members=MEMBERS, controls=CONTROLS) -> pd.DataFrame:
    n = members + controls
    return pd.DataFrame(
        {
            "sequence_id": [f"s{i}" for i in range(n)],
            "pool": ["planted"] * members + ["held-out"] * controls,
            "role": ["candidate"] * members + ["control"] * controls,
            "text": "x y",
            "token_ids": [[1, 2]] * n,
            "part": "whole",
            "whole_id": None,
            "original": None,
        }
    )


def compression_of(acr, forced=None) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sequence_id": [f"s{i}" for i in range(len(acr))],
            "target_tokens": 12,
            "prompt_tokens": pd.array([12 / a if a else None for a in acr], dtype="Float64"),
            "acr": acr,
            "acr_teacher_forced": acr if forced is None else forced,
            "prompt": [f"p{i}" if a else None for i, a in enumerate(acr)],
            "shared_words": None,
            "runs": 2,
            "steps": 40,
        }
    )


def prefixes_of(distinct, memorized) -> pd.DataFrame:
    n = len(distinct)
    return pd.DataFrame(
        {
            "sequence_id": [f"s{i}" for i in range(n)],
            "target_tokens": 12,
            "eta": np.linspace(1, 0, n),
            "needed": 2,
            "budget": 10,
            "runs": 10,
            "successes": distinct,
            "distinct": distinct,
            "success_rate": np.array(distinct) / 10,
            "memorized": memorized,
            "discoverable": False,
        }
    )


ACR = [3.0, 2.4, 2.0, 1.5, 1.2, 0.0] + [1.2, 0.8] + [0.0] * 7
DISTINCT = [9, 7, 5, 4, 1, 0] + [2, 1] + [0] * 7
MEASURED = {
    "compression": compression_of(ACR, [*ACR[:5], 4.0, *ACR[6:]]),
    "multi_prefix": prefixes_of(DISTINCT, [d >= 2 for d in DISTINCT]),
}


def claims(criteria, criterion, pool, calibrated) -> int:
    kept = criteria[
        (criteria["criterion"] == criterion)
        & (criteria["pool"] == pool)
        & (criteria["calibrated"] == calibrated)
    ]
    assert len(kept) == 1
    return int(kept["claims"].iloc[0])


def test_published_criteria_count_members_and_controls_alike(tmp_path):
    thresholds, rates, criteria = judge(targets_of(), MEASURED, None, alpha=0.1, confidence=0.9)
    for table, frame in ((THRESHOLDS, thresholds), (RATES, rates), (PROMPT_CRITERIA, criteria)):
        table.write(frame, tmp_path / "t.parquet", Provenance("test"))
    counts = {
        "ACR > 1": (5, 1),
        "ACR > 1, teacher-forced": (6, 1),
        "multi-prefix": (4, 1),
        "any prompt found": (5, 2),
        "discoverable": (0, 0),
    }
    for criterion, (members, controls) in counts.items():
        assert claims(criteria, criterion, "planted", False) == members
        assert claims(criteria, criterion, "held-out", False) == controls


def test_calibrated_claims_are_those_of_the_conformal_test_at_the_level_named():
    _, _, criteria = judge(targets_of(), MEASURED, None, alpha=0.1, confidence=0.9)
    rows = criteria[criteria["calibrated"]]
    assert set(rows["alpha_n"]) == {1 / (CONTROLS + 1)}
    assert set(rows["smallest_level"]) == {1 / (CONTROLS + 1)}
    for criterion, values in (("ACR", ACR), ("distinct prefixes", DISTINCT)):
        p = conformal.p_values(values[:MEMBERS], values[MEMBERS:])
        assert claims(criteria, criterion, "planted", True) == (p <= 0.1).sum()
        assert claims(criteria, criterion, "held-out", True) == 0


def test_too_few_controls_are_judged_at_the_smallest_level_they_certify():
    targets = targets_of(controls=4)
    measured = {"compression": compression_of(ACR[:10])}
    thresholds, _, criteria = judge(targets, measured, None, alpha=0.1, confidence=0.9)
    assert set(criteria.loc[criteria["calibrated"], "alpha_n"]) == {0.2}
    assert (thresholds.loc[thresholds["alpha"] == 0.1, "k"] == 0).all()
    text = page("demo", targets, {"criteria": criteria} | measured)
    assert "4 controls certify no false-positive rate below 1/5 = 20.0%" in text


def test_a_control_found_in_the_training_text_leaves_the_null():
    contamination = pd.DataFrame(
        {"sequence_id": [f"s{i}" for i in range(MEMBERS, 15)], "member": [True] + [False] * 8}
    )
    _, _, criteria = judge(targets_of(), MEASURED, contamination, alpha=0.2, confidence=0.9)
    rows = criteria[criteria["calibrated"] & (criteria["criterion"] == "ACR")]
    rows = rows[rows["pool"] == "planted"].set_index("decontaminated")
    assert rows["n_controls"].to_dict() == {False: 9, True: 8}
    assert rows["tau"].to_dict() == {False: 0.8, True: 0.8}
    assert rows["alpha_n"].to_dict() == {False: 0.2, True: 1 / 9}


def test_parrots_that_succeed_on_all_alike_claim_nothing():
    names = targets_of()["sequence_id"]
    parrots = pd.DataFrame(
        {
            "sequence_id": names,
            "template_id": "repeat",
            "kind": "repeat",
            "log_score": -0.1,
            "teacher_forced": True,
            "generated": True,
        }
    )
    _, _, criteria = judge(targets_of(), {"parrots": parrots}, None, alpha=0.1, confidence=0.9)
    assert claims(criteria, "parrot: repeat", "planted", False) == MEMBERS
    assert claims(criteria, "parrot: repeat", "held-out", False) == CONTROLS
    assert claims(criteria, "parrot: repeat", "planted", True) == 0


def test_scores_fit_their_table_and_the_calibration_refuses_what_is_none(tmp_path):
    marks = scores(MEASURED)
    GENERAL_SCORES.write(marks, tmp_path / "scores.parquet", Provenance("test"))
    assert marks["score"].max() > 1
    marks.loc[3, "score"] = np.nan
    with pytest.raises(InvalidScores, match="column score, row 3: NaN"):
        calibration.thresholds(marks, targets_of(), None, alphas=[0.1], confidence=0.9)


def test_criteria_need_controls():
    with pytest.raises(InvalidScores, match="no control"):
        judge(
            targets_of(controls=0),
            {"compression": compression_of(ACR[:6])},
            None,
            alpha=0.1,
            confidence=0.9,
        )


def test_groups_and_tests_of_prefixes(tmp_path):
    targets, prefixes = targets_of(), MEASURED["multi_prefix"]
    groups = prefix_groups(targets, prefixes).set_index("pool")
    assert groups["memorized"].to_dict() == {"planted": 4, "held-out": 1}
    assert groups["success_rate"]["planted"] == pytest.approx(np.mean(DISTINCT[:6]) / 10)
    tests = prefix_tests(targets, prefixes)
    assert tests["larger"].tolist() == ["memorized", "planted"]
    pairs = [np.sign(a - b) for a in DISTINCT[:6] for b in DISTINCT[6:]]
    assert tests["rank_biserial"][1] == pytest.approx(np.mean(pairs))
    for table, frame in (
        (PREFIX_GROUPS, prefix_groups(targets, prefixes)),
        (PREFIX_TESTS, tests),
        (PREFIX_HALVES, prefix_halves(targets, prefixes)),
    ):
        table.write(frame, tmp_path / "t.parquet", Provenance("test"))
    none = prefix_tests(targets, prefixes.assign(memorized=False))
    assert none["larger"].tolist() == ["planted"]


def test_wholes_and_halves_are_counted_together():
    whole = targets_of(members=4, controls=1)
    halves = whole.head(4).assign(
        sequence_id=[f"h{i}" for i in range(4)],
        pool="planted, first half",
        part="first half",
        whole_id=whole["sequence_id"].head(4),
    )
    targets = pd.concat([whole, halves], ignore_index=True)
    memorized = {"s0": True, "s1": True, "s2": False, "s3": False, "s4": False}
    memorized |= {"h0": True, "h1": False, "h2": True, "h3": False}
    prefixes = pd.DataFrame(memorized.items(), columns=["sequence_id", "memorized"])
    (row,) = prefix_halves(targets, prefixes).to_dict("records")
    assert row == {
        "pool": "planted", "part": "first half",
        "both": 1, "whole_only": 1, "half_only": 1, "neither": 1,
    }  # fmt: skip


def test_the_page_says_how_many_teacher_forced_successes_fail_generation():
    targets = targets_of()
    _, _, criteria = judge(targets, MEASURED, None, alpha=0.1, confidence=0.9)
    runs = pd.DataFrame(
        {
            "first_teacher_forced": pd.array([3, 5, None, 2], dtype="Int64"),
            "first_generated": pd.array([True, False, None, True], dtype="boolean"),
            "generated": [True, False, False, True],
            "relaxed": [True, False, False, False],
            "original_generated": pd.array([None] * 4, dtype="boolean"),
            "sequence_id": "s0",
        }
    )
    text = page("demo", targets, {"criteria": criteria} | MEASURED | {"multi_prefix_runs": runs})
    assert "In 3 a prompt passed the teacher-forced test; 1 of these first prompts (33.3%)" in text


def test_criteria_know_every_target():
    met = published(MEASURED)
    assert sorted(met.index) == sorted(targets_of()["sequence_id"])
    assert not met.isna().any().any()
