"""Who is trained on is drawn passage by passage, and stays drawn when others come and go."""

import datetime

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfoil.errors import InvalidConfiguration
from memfoil.tables import SPLITS, Provenance
from memfoil.testbed import split

FIRST, CUTOFF = datetime.date(1900, 1, 1), datetime.date(1990, 1, 1)
DAYS = st.dates(datetime.date(1850, 1, 1), datetime.date(2026, 1, 1))


def passages(dates: list[datetime.date], start: int = 0) -> pd.DataFrame:
    """One passage per date; only ids and dates matter to a split."""
    names = [f"address-{i // 3}:{i % 3}" for i in range(start, start + len(dates))]
    return pd.DataFrame({"passage_id": names, "date": pd.to_datetime(dates)})


def eligible(dates: list[datetime.date]) -> int:
    return sum(FIRST <= date < CUTOFF for date in dates)


@st.composite
def requests(draw: st.DrawFn, at_most: int) -> dict:
    """Counts that together ask for at most so many passages."""
    levels = draw(st.lists(st.integers(2, 64), min_size=1, max_size=4, unique=True))
    per_level = draw(st.integers(0, at_most // len(levels)))
    rest = at_most - per_level * len(levels)
    held_out = draw(st.integers(0, rest))
    return {
        "held_out": held_out,
        "planted_per_level": per_level,
        "repetitions": levels,
        "training_passages": draw(st.integers(0, rest - held_out)),
        "seed": draw(st.integers(0, 5)),
    }


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[datetime.date], dict]:
    dates = draw(st.lists(DAYS, min_size=1, max_size=60))
    return dates, draw(requests(eligible(dates)))


def divide(frame: pd.DataFrame, request: dict) -> pd.DataFrame:
    return split(frame, cutoff=CUTOFF, first=FIRST, **request)


@settings(max_examples=30)
@given(cases())
def test_every_passage_is_in_one_split_and_each_has_the_number_asked_for(case):
    dates, request = case
    result = divide(passages(dates), request)
    assert result["passage_id"].tolist() == passages(dates)["passage_id"].tolist()
    counts = result.groupby(["split", "repetitions"]).size().to_dict()
    expected = {
        ("held-out", 0): request["held_out"],
        ("training", 1): request["training_passages"],
        ("post-cutoff", 0): sum(date >= CUTOFF for date in dates),
    }
    expected |= {("planted", n): request["planted_per_level"] for n in request["repetitions"]}
    expected["unused", 0] = len(dates) - sum(expected.values())
    assert counts == {key: count for key, count in expected.items() if count}


@settings(max_examples=30)
@given(cases())
def test_the_dates_rule(case):
    dates, request = case
    result = divide(passages(dates), request)
    for date, name in zip(dates, result["split"], strict=True):
        assert (name == "post-cutoff") == (date >= CUTOFF)
        assert name == "unused" or date >= FIRST


@settings(max_examples=30)
@given(cases(), st.randoms())
def test_neither_order_nor_later_documents_change_a_split(case, random):
    dates, request = case
    frame = passages(dates)
    before = divide(frame, request).set_index("passage_id")
    later = passages([datetime.date(1990, 1, 1), datetime.date(2020, 5, 17)], start=len(dates))
    order = random.sample(range(len(dates) + 2), len(dates) + 2)
    after = divide(pd.concat([frame, later]).iloc[order], request).set_index("passage_id")
    assert after.loc[before.index].equals(before)


@settings(max_examples=30)
@given(cases(), st.dates(FIRST, CUTOFF - datetime.timedelta(days=1)))
def test_a_new_passage_moves_at_most_one_other_per_group(case, date):
    dates, request = case
    frame = passages(dates)
    before = divide(frame, request).set_index("passage_id")
    more = pd.concat([frame, passages([date], start=len(dates))])
    after = divide(more, request).set_index("passage_id").loc[before.index]
    moved = (after != before).any(axis=1)
    assert moved.sum() <= 2 + len(request["repetitions"])


def test_a_new_later_passage_moves_at_most_one_other_per_kind_of_leak():
    frame = passages([datetime.date(1980, 1, 1)] * 8 + [datetime.date(2000, 1, 1)] * 40)
    request = {
        "held_out": 2, "planted_per_level": 1, "repetitions": [4], "training_passages": 2,
        "leaked": 30, "leaked_repetitions": 2, "seed": 0,
    }  # fmt: skip
    before = divide(frame, request)
    for start in range(100, 130):
        more = pd.concat([frame, passages([datetime.date(2010, 1, 1)], start=start)])
        after = divide(more, request).head(len(frame))
        assert (after != before).any(axis=1).sum() <= 2


def test_the_seed_decides():
    frame = passages([datetime.date(1950, 1, 1)] * 400)
    request = {
        "held_out": 200, "planted_per_level": 0, "repetitions": [2], "training_passages": 0,
    }  # fmt: skip
    one, two = (divide(frame, request | {"seed": seed})["split"] for seed in (1, 2))
    agreement = (one == two).mean()
    assert 0.35 < agreement < 0.65


def test_too_few_passages_says_how_many_are_needed_and_there():
    request = {
        "held_out": 5, "planted_per_level": 2, "repetitions": [2, 4], "training_passages": 3,
        "seed": 0,
    }  # fmt: skip
    dates = [datetime.date(1950, 1, 1)] * 11 + [datetime.date(1899, 12, 31), CUTOFF]
    with pytest.raises(InvalidConfiguration, match=r"12 passages are needed.* and 11 are there"):
        divide(passages(dates), request)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first": "1990-01-01"}, "first 1990-01-01 is not before cutoff 1990-01-01"),
        ({"cutoff": "the nineties"}, "cutoff: 'the nineties' is not a date"),
        ({"repetitions": [2, 2]}, r"repetitions \[2, 2\]"),
        ({"repetitions": [1, 2]}, r"repetitions \[1, 2\]"),
    ],
)
def test_dates_and_levels_that_are_none(change, message):
    request = {
        "cutoff": "1990-01-01", "first": "1900-01-01", "held_out": 1, "planted_per_level": 1,
        "repetitions": [2], "training_passages": 1, "seed": 0,
    }  # fmt: skip
    with pytest.raises(InvalidConfiguration, match=message):
        split(passages([datetime.date(1950, 1, 1)] * 9), **(request | change))


def test_the_table_fits_its_schema(tmp_path):
    dates = [datetime.date(1950, 1, 1)] * 9 + [CUTOFF]
    request = {
        "held_out": 2, "planted_per_level": 1, "repetitions": [2, 64], "training_passages": 3,
        "seed": 0,
    }  # fmt: skip
    result = divide(passages(dates), request)
    SPLITS.write(result, tmp_path / "splits.parquet", Provenance("split"))
    assert SPLITS.read(tmp_path / "splits.parquet").equals(result)


@settings(max_examples=30)
@given(st.integers(0, 12), st.integers(1, 64))
def test_leaked_passages_come_from_after_the_cutoff_half_of_them_edited(count, times):
    frame = passages([datetime.date(1980, 1, 1)] * 8 + [datetime.date(2000, 1, 1)] * 12)
    request = {"held_out": 2, "planted_per_level": 1, "repetitions": [4], "training_passages": 2}
    plain = divide(frame, request | {"seed": 3})
    result = divide(frame, request | {"seed": 3, "leaked": count, "leaked_repetitions": times})
    leaked = result["split"].str.startswith("leaked")
    assert leaked.sum() == count
    assert (result["split"] == "leaked, edited").sum() == count // 2
    assert (result.loc[leaked, "repetitions"] == times).all()
    assert (plain.loc[leaked, "split"] == "post-cutoff").all()
    pd.testing.assert_frame_equal(plain[~leaked], result[~leaked])


def test_more_leaked_passages_than_there_are_is_refused():
    frame = passages([datetime.date(1980, 1, 1)] * 8 + [datetime.date(2000, 1, 1)])
    request = {"held_out": 2, "planted_per_level": 1, "repetitions": [4], "training_passages": 2}
    with pytest.raises(InvalidConfiguration, match="2 leaked passages are needed and 1 are"):
        divide(frame, request | {"seed": 0, "leaked": 2})
