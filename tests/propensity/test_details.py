"""Lengths, copies, repeated sampling and extraction, worked by hand."""

import numpy as np
import pandas as pd
import pytest

from memfoil import tables
from memfoil.propensity.details import copies, extracted, prompt_texts, prompted, span_lengths


def write(table, frame, folder):
    table.write(frame, folder / "t.parquet", tables.Provenance("test"))
    return table.read(folder / "t.parquet")


GENERATIONS = pd.DataFrame(
    [
        ("p1/0", "p1", "prefix", "the cat sat on the mat and slept"),
        ("p1/1", "p1", "prefix", "the  cat\nsat on the mat, too"),
        ("p2/0", "p2", "prefix", "a dog"),
        ("p2/1", "p2", "prefix", "the cat sat on the mat"),
        ("p3/0", "p3", "prefix", "anything"),
        ("g1/0", "g1", "generic", "well"),
        ("g1/1", "g1", "generic", "now"),
        ("u1/0", "u1", "unconditional", "so"),
    ],
    columns=["generation_id", "prompt_id", "setting", "text"],
)
REPRODUCTION = pd.DataFrame(
    {
        "generation_id": GENERATIONS.generation_id,
        "tokens": [60, 60, 10, 60, 60, 20, 5, 60],
        "whole": ["exact", "no", "exact", "no", "no", "normalized", "exact", "no"],
        "longest": [60, 30, 10, 55, 80, 20, 5, 70],
        "longest_unlooped": [60, 30, 10, 55, 80, 20, 5, 0],
        "longest_count": [1, 2, 1, 4, 1, 9, 9, 0],
        "head_count": [1, np.nan, np.nan, 12, 1, np.nan, np.nan, np.nan],
        "documents": 1,
        "recall": 0.0,
        "recall_50": 0.0,
        "zlib_ratio": 0.5,
        "degenerate": [False] * 4 + [True] + [False] * 3,
        "code_like": False,
    }
)
PROMPTS = pd.DataFrame(
    {
        "prompt_id": ["p1", "p2", "p3", "g1", "u1"],
        "setting": ["prefix"] * 3 + ["generic", "unconditional"],
        "continuation": ["the cat sat on the mat", "the cow", "x", None, None],
        "occurrences": [1, 20, 1, np.nan, np.nan],
    }
)


def test_the_share_of_spans_at_least_so_long(tmp_path):
    frame = write(
        tables.SPAN_LENGTHS,
        span_lengths(REPRODUCTION, GENERATIONS).assign(text="training"),
        tmp_path,
    )
    prefix = frame[frame.setting == "prefix"].set_index("tokens").share
    assert prefix.index.tolist() == list(range(1, 61))
    assert prefix[[1, 10, 11, 30, 31, 55, 56, 60]].tolist() == [
        1, 1, 0.75, 0.75, 0.5, 0.5, 0.25, 0.25,
    ]  # fmt: skip
    assert frame[frame.setting == "unconditional"].share.tolist() == [0]


def test_copies_of_long_spans(tmp_path):
    frame = write(tables.SPAN_COPIES, copies(REPRODUCTION, GENERATIONS), tmp_path)
    prefix = frame.set_index("setting").loc["prefix"]
    assert prefix[["generations", "long", "only_loops"]].tolist() == [4, 2, 0]
    assert prefix[["median_copies", "fewer_than_10", "one", "whole_span_once"]].tolist() == [
        6.5, 0.5, 0.5, 0.5,
    ]  # fmt: skip
    other = frame.set_index("setting").loc[["generic", "unconditional"]]
    assert other.only_loops.tolist() == [0, 1]
    assert other.one.isna().all()


def test_extraction_is_the_documents_own_continuation_white_space_aside():
    assert extracted(GENERATIONS, PROMPTS).tolist() == [True, True] + [False] * 6
    assert not extracted(GENERATIONS, PROMPTS.assign(continuation=None)).any()


def test_per_generation_and_at_least_once(tmp_path):
    frame = write(
        tables.PROMPTED,
        prompted(REPRODUCTION, GENERATIONS, PROMPTS, resamples=2000, seed=1),
        tmp_path,
    ).set_index(["setting", "event", "occurrences"])
    assert "unconditional" not in frame.index.get_level_values("setting")
    row = frame.loc["prefix", "R50", "all"]
    # p3's only generation is a loop of symbols
    assert row[["prompts", "generations"]].tolist() == [2, 4]
    assert row[["rate", "at_least_once", "mean_when_seen"]].tolist() == [0.5, 1.0, 1.0]
    assert (row.once_low, row.once_high) == (1, 1)
    row = frame.loc["prefix", "extraction", "all"]
    assert row[["rate", "at_least_once", "mean_when_seen"]].tolist() == [0.5, 0.5, 2.0]
    assert (row.rate_low, row.rate_high) == (0, 1)
    assert frame.loc["prefix", "extraction", "1"].rate == 1
    none = frame.loc["prefix", "extraction", "10-99"]
    assert (none.rate, none.rate_high, none.once_high) == (0, 1, 1)
    assert frame.loc["generic", "FMR20", "all"][["rate", "at_least_once"]].tolist() == [0.5, 1.0]


def test_what_prompts_match_by_themselves(tmp_path):
    prompts = pd.DataFrame(
        {
            "setting": ["generic"] * 50 + ["specific"] * 50,
            "token_ids": [[1] * 10] * 100,
            "longest": [4, 6] * 25 + [5, 25] * 25,
            "similarity": [0.2, 0.4] * 25 + [0.5, 0.7] * 25,
        }
    )
    frame = write(tables.PROMPT_TEXTS, prompt_texts(prompts, resamples=4000, seed=1), tmp_path)
    generic, specific = (frame.iloc[i] for i in (0, 1))
    assert generic[["mean_longest", "share_20", "longest"]].tolist() == [5, 0, 6]
    assert specific[["mean_longest", "share_20", "longest"]].tolist() == [15, 0.5, 25]
    assert specific.closer == pytest.approx(0.3)
    assert np.isnan(generic.closer)
    # two means of 50 values of spread 0.1
    assert specific.closer_high - specific.closer_low == pytest.approx(4 * 0.02, rel=0.1)
