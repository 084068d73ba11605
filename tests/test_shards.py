"""A stage that was killed goes on where it stopped, and ends with the same table."""

import pandas as pd
import pytest

from memfoil.tables import CENSUS_SCORES, TOKEN_SCORES, Provenance, write_in_shards


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


@pytest.mark.parametrize("field", ["inputs", "parameters", "code", "seed"])
def test_shards_of_another_state_are_not_used(tmp_path, field):
    path, done = tmp_path / "t.parquet", []
    with pytest.raises(Killed):
        stage(path, done, dies_at=2)
    changed = {"inputs": {"a": "b"}, "parameters": {"a": 1}, "code": "x", "seed": 1}[field]
    stage(path, done, provenance=Provenance("score", **{field: changed}))
    assert done == [0, 1, 0, 1, 2, 3, 4]
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_numbered_columns_of_a_family_are_kept(tmp_path):
    def work(number: int) -> pd.DataFrame:
        row = {"sequence_id": [str(number)], "position": 1, "log_probability": -1.0, "rank": 1}
        return pd.DataFrame(row | {"log_mass_top_7": -0.5})

    write_in_shards(range(3), work, TOKEN_SCORES, tmp_path / "t.parquet", Provenance("score"))
    assert TOKEN_SCORES.read(tmp_path / "t.parquet")["log_mass_top_7"].tolist() == [-0.5] * 3


def test_without_an_item_the_table_is_empty(tmp_path):
    stage(tmp_path / "t.parquet", [], n=0)
    assert CENSUS_SCORES.read(tmp_path / "t.parquet").empty
