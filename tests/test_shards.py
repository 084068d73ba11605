"""A stage that was killed goes on where it stopped, and ends with the same table."""

import pandas as pd
import pytest

from memfoil.errors import InvalidTable
from memfoil.tables import (
    CENSUS_SCORES,
    TABLES,
    TOKEN_SCORES,
    Provenance,
    footer,
    read_share,
    schema,
    shards,
    table_of,
    write_in_shards,
)


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


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 12])
def test_shares_that_are_read_are_the_table_cut(tmp_path, monkeypatch, parts):
    """Wherever what is read together ends."""
    monkeypatch.setattr(shards, "ROWS_TOGETHER", 3)
    path = tmp_path / "t.parquet"
    stage(path, [], n=8)
    own = [read_share(CENSUS_SCORES, path, (part, parts)) for part in range(1, parts + 1)]
    pd.testing.assert_frame_equal(pd.concat(own, ignore_index=True), CENSUS_SCORES.read(path))
    assert max(map(len, own)) - min(map(len, own)) <= 1
    assert all(list(each.index) == list(range(len(each))) for each in own)


def test_a_share_of_nothing_is_nothing(tmp_path):
    stage(tmp_path / "t.parquet", [], n=0)
    assert read_share(CENSUS_SCORES, tmp_path / "t.parquet", (2, 3)).empty


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_is_known_by_its_file(tmp_path, table):
    table.write_parts([], tmp_path / "t.parquet", Provenance("any"))
    assert table_of(tmp_path / "t.parquet") is table


@pytest.mark.parametrize("reads", [footer, table_of, schema.provenance_of])
@pytest.mark.parametrize("content", [None, b"", b"PAR1 cut", b"text"])
def test_what_is_no_table_is_named(tmp_path, reads, content):
    path = tmp_path / "t.parquet"
    if content is not None:
        path.write_bytes(content)
    said = "there is no such file" if content is None else "not a readable Parquet file"
    with pytest.raises(InvalidTable, match=f"{path}: {said}"):
        reads(path)


def test_a_table_of_another_program_is_named(tmp_path):
    rows(1).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InvalidTable, match="this version of memfoil has no table"):
        table_of(tmp_path / "t.parquet")
