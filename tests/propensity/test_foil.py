"""The foil: of the training text's size, apart from it, and a null that holds."""

import numpy as np
import pandas as pd
import pytest
from test_propensity_rates import tables_of

from memfoil import tables, testbed
from memfoil.errors import InvalidConfiguration, InvalidScores
from memfoil.propensity.foil import foil_splits
from memfoil.propensity.spans import span_rates, span_scores
from memfoil.stats import conformal

DATES = {"cutoff": "1990-01-01", "first": "1900-01-01"}


@pytest.fixture(scope="module")
def dated():
    generator = np.random.default_rng(0)
    days = pd.Timestamp("1880-01-01") + pd.to_timedelta(generator.integers(0, 50_000, 800), "D")
    names = [f"p{i}" for i in range(800)]
    return pd.DataFrame({"passage_id": names, "text": [f"text {n}" for n in names], "date": days})


@pytest.fixture(scope="module")
def splits(dated):
    return testbed.split(
        dated, **DATES, held_out=50, planted_per_level=4, repetitions=[2, 8],
        training_passages=100, leaked=5, leaked_repetitions=3, seed=1,
    )  # fmt: skip


def test_the_foil_has_the_size_and_the_repetitions_of_the_training_text(dated, splits):
    foil = foil_splits(splits, dated, **DATES, seed=1)

    def shape(frame):
        return frame[frame.repetitions > 0].groupby(["split", "repetitions"]).size().to_dict()

    assert shape(foil) == shape(splits)
    assert sum(shape(foil).values()) == 113


def test_the_foil_is_drawn_from_the_same_years_and_from_nothing_else_used(dated, splits):
    foil = foil_splits(splits, dated, **DATES, seed=1)
    members = set(foil.passage_id[foil.repetitions > 0])
    before = splits.set_index("passage_id")["split"]
    assert set(before[list(members)]) <= {"unused", "post-cutoff"}
    dates = dated.set_index("passage_id")["date"]
    once = foil.passage_id[foil.split.isin(["training", "planted"])]
    assert dates[once].between("1900-01-01", "1989-12-31").all()


def test_too_few_passages_for_a_foil_are_one_line(dated, splits):
    taken = splits.assign(split=splits.split.where(splits.repetitions > 0, "held-out"))
    with pytest.raises(InvalidConfiguration, match=r"propensity/foil: .* are left over") as caught:
        foil_splits(taken, dated, **DATES, seed=1)
    assert "\n" not in str(caught.value)


SOME = {"unconditional": (300, 0.8), "generic": (60, 0.0), "prefix": (60, 0.9)}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    generations, reproduction, foil = tables_of(SOME, loops=0.05)
    path = tmp_path_factory.mktemp("scores") / "span_scores.parquet"
    scores = span_scores(reproduction, foil, generations)
    tables.SPAN_SCORES.write(scores, path, tables.Provenance("test"))
    return path, generations, reproduction, foil


def test_scores_are_the_longest_spans_of_every_generation_in_both_texts(made):
    path, _, reproduction, foil = made
    scores = tables.SPAN_SCORES.read(path)
    sound = (~reproduction.degenerate).sum()
    assert scores.role.value_counts().to_dict() == {"candidate": sound, "control": sound}
    for role, frame in (("candidate", reproduction), ("control", foil)):
        found = scores.score[scores.role == role].sort_values().tolist()
        assert found == sorted(frame.longest_unlooped[~frame.degenerate])


def test_rates_are_those_of_the_one_calibration(made):
    path, generations, reproduction, foil = made
    rates = span_rates(path, generations, [0.02, 0.1], resamples=200, seed=1)
    for row in rates.itertuples():
        of = (generations.setting == row.setting) & ~reproduction.degenerate
        controls = foil.longest_unlooped[of].to_numpy(float)
        threshold = conformal.threshold(controls, row.alpha)
        assert (row.k, row.alpha_n, row.tau) == (threshold.k, threshold.alpha_n, threshold.log_tau)
        claims = reproduction.longest_unlooped[of] > row.tau
        assert row.n_claims == claims.sum()
        assert row.generation_rate == pytest.approx(claims.mean())
        assert row.calibrated_rate == pytest.approx(claims.mean() - row.alpha_n)
        assert row.generation_low <= row.generation_rate <= row.generation_high
    free, prompted = (
        rates[(rates.setting == s) & (rates.alpha == 0.1)].iloc[0]
        for s in ("unconditional", "prefix")
    )
    assert prompted.calibrated_low > 0
    assert free.n_controls > prompted.n_controls


def test_the_same_file_goes_through_the_calibrate_command(made, capsys):
    from memfoil.cli import main

    assert main(["calibrate", str(made[0]), "--alpha", "0.1", "--json"]) in (0, None)
    assert '"procedure": "unconditional"' in capsys.readouterr().out


def test_a_model_that_memorized_nothing_is_claimed_at_the_certified_rate():
    """Training text and foil exchangeable: the claimed share is alpha_N on average."""
    generator = np.random.default_rng(5)
    shares = []
    for _ in range(200):
        both = generator.geometric(0.2, (2, 200))
        shares.append((both[0] > conformal.threshold(both[1].astype(float), 0.1).log_tau).mean())
    mean, error = np.mean(shares), np.std(shares) / np.sqrt(200)
    assert mean <= 20 / 201 + 2 * error


def test_too_few_generations_for_a_rate_are_one_line(made):
    path, generations, _, _ = made
    with pytest.raises(InvalidScores, match="smallest certifiable level"):
        span_rates(path, generations, [0.0001], resamples=10, seed=1)
