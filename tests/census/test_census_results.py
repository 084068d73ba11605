"""Every number of a census, recomputed from the tables character by character."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfoil.census.case import Budget, Case, with_near_verbatim
from memfoil.census.maps import heat_runs, truth
from memfoil.census.recovery import recovery
from memfoil.census.results import coverage, curves, thresholds
from memfoil.errors import InvalidScores
from memfoil.tables import (
    CENSUS,
    CENSUS_CURVES,
    CENSUS_HEAT,
    CENSUS_RECOVERY,
    CENSUS_THRESHOLDS,
    CENSUS_TRUTH,
    Provenance,
)

LN10 = math.log(10)
BUDGET = Budget(queries=100_000, success=0.95)
LENGTH = 60
POWERS = st.sampled_from([-math.inf, -40.3, -21.7, -12.5, -6.2, -4.8, -2.5])
PROCEDURES = ("base", "greedy", "near-verbatim")


def table(document_id, scores, occurrences=1):
    """Windows of ten characters, six apart, with the log10 score of each procedure."""
    n = len(scores)
    starts = 4 + 6 * np.arange(n)
    windows = pd.DataFrame(
        {
            "window_id": [f"{document_id}:{i}" for i in range(n)],
            "document_id": document_id,
            "window": range(n),
            "token_ids": [np.array([1, 2], np.int32)] * n,
            "prefix_tokens": 1,
            "start_char": starts - 4,
            "suffix_start_char": starts,
            "end_char": starts + 10,
            "occurrences": occurrences,
        }
    )
    rows = [
        {"window_id": f"{document_id}:{i}", "prefix_tokens": 1, "procedure": p, "log_score": s}
        for i, powers in enumerate(scores)
        for p, s in zip(
            PROCEDURES,
            (powers[0] * LN10, 0.0 if powers[0] > -3 else -math.inf, max(powers) * LN10),
            strict=True,
        )
    ]
    return windows, pd.DataFrame(rows)


def case(book, control, leaving=(), pair="p"):
    windows, scores = zip(table("b", book, 2), table("c", control), strict=True)
    return Case(
        pair, "m", "b", "c", "x" * LENGTH, pd.concat(windows), pd.concat(scores),
        frozenset(f"c:{i}" for i in leaving),
    )  # fmt: skip


@st.composite
def cases(draw, pair="p"):
    scores = st.lists(st.tuples(POWERS, POWERS), min_size=1, max_size=8)
    book, control = draw(scores), draw(scores)
    leaving = draw(st.sets(st.integers(0, len(control) - 1), max_size=len(control) - 1))
    return case(book, control, leaving, pair), book, control, leaving


def naive_tau(control, leaving, measure):
    largest = max(measure(p) for i, p in enumerate(control) if i not in leaving)
    return largest if math.isinf(largest) else math.ceil(largest)


def naive_best(book, measure):
    """The largest log10 score over each character, None in no suffix."""
    best = []
    for char in range(LENGTH):
        over = [measure(p) for i, p in enumerate(book) if 4 + 6 * i <= char < 14 + 6 * i]
        best.append(max(over) if over else None)
    return best


def naive_queries(log10_p):
    return math.ceil(math.log(0.05) / math.log1p(-(10**log10_p))) if log10_p > -300 else math.inf


MEASURES = {"base": lambda powers: powers[0], "near-verbatim": max}


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(cases(), cases(pair="q"))
def test_every_number_of_the_census_follows_from_windows_scores_and_verdicts(one, other):
    drawn = {"p": one, "q": other}
    made = [one[0], other[0]]
    found = thresholds(made, prefix_tokens=1)
    census = coverage(made, found, BUDGET).set_index(["pair", "procedure", "threshold"])
    for procedure, measure in MEASURES.items():
        tau = {name: naive_tau(c, left, measure) for name, (_, _, c, left) in drawn.items()}
        for pair, (_, book, _, _) in drawn.items():
            best = naive_best(book, measure)
            for threshold, value in (("book", tau[pair]), ("global", max(tau.values()))):
                row = census.loc[(pair, procedure, threshold)]
                above = [b is not None and b > value for b in best]
                within = [a and naive_queries(b) <= 1e5 for a, b in zip(above, best, strict=True)]
                assert row["log10_tau"] == value
                assert row["memorized_chars"] == sum(above)
                assert row["coverage"] == pytest.approx(sum(above) / LENGTH)
                assert row["reachable_chars"] == sum(within)
                assert row["unreachable"] == pytest.approx((sum(above) - sum(within)) / LENGTH)
                assert row["suffix_chars"] == sum(b is not None for b in best)
                assert row["n_above"] == sum(measure(p) > value for p in book)
                assert row["n_control_above"] == 0
                assert row["n_windows"] == row["n_repeated"] == len(book)
    for pair, (_, book, control, leaving) in drawn.items():
        row = census.loc[(pair, "greedy", "none")]
        greedy = naive_best(book, lambda p: 0 if p[0] > -3 else -math.inf)
        assert row["memorized_chars"] == row["reachable_chars"] == greedy.count(0)
        left = [p for i, p in enumerate(control) if i not in leaving]
        assert row["n_control_above"] == sum(p[0] > -3 for p in left)
        assert math.isnan(row["log10_tau"])


@settings(max_examples=8, deadline=None)
@given(cases())
def test_curves_are_coverage_at_moved_thresholds_margins_and_budgets(drawn):
    made, book, control, leaving = drawn
    frame = curves([made], thresholds([made], 1), BUDGET)
    for procedure, measure in MEASURES.items():
        tau, best = naive_tau(control, leaving, measure), naive_best(book, measure)
        scored = [b for b in best if b is not None and b > -math.inf]
        own = frame[frame["procedure"] == procedure].groupby("curve")
        for row in own.get_group("threshold").itertuples():
            assert row.covered_chars == sum(b > row.x for b in scored)
        if math.isfinite(tau):
            for row in own.get_group("margin").itertuples():
                assert row.covered_chars == sum(b - tau > row.x for b in scored)
        for row in own.get_group("budget").itertuples():
            within = [math.log10(naive_queries(b)) <= row.x + 1e-9 for b in scored if b > tau]
            assert row.covered_chars == sum(within)
        assert 5.0 in own.get_group("budget")["x"].tolist()
        assert (own.get_group("threshold")["covered_chars"].diff().dropna() <= 0).all()


@settings(max_examples=8, deadline=None)
@given(cases())
def test_heat_runs_cover_the_document_and_give_back_each_characters_best(drawn):
    made, book, _, _ = drawn
    frame = heat_runs([made], BUDGET)
    for procedure, measure in MEASURES.items():
        own = frame[frame["procedure"] == procedure]
        assert own["start_char"].tolist() == [0, *own["end_char"].tolist()[:-1]]
        assert own["end_char"].iloc[-1] == LENGTH
        best = naive_best(book, measure)
        for row in own.itertuples():
            for char in range(row.start_char, row.end_char):
                if best[char] is None:
                    assert pd.isna(row.window_id)
                    assert math.isnan(row.log_score)
                else:
                    assert row.log_score == pytest.approx(best[char] * LN10)
                    number = int(row.window_id.removeprefix("b:"))
                    assert 4 + 6 * number <= char < 14 + 6 * number


def test_taking_a_contaminant_out_of_the_control_lowers_its_threshold():
    book, control = [(-3.5, -3.5)] * 4, [(-30.2, -30.2), (-2.5, -2.5), (-28.9, -28.9)]
    made = case(book, control, leaving=[1])
    found = thresholds([made], 1).set_index(["procedure", "decontaminated"])
    assert found.loc[("base", False), "log10_tau"] == -2
    assert found.loc[("base", True), "log10_tau"] == -28
    assert found.loc[("base", True), ["n_windows", "n_removed"]].tolist() == [2, 1]
    assert found.loc[("base", True), "window_id"] == "c:2"
    census = coverage([made], thresholds([made], 1), BUDGET).set_index(["procedure", "threshold"])
    assert census.loc[("base", "book"), "memorized_chars"] == 28


def test_a_control_left_with_no_window_stops_with_a_message():
    made = case([(-3.5, -3.5)], [(-2.5, -2.5)], leaving=[0])
    with pytest.raises(InvalidScores, match=r"pair p, model m: of the 1 windows of c 0 are left"):
        thresholds([made], 1)


def test_a_threshold_at_or_near_one_stops_with_a_message_but_not_in_an_ablation():
    made = case([(-3.5, -3.5)], [(-0.5, -0.5)])
    with pytest.raises(InvalidScores, match=r"the threshold is 1, at or near 1, .* window c:0"):
        thresholds([made], prefix_tokens=1)
    found = thresholds([made], prefix_tokens=50)
    assert not found["usable"].any()
    census = coverage([made], found, BUDGET)
    assert (census.loc[census["threshold"] != "none", "memorized_chars"] == 0).all()


def test_near_verbatim_is_never_below_verbatim_and_needs_no_search():
    _, scores = table("b", [(-9.5, -9.5), (-8.5, -8.5), (-7.5, -7.5)])
    scores = scores[scores["procedure"] != "near-verbatim"]
    near = pd.DataFrame(
        {
            "window_id": ["b:0", "b:0", "b:1", "b:1"],
            "prefix_tokens": 1,
            "radius": [0, 3, 0, 3],
            "log_mass": np.array([-9.5, -5.0, -8.5, -8.5000001]) * LN10,
        }
    )
    found = with_near_verbatim(scores, near, epsilon=3, decoding="base")
    own = found[found["procedure"] == "near-verbatim"].set_index("window_id")["log_score"] / LN10
    assert own.to_dict() == pytest.approx({"b:0": -5.0, "b:1": -8.5, "b:2": -7.5})
    pd.testing.assert_frame_equal(found.head(len(scores)), scores.reset_index(drop=True))


def test_recovery_counts_what_is_memorized_and_generated_and_what_samples_miss():
    book = [(-12.5, -12.5), (-3.5, -3.5), (-15.5, -10.5), (-35.5, -35.5), (-15.5, -15.5)]
    made = case(book, [(-30.2, -20.2)])
    beams = pd.DataFrame(
        {
            "window_id": [f"b:{i}" for i in range(4)],
            "prefix_tokens": 1,
            "top_distance": pd.array([0, 2, None, 0], dtype="Int64"),
            "pool_distance": pd.array([0, 0, 3, 0], dtype="Int64"),
        }
    )
    frame = recovery([made], [beams], thresholds([made], 1), BUDGET, decoding="base")
    rows = frame.set_index(["match", "output"])
    # suffixes are 4-14, 10-20, 16-26, ...; window 3 is below the threshold, window 4 not searched
    assert rows["n_recovered"].to_dict() == {
        ("verbatim", "top-1"): 1, ("verbatim", "pool"): 2,
        ("near-verbatim", "top-1"): 2, ("near-verbatim", "pool"): 3,
    }  # fmt: skip
    assert rows.loc[("verbatim", "pool"), ["recovered_chars", "beyond_chars"]].tolist() == [16, 6]
    near = rows.loc[("near-verbatim", "pool"), ["recovered_chars", "beyond_chars"]]
    assert near.tolist() == [22, 12]
    assert (rows["n_searched"] == 4).all()


def test_truth_sets_what_was_planted_beside_what_is_found():
    made = case([(-3.5, -3.5), (-50.0, -50.0)], [(-30.2, -20.2)])
    passages = pd.DataFrame(
        {
            "passage_id": ["b:0", "b:1", "c:0"],
            "document_id": ["b", "b", "c"],
            "start_char": [0, 12, 0],
            "end_char": [10, 20, 60],
        }
    )
    splits = pd.DataFrame({"passage_id": ["b:0", "b:1", "c:0"], "repetitions": [32, 1, 64]})
    rows = truth([made], thresholds([made], 1), passages, splits)
    own = rows[rows["procedure"] == "base"].set_index("repetitions")
    assert own["characters"].to_dict() == {0: 42, 1: 8, 32: 10}
    assert own["memorized_chars"].to_dict() == {0: 2, 1: 2, 32: 6}
    assert own["found"].to_dict() == pytest.approx({0: 2 / 42, 1: 0.25, 32: 0.6})


def test_results_fit_their_tables(tmp_path):
    made = case([(-3.5, -3.5)] * 3, [(-30.2, -math.inf)])
    found = thresholds([made], 1)
    beams = pd.DataFrame(
        {
            "window_id": ["b:0"],
            "prefix_tokens": 1,
            "top_distance": pd.array([None], dtype="Int64"),
            "pool_distance": pd.array([0], dtype="Int64"),
        }
    )
    passages = pd.DataFrame(
        {"passage_id": ["b:0"], "document_id": ["b"], "start_char": [0], "end_char": [10]}
    )
    splits = pd.DataFrame({"passage_id": ["b:0"], "repetitions": [1]})
    for schema, frame in (
        (CENSUS_THRESHOLDS, found),
        (CENSUS, coverage([made], found, BUDGET)),
        (CENSUS_CURVES, curves([made], found, BUDGET)),
        (CENSUS_HEAT, heat_runs([made], BUDGET)),
        (CENSUS_RECOVERY, recovery([made], [beams], found, BUDGET, decoding="base")),
        (CENSUS_TRUTH, truth([made], found, passages, splits)),
    ):
        schema.write(frame, tmp_path / "t.parquet", Provenance("test"))
        assert len(schema.read(tmp_path / "t.parquet")) == len(frame)
