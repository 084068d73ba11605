"""A stage that was killed goes on where it stopped, and ends with the same table."""

import pandas as pd
import pytest

from memfoil.census.shards import write_in_shards
from memfoil.tables import CENSUS_SCORES, Provenance


class Killed(BaseException):
    pass


def rows(number: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "window_id": [f"d:{number}"],
            "prefix_tokens": 50,
            "procedure": "base",
            "log_score": -1.0 * number,
        }
    )


def stage(path, done, *, dies_at=None, provenance=None, n=5):
    def work(number: int) -> pd.DataFrame:
        if number == dies_at:
            raise Killed
        done.append(number)
        return rows(number)

    write_in_shards(range(n), work, CENSUS_SCORES, path, provenance or Provenance("score"))


def test_what_was_finished_is_not_done_again_and_the_table_is_the_same(tmp_path):
    whole, again = tmp_path / "whole.parquet", tmp_path / "again.parquet"
    stage(whole, [])
    done: list[int] = []
    with pytest.raises(Killed):
        stage(again, done, dies_at=3)
    assert not again.exists()
    stage(again, done)
    assert done == [0, 1, 2, 3, 4]
    assert again.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.parquet", "whole.parquet"]


@pytest.mark.parametrize("field", ["inputs", "configuration", "code", "seed"])
def test_shards_of_another_state_are_not_used(tmp_path, field):
    path, done = tmp_path / "t.parquet", []
    with pytest.raises(Killed):
        stage(path, done, dies_at=2)
    changed = {"inputs": {"a": "b"}, "configuration": "x", "code": "x", "seed": 1}[field]
    stage(path, done, provenance=Provenance("score", **{field: changed}))
    assert done == [0, 1, 0, 1, 2, 3, 4]
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]
