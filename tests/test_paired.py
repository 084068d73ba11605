"""Two models on the same candidates."""

import pandas as pd
import pytest

from memfoil import paired, tables


def claims(claimed, alpha=0.1):
    return pd.DataFrame(
        {
            "control_pool": "c", "decontaminated": True, "procedure": "base", "suffix_tokens": 10,
            "alpha": alpha, "sequence_id": [f"s{n}" for n in range(len(claimed))],
            "claimed": claimed,
        }
    )  # fmt: skip


def test_a_published_example_of_the_paired_interval(tmp_path):
    """Newcombe 1998, method 10: 36, 12, 2 and 0 of 50 give 0.2 from 0.0569 to 0.3404."""
    first = [True] * 48 + [False] * 2
    second = [True] * 36 + [False] * 12 + [True] * 2
    found = paired.differences({"a": claims(first), "b": claims(second)})
    (row,) = found.to_dict("records")
    assert (row["model"], row["minus"], row["n_candidates"]) == ("a", "b", 50)
    assert (row["both"], row["only_model"], row["only_minus"]) == (36, 12, 2)
    assert row["difference"] == pytest.approx(0.2)
    assert (row["low"], row["high"]) == pytest.approx((0.0569, 0.3404), abs=5e-5)
    tables.PAIRED.write(found, tmp_path / "paired.parquet", tables.Provenance("paired"))


def test_the_order_of_candidates_is_of_no_account_and_every_pair_is_there():
    frames = {name: claims([n % step == 0 for n in range(60)]) for name, step in
              (("a", 2), ("b", 3), ("c", 5))}  # fmt: skip
    found = paired.differences(frames)
    assert list(zip(found["model"], found["minus"], strict=True)) == [
        ("a", "b"), ("a", "c"), ("b", "c"),
    ]  # fmt: skip
    shuffled = {name: frame.sample(frac=1, random_state=1) for name, frame in frames.items()}
    columns = ["both", "only_model", "only_minus", "low"]
    assert paired.differences(shuffled)[columns].equals(found[columns])
