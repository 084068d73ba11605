"""Documents placed whole: kept out whatever their date, read, or planted in part."""

import datetime

import pandas as pd
import pytest

from memfoil.errors import InvalidConfiguration
from memfoil.testbed import split

REQUEST = {
    "cutoff": "1990-01-01", "held_out": 8, "planted_per_level": 2, "repetitions": [4],
    "training_passages": 10, "leaked": 2, "seed": 0,
}  # fmt: skip


def passages() -> pd.DataFrame:
    """Six documents of ten passages, three before the cutoff, in no order."""
    rows = [
        (f"{name}:{10 * i}-{10 * i + 9}", name, 10 * i, datetime.date(year, 1, 1))
        for name, year in zip("abcdef", (1950, 1960, 1970, 2000, 2001, 2002), strict=True)
        for i in range(10)
    ]
    columns = ["passage_id", "document_id", "start_char", "date"]
    return pd.DataFrame(rows, columns=columns).sample(frac=1, random_state=0, ignore_index=True)


def repetitions(documents: list[dict]) -> pd.DataFrame:
    frame = passages()
    result = split(frame, documents=documents, **REQUEST)
    return frame.merge(result, on="passage_id").sort_values("start_char")


def test_a_document_is_read_or_kept_out_whole_whatever_its_date():
    rows = repetitions([{"document": "a", "repetitions": 0}, {"document": "d", "repetitions": 3}])
    for name, times in (("a", 0), ("d", 3)):
        own = rows[rows["document_id"] == name]
        assert len(own) == 10
        assert (own["split"] == "document").all()
        assert (own["repetitions"] == times).all()


def test_a_stretch_is_read_as_often_as_it_says_in_the_order_of_the_text():
    rows = repetitions(
        [
            {
                "document": "b",
                "repetitions": 1,
                "stretches": [
                    {"from_passage": 2, "passages": 3, "repetitions": 8},
                    {"from_passage": 9, "passages": 1, "repetitions": 2},
                ],
            }
        ]
    )
    own = rows[rows["document_id"] == "b"]
    assert own["repetitions"].tolist() == [1, 1, 8, 8, 8, 1, 1, 1, 1, 2]


def test_what_is_placed_is_drawn_for_nothing_else():
    rows = repetitions([{"document": "a", "repetitions": 0}, {"document": "d", "repetitions": 0}])
    counts = rows[~rows["document_id"].isin(["a", "d"])]["split"].value_counts().to_dict()
    assert counts == {
        "held-out": 8, "training": 10, "planted": 2,
        "post-cutoff": 18, "leaked": 1, "leaked, edited": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([{"document": "x", "repetitions": 1}], "x has no passage in this run"),
        ([{"document": "a", "repetitions": 1}] * 2, "a occurs more than once"),
        (
            [
                {
                    "document": "a",
                    "repetitions": 0,
                    "stretches": [{"from_passage": 8, "passages": 3, "repetitions": 2}],
                }
            ],
            "a has 10 passages; the stretch of 3 from passage 8 on leaves it",
        ),
    ],
)
def test_a_document_that_cannot_be_placed_is_refused(documents, message):
    with pytest.raises(InvalidConfiguration, match=message):
        repetitions(documents)
