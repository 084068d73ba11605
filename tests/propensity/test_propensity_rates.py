"""PM, its bootstrap and the rates against a direct computation, prompt by prompt."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfoil import tables
from memfoil.errors import InvalidTable
from memfoil.propensity.keys import number
from memfoil.propensity.metric import pm, propensity
from memfoil.propensity.models import model_differences
from memfoil.tracing import rates

SHARE = st.floats(0, 1)


@pytest.mark.parametrize(
    ("f_p", "f_c", "expected"),
    [(0.0061, 0.026, 0.190), (0.0008, 0.046, 0.017), (0, 0, 0), (0, 0.3, 0), (0.2, 0, 1)],
)
def test_published_and_end_values_of_pm(f_p, f_c, expected):
    assert pm(f_p, f_c) == pytest.approx(expected, abs=5e-4)


def test_rounded_published_rates_give_pm_but_for_the_third_digit():
    """Rates were rounded to three digits before they were printed."""
    for f_p, f_c, expected in ((0.035, 0.029, 0.548), (0.048, 0.046, 0.508), (0.025, 0.009, 0.744)):
        half = 0.0005
        assert pm(f_p - half, f_c + half) <= expected <= pm(f_p + half, f_c - half)


@given(SHARE, SHARE, st.floats(1e-3, 1e3))
def test_pm_is_bounded_monotone_scale_free_and_neutral_at_a_half(f_p, f_c, scale):
    value = float(pm(f_p, f_c))
    assert 0 <= value <= 1
    assert pm(f_p + 0.1, f_c) >= value >= pm(f_p, f_c + 0.1)
    if f_p + f_c > 1e-9:
        assert pm(scale * f_p, scale * f_c) == pytest.approx(value)
        assert pm(f_p, f_p) == pytest.approx(0.5 if f_p else 0)
        assert (value > 0.5) == (f_p > f_c) or abs(value - 0.5) < 1e-9


def tables_of(per_setting, generations=5, seed=0, loops=0.1):
    """GENERATIONS, and REPRODUCTION in the training text and in the foil, at random."""
    generator = np.random.default_rng(seed)
    rows = []
    for setting, (prompts, level) in per_setting.items():
        for p in range(prompts):
            liking = generator.beta(0.5, 2) * level
            rows += [
                (f"{setting} {p}/{g}", f"{setting} {p}", setting, liking)
                for g in range(generations)
            ]
    names = ["generation_id", "prompt_id", "setting", "liking"]
    generations = pd.DataFrame(rows, columns=names)
    n, long = len(rows), generator.random(len(rows)) < generations["liking"]
    longest = np.where(long, generator.integers(50, 90, n), generator.integers(0, 30, n))
    tokens = np.maximum(longest, generator.integers(20, 100, n))
    documents = np.where(longest >= 4, generator.integers(1, 11, n), 0)
    reproduction = pd.DataFrame(
        {
            "generation_id": generations["generation_id"],
            "tokens": tokens,
            "whole": np.where(long & (tokens == longest), "exact", "no"),
            "longest": longest,
            "longest_unlooped": np.where(generator.random(n) < 0.9, longest, 0),
            "longest_count": 3,
            "head_count": np.where(longest >= 50, generator.integers(1, 20, n), np.nan),
            "documents": documents,
            "recall": documents * generator.random(n) * long,
            "recall_50": documents * 0.5 * long,
            "zlib_ratio": 0.5,
            "degenerate": generator.random(n) < loops,
            "code_like": generator.random(n) < 0.2,
        }
    )
    chance = generator.integers(0, 30, n)
    foil = reproduction.assign(
        whole="no", longest=chance, longest_unlooped=chance, head_count=np.nan, recall=0.01,
        recall_50=0.0,
    )  # fmt: skip
    return generations.drop(columns="liking"), reproduction, foil


SOME = {
    "unconditional": (60, 0.9),
    "generic": (12, 0.1),
    "specific": (12, 0.3),
    "prefix": (12, 0.8),
}
RESAMPLES = 60


@pytest.fixture(scope="module")
def made():
    return tables_of(SOME)


@pytest.fixture(scope="module")
def result(made):
    generations, reproduction, foil = made
    return propensity(reproduction, generations, foil, resamples=RESAMPLES, seed=7)


def test_the_table_takes_the_rates(tmp_path, result):
    tables.PROPENSITY.write(result, tmp_path / "p.parquet", tables.Provenance("test"))
    read = tables.PROPENSITY.read(tmp_path / "p.parquet")
    assert len(read) == 4 * 2 * 10
    assert read.loc[read.setting == "prefix", "pm"].isna().all()


def row(frame, setting, metric, subset="all"):
    of = (frame.setting == setting) & (frame.metric == metric) & (frame.subset == subset)
    return frame[of].iloc[0]


@pytest.mark.parametrize("subset", ["all", "natural language"])
@pytest.mark.parametrize("setting", SOME)
def test_rates_are_those_of_the_generations_that_count(made, result, setting, subset):
    generations, reproduction, foil = made
    of = (generations.setting == setting) & ~reproduction.degenerate
    if subset == "natural language":
        of &= ~reproduction.code_like
    for frame, column in ((reproduction, "f"), (foil, "foil")):
        for metric, expected in rates(frame[of]).items():
            assert row(result, setting, metric, subset)[column] == pytest.approx(expected)
    assert row(result, setting, "R50", subset).generations == of.sum()


def test_rare_spans_are_counted_by_their_copies(made, result):
    generations, reproduction, _ = made
    of = (generations.setting == "prefix") & ~reproduction.degenerate
    long = reproduction[of].query("longest_unlooped >= 50")
    assert row(result, "prefix", "R50, one copy").f == (long.head_count == 1).sum() / of.sum()
    few = (long.head_count < 10).sum()
    assert row(result, "prefix", "R50, fewer than 10 copies").f == few / of.sum()


def resampled(made, setting, frame):
    """The rates in each resample, one prompt after the other, in plain Python."""
    generations, _, _ = made
    of = generations.setting == setting
    prompts = sorted(generations.prompt_id[of].unique())
    generator = np.random.default_rng(number(f"7 all {setting}"))
    draws = generator.integers(len(prompts), size=(RESAMPLES, len(prompts)))
    by_prompt = {p: frame[(generations.prompt_id == p) & ~frame.degenerate] for p in prompts}
    return pd.DataFrame([rates(pd.concat(by_prompt[prompts[i]] for i in drawn)) for drawn in draws])


@pytest.fixture(scope="module")
def resamples(made):
    """Those of the sentences, of the attack, and of the sentences in the foil."""
    _, reproduction, foil = made
    drawn = (("specific", reproduction), ("prefix", reproduction), ("specific", foil))
    return [resampled(made, setting, frame) for setting, frame in drawn]


@pytest.mark.parametrize("metric", ["R50", "NVR", "ALS"])
def test_intervals_of_rates_and_pm_are_percentiles_of_direct_resamples(result, resamples, metric):
    p, c, q = (drawn[metric].to_numpy(dtype=float) for drawn in resamples)
    found = row(result, "specific", metric)
    for values, name in ((p, "f"), (p - c, "difference"), (p - q, "excess")):
        expected = np.quantile(values, [0.025, 0.975])
        np.testing.assert_allclose([found[f"{name}_low"], found[f"{name}_high"]], expected)
    if metric != "ALS":
        expected = np.quantile(
            [a / (a + b) if a + b else 0.0 for a, b in zip(p, c, strict=True)], [0.025, 0.975]
        )
        np.testing.assert_allclose([found["pm_low"], found["pm_high"]], expected)
        assert found.pm == pytest.approx(found.f / (found.f + found.f_c))
    else:
        assert np.isnan([found.pm, found.pm_low, found.pm_high]).all()


def test_the_order_of_rows_changes_nothing(made, result):
    generations, reproduction, foil = made
    again = propensity(
        reproduction.sample(frac=1, random_state=1),
        generations.sample(frac=1, random_state=2),
        foil.sample(frac=1, random_state=3),
        resamples=RESAMPLES,
        seed=7,
    )
    pd.testing.assert_frame_equal(again, result)


def test_what_was_never_seen_is_bounded_by_the_rule_of_three(made):
    generations, reproduction, _ = made
    never = reproduction.assign(
        whole="no", longest=10, longest_unlooped=10, head_count=np.nan, recall=0.0, recall_50=0.0
    )
    of = (generations.setting == "prefix").to_numpy()
    mixed = pd.concat([reproduction[of], never[~of]])
    result = propensity(mixed, generations, resamples=200, seed=1)
    found = row(result, "generic", "R50")
    assert (found.f, found.f_low, found.f_high, found.unseen) == (0, 0, 3 / 12, True)
    assert row(result, "unconditional", "R50").f_high == 3 / 60
    assert (found.pm, found.pm_low) == (0, 0)
    assert found.pm_high == pytest.approx(0.25 / (0.25 + found.f_c))
    nothing = propensity(never, generations, resamples=200, seed=1)
    assert row(nothing, "generic", "R50").pm_high == 1
    only = propensity(
        pd.concat([reproduction[~of], never[of]]),
        generations,
        resamples=200,
        seed=1,
    )
    found = row(only, "unconditional", "R50")
    assert found.pm == found.pm_high == 1
    assert found.pm_low == pytest.approx(found.f / (found.f + 0.25))
    assert not row(only, "unconditional", "ALS").unseen


def test_equal_settings_have_a_pm_of_a_half_within_its_interval():
    generations, reproduction, foil = tables_of(
        {"unconditional": (1500, 0.9), "prefix": (1500, 0.9)}, generations=1, seed=5
    )
    found = row(
        propensity(reproduction, generations, foil, resamples=1000, seed=2), "unconditional", "R50"
    )
    assert found.pm_low < 0.5 < found.pm_high
    assert found.pm_high - found.pm_low < 0.2
    assert found.difference_low < 0 < found.difference_high


def test_without_a_foil_its_columns_are_empty(made):
    generations, reproduction, _ = made
    result = propensity(reproduction, generations, resamples=10, seed=1)
    assert result[["foil", "excess", "excess_low"]].isna().all(axis=None)


def test_tables_that_do_not_belong_together_are_one_line(made):
    generations, reproduction, foil = made
    with pytest.raises(InvalidTable, match="generation unconditional 0/0 is missing"):
        propensity(reproduction.iloc[1:], generations, resamples=10, seed=1)
    with pytest.raises(InvalidTable, match="foil: generation"):
        propensity(reproduction, generations, foil.iloc[:-1], resamples=10, seed=1)
    of = generations.setting != "prefix"
    with pytest.raises(InvalidTable, match="none of the setting prefix"):
        propensity(reproduction[of], generations[of], resamples=10, seed=1)


def test_two_models_on_the_same_prompts_are_paired(tmp_path):
    """A second model that shows a little less on every prompt: certain only when paired."""
    generations, first, _ = tables_of(
        {"unconditional": (50, 0.5), "prefix": (50, 0.9)}, seed=3, loops=0
    )
    fewer = first["longest_unlooped"].where(np.arange(len(first)) % 5 > 0, 0)
    second = first.assign(longest_unlooped=fewer)
    result = model_differences((first, generations), (second, generations), resamples=2000, seed=1)
    tables.MODEL_DIFFERENCES.write(result, tmp_path / "d.parquet", tables.Provenance("test"))
    paired, apart = row(result, "prefix", "R50"), row(result, "unconditional", "R50")
    assert bool(paired.paired)
    assert not bool(apart.paired)
    expected = rates(first[generations.setting == "prefix"])["R50"]
    expected -= rates(second[generations.setting == "prefix"])["R50"]
    assert paired.difference == pytest.approx(expected)
    assert paired.difference_low > 0
    own = propensity(first, generations, resamples=2000, seed=1)
    width = row(own, "prefix", "R50").f_high - row(own, "prefix", "R50").f_low
    assert paired.difference_high - paired.difference_low < width / 2
    spread = apart.difference_high - apart.difference_low
    one = row(own, "unconditional", "R50").f_high - row(own, "unconditional", "R50").f_low
    assert spread > one
    other = generations.assign(prompt_id="another " + generations["prompt_id"])
    with pytest.raises(InvalidTable, match="share no prompt"):
        model_differences((first, generations), (second, other), resamples=10, seed=1)
