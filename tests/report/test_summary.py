"""The page of main numbers says what the tables say, and warns where a reader must be warned."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from memfoil import calibration, tables
from memfoil.report import (
    Audit,
    contaminated,
    count_left_out,
    judged_at,
    methods,
    shown_claims,
    summary,
)
from memfoil.tables import LEFT_OUT, Provenance

N = 40


def sequences():
    pools = [("planted", "candidate"), ("held-out", "control"), ("post-cutoff", "control")]
    return pd.DataFrame(
        [
            {
                "sequence_id": f"{pool} {i}",
                "document_id": f"{pool} {i % 9}",
                "pool": pool,
                "role": role,
                "date": pd.Timestamp("1980-01-01"),
                "source": "s",
                "token_ids": [1, 2],
                "prefix_tokens": 1,
                "text": "text",
            }
            for pool, role in pools
            for i in range(N)
        ]
    )


def scores(sequences):
    """Planted passages 0 to 9 at 1e-5, the i-th of every pool else at 1e-30 / 10^i."""
    steps = sequences["sequence_id"].str.split().str[-1].astype(int)
    high = (sequences["pool"] == "planted") & (steps < 10)
    log10 = np.where(high, -5.0, -30.0 - steps)
    return pd.DataFrame(
        {
            "sequence_id": sequences["sequence_id"],
            "procedure": "base",
            "suffix_tokens": 50,
            "log_score": log10 * np.log(10),
        }
    )


def verdicts(sequences, member):
    controls = sequences.loc[sequences["role"] == "control", "sequence_id"]
    return pd.DataFrame(
        {
            "sequence_id": controls,
            "verdict": np.where(controls == member, "exact", "none found"),
            "control_text": "text",
            "ngram_share": 0.0,
            "skipped_pieces": 0,
            "review": None,
            "member": controls == member,
        }
    )


def matched(auc):
    pools = ["held-out", "post-cutoff"]
    return pd.DataFrame({"control_pool": pools, "quantity": "blind AUC", "candidates": auc})


@pytest.fixture
def audit():
    drawn = sequences()
    scored = scores(drawn)
    found = verdicts(drawn, "held-out 0")
    match = matched([0.5, 0.9])
    made = calibration.thresholds(scored, drawn, found, alphas=[0.05, 0.001], confidence=0.9)
    return Audit(
        sequences=drawn,
        scores=scored,
        contamination=found,
        match=match,
        thresholds=made,
        rates=calibration.rates(scored, drawn, made, match),
        validity=calibration.validity(
            scored, drawn, found, suffix_tokens=[50], alphas=[0.1], n_splits=50, seed=0
        ),
    )


def with_alpha(audit, alpha):
    return Audit(
        **vars(audit)
        | {
            "thresholds": audit.thresholds[audit.thresholds.alpha == alpha],
            "rates": audit.rates[audit.rates.alpha == alpha],
        }
    )


def page(audit):
    return summary("demo", {"mine": audit}, pd.DataFrame())


def test_claims_are_counted_against_each_pool(audit):
    rows = [line for line in page(with_alpha(audit, 0.05)).splitlines() if "10 of 40" in line]
    assert ["held-out" in row for row in rows] == [True, False]
    assert ["post-cutoff" in row for row in rows] == [False, True]
    assert "1e-32" in rows[0]


def test_below_1e_20_only_the_exponent_is_shown(audit):
    assert "1e-32" in page(with_alpha(audit, 0.05))
    assert not pd.Series(page(audit).split()).str.contains(r"\d\.\d+e-[2-9]\d").any()


def test_unmatched_controls_and_too_few_of_them_are_warned_of(audit):
    warnings = [line for line in page(audit).splitlines() if line.startswith("**Warning:**")]
    assert len(warnings) == 2
    assert "`post-cutoff`" in warnings[0]
    assert "0.90" in warnings[0]
    assert "39 controls cannot certify 0.001" in warnings[1]
    assert "0.024" in warnings[1]
    assert "Warning" not in page(with_alpha(Audit(**vars(audit) | {"match": matched(0.5)}), 0.05))


def test_known_non_members_above_another_pools_threshold_are_counted(audit):
    moved = audit.scores.copy()
    post = moved["sequence_id"].str.startswith("post-cutoff")
    moved.loc[post, "log_score"] -= 1000
    made = calibration.thresholds(
        moved, audit.sequences, audit.contamination, alphas=[0.05], confidence=0.9
    )
    changed = Audit(**vars(with_alpha(audit, 0.05)) | {"scores": moved, "thresholds": made})
    row = next(line for line in page(changed).splitlines() if "39 of 39" in line)
    assert row.split("|")[1].strip() == "post-cutoff"
    assert row.split("|")[3].strip() == "held-out"


def test_members_among_the_controls_are_counted_and_listed(audit):
    cells = [[cell.strip() for cell in line.split("|")[1:4]] for line in page(audit).splitlines()]
    assert ["held-out", "40", "1"] in cells
    assert ["post-cutoff", "40", "0"] in cells
    assert contaminated(audit.contamination)["sequence_id"].tolist() == ["held-out 0"]


def test_excerpts_keep_what_a_person_reads(audit):
    claims = calibration.claims(
        audit.scores,
        audit.sequences,
        audit.contamination,
        with_alpha(audit, 0.05).thresholds,
        suffix_tokens=[50],
        queries=1e5,
        success=0.95,
        seed=0,
    )
    shown = shown_claims(claims, audit.sequences, "base")
    assert len(shown) == 2 * 10
    assert set(shown["sequence_id"]) == {f"planted {i}" for i in range(10)}
    assert judged_at(audit.rates, [50]).equals(audit.rates)
    assert judged_at(audit.rates, [10]).empty


def test_what_was_left_out_is_counted_by_reason(tmp_path):
    frame = pd.DataFrame({"item_id": ["a", "b", "c"], "reason": ["short", "short", "empty"]})
    LEFT_OUT.write(frame, tmp_path / "stage.parquet", Provenance("test"))
    counted = count_left_out([str(tmp_path / "stage.parquet")])
    assert dict(zip(counted["reason"], counted["items"], strict=True)) == {"short": 2, "empty": 1}
    text = summary("demo", {}, counted)
    assert "short" in text
    assert "stage.parquet" in text
    assert tables.LEFT_OUT.read(tmp_path / "stage.parquet").shape[0] == 3


def test_a_section_on_methods_has_model_prompt_nulls_levels_and_what_was_left_out(audit):
    settings = {
        "source": "org/model", "revision": "abc", "backend": "torch", "dtype": "float32",
        "device": "cpu", "start_of_text": None,
    }  # fmt: skip
    left_out = pd.DataFrame({"reason": ["short"], "items": [3], "list": ["left.parquet"]})
    origin = {"versions": {"memfoil": "0.1", "torch": "2"}}
    text = methods("demo", {"mine": audit}, {"mine": settings}, {"mine": origin}, left_out)
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines()]
    for row in (
        ["revision", "abc"],
        ["prompt", "the first 1 tokens of a sequence"],
        ["versions", "memfoil 0.1, torch 2"],
        ["planted", "candidate", "40", "9", "1980-01-01 to 1980-01-01", *"0000", ""],
        ["held-out", "control", "40", "9", "1980-01-01 to 1980-01-01", *"1001", "0.50"],
        ["held-out", "True", "5%", "39", "5%"],
        ["short", "3", "left.parquet"],
    ):
        assert row in rows


@pytest.mark.parametrize(
    ("lengths", "said"),
    [(range(1, 51), "1 to 50"), ([10, 50], "10 or 50"), ([1, 2, 4], "1 or 2 or 4"), ([1], "1")],
)
def test_many_lengths_are_named_by_their_ends(audit, lengths, said):
    thresholds = pd.concat(audit.thresholds.assign(suffix_tokens=n) for n in lengths)
    settings = dict.fromkeys(("source", "revision", "backend", "dtype", "device"), "x")
    page = methods(
        "demo",
        {"mine": replace(audit, thresholds=thresholds)},
        {"mine": settings | {"start_of_text": None}},
        {"mine": {"versions": {}}},
        pd.DataFrame(),
    )
    assert f"the {said} tokens behind it" in page
