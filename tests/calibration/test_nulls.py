"""Scores that cannot be compared are refused, with the place of the mistake."""

import math

import pandas as pd
import pytest
from matched_scores import claims_of, verdicts

from memfoil import calibration
from memfoil.errors import InvalidConfiguration, InvalidScores, InvalidTable


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
