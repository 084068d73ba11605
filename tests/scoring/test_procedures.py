import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfoil.errors import InvalidConfiguration, InvalidTable
from memfoil.scoring import derive
from memfoil.tables import SCORES, Provenance

PROCEDURES = ["greedy", "base", "top-2", "top-40"]
SUFFIX = 6

logs = st.one_of(st.floats(-50, 0), st.just(0.0))
token = st.tuples(
    st.one_of(logs, st.just(-np.inf)), st.sampled_from([1, 1, 1, 2, 3, 40, 41, 999]), logs, logs
)
token_tables = st.lists(st.lists(token, min_size=SUFFIX, max_size=SUFFIX), min_size=1, max_size=6)


def frame(sequences):
    rows = [
        (f"s{i}", position, *values)
        for i, values_of in enumerate(sequences)
        for position, values in enumerate(values_of, start=1)
    ]
    names = ["sequence_id", "position", "log_probability", "rank"]
    return pd.DataFrame(rows, columns=[*names, "log_mass_top_2", "log_mass_top_40"])


def by_definition(tokens, procedure):
    """One token after the other."""
    score = 0.0
    for log_probability, rank, mass_2, mass_40 in tokens:
        if procedure == "greedy":
            score += 0.0 if rank == 1 else -np.inf
        elif procedure == "base":
            score += log_probability
        else:
            k, mass = {"top-2": (2, mass_2), "top-40": (40, mass_40)}[procedure]
            score += log_probability - mass if rank <= k else -np.inf
    return min(score, 0.0)


@settings(deadline=None, max_examples=40)
@given(token_tables, st.sets(st.integers(1, SUFFIX), min_size=1))
def test_scores_are_the_token_by_token_definition(sequences, lengths):
    scores = derive(frame(sequences), procedures=PROCEDURES, suffix_lengths=lengths)
    assert len(scores) == len(sequences) * len(PROCEDURES) * len(lengths)
    for row in scores.itertuples():
        expected = by_definition(
            sequences[int(row.sequence_id[1:])][: row.suffix_tokens], row.procedure
        )
        assert row.log_score == pytest.approx(expected, abs=1e-9)


@settings(deadline=None, max_examples=40)
@given(token_tables)
def test_a_longer_suffix_is_never_likelier_under_base_and_greedy(sequences):
    scores = derive(
        frame(sequences), procedures=["base", "greedy"], suffix_lengths=range(1, SUFFIX + 1)
    )
    for _, each in scores.groupby(["sequence_id", "procedure"]):
        values = each.sort_values("suffix_tokens")["log_score"].to_numpy()
        assert (values[1:] <= values[:-1]).all()


@settings(deadline=None, max_examples=40)
@given(token_tables, st.randoms(use_true_random=False))
def test_order_of_rows_changes_nothing(sequences, random):
    tokens = frame(sequences)
    order = list(range(len(tokens)))
    random.shuffle(order)
    key = ["sequence_id", "procedure", "suffix_tokens"]
    whole, shuffled = (
        derive(table, procedures=PROCEDURES, suffix_lengths=[1, SUFFIX]).sort_values(
            key, ignore_index=True
        )
        for table in (tokens, tokens.iloc[order])
    )
    pd.testing.assert_frame_equal(whole, shuffled, check_exact=True)


def test_scores_fit_their_table(tmp_path):
    tokens = frame([[(-1.0, 1, -0.5, -0.1)] * SUFFIX] * 3)
    scores = derive(tokens, procedures=PROCEDURES, suffix_lengths=range(1, SUFFIX + 1))
    SCORES.write(scores, tmp_path / "s.parquet", Provenance("test"))
    pd.testing.assert_frame_equal(SCORES.read(tmp_path / "s.parquet"), scores)


@pytest.mark.parametrize(
    ("procedures", "lengths", "message"),
    [
        (["top-5"], [1], r"log_mass_top_5 was not scored \(there are log_mass_top_2, log_mass_top"),
        (["beam"], [1], "decoding policy 'beam' is unknown"),
        (["top-0"], [1], "decoding policy 'top-0' is unknown"),
        (["top-40x"], [1], "decoding policy 'top-40x' is unknown"),
        ([], [1], "name at least one"),
        (["base"], [], "give numbers from 1 on"),
        (["base"], [0, 1], "give numbers from 1 on"),
        (["base"], [SUFFIX + 1], "7 tokens are asked for, but sequence s0 was scored for 6"),
    ],
)
def test_what_was_not_scored_is_refused(procedures, lengths, message):
    with pytest.raises(InvalidConfiguration, match=message):
        derive(
            frame([[(-1.0, 1, -0.5, -0.1)] * SUFFIX]), procedures=procedures, suffix_lengths=lengths
        )


def test_missing_positions_are_found():
    tokens = frame([[(-1.0, 1, -0.5, -0.1)] * SUFFIX] * 2)
    holed = tokens[(tokens["sequence_id"] != "s1") | (tokens["position"] != 3)]
    with pytest.raises(InvalidTable, match="sequence_id s1: 5 positions up to 6; some are missing"):
        derive(holed, procedures=["base"], suffix_lengths=[5])


def test_what_is_unknown_behind_an_impossible_token_changes_nothing():
    name = "temperature-0.7+top-40+top-p-0.95"
    tokens = frame([[(-1.0, 1, -0.5, -0.1)] * SUFFIX] * 2)
    known = [-0.1, -0.2, -0.3, -np.inf, np.nan, np.nan]
    tokens["log_probability_temperature_0.7_top_40_top_p_0.95"] = known + [-1.0] * SUFFIX
    scores = derive(tokens, procedures=[name], suffix_lengths=range(1, SUFFIX + 1))
    expected = [-0.1, -0.3, -0.6, -np.inf, -np.inf, -np.inf, *range(-1, -SUFFIX - 1, -1)]
    np.testing.assert_allclose(scores["log_score"], expected)
    with pytest.raises(InvalidConfiguration, match=r"was not scored .* add it to scoring/policies"):
        derive(tokens, procedures=["temperature-0.8"], suffix_lengths=[1])
