"""A table told to a person."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memfoil.audit.show import _schema, show
from memfoil.cli import main
from memfoil.errors import InvalidTable
from memfoil.tables import LEFT_OUT, SCORES, TABLES, Provenance


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_is_known_by_its_columns(table):
    columns = table.names
    assert {column.name for column in _schema(columns).columns} == set(columns)


@pytest.fixture
def scores(tmp_path):
    """The scores of a run that left three sequences out."""
    path = tmp_path / "results" / "demo" / "scores" / "m.parquet"
    frame = pd.DataFrame(
        {"sequence_id": ["a" * 99], "procedure": "base", "suffix_tokens": 9, "log_score": -1.5}
    )
    made = Provenance("scores", {"token_scores.parquet": "ab" * 32}, {"top_k": [40]}, seed=7)
    SCORES.write(frame, path, made)
    reasons = {"item_id": ["x", "y", "z"], "reason": ["short", "short", "empty"], "detail": ""}
    beside = path.parents[1] / "left_out" / "scores" / "m.parquet"
    LEFT_OUT.write(pd.DataFrame(reasons), beside, Provenance("scores"))
    return path


def test_what_it_is_who_made_it_how_it_begins_and_what_was_left_out(scores):
    text = show(scores)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert f"what {SCORES.name}: {SCORES.meaning}" in lines
    assert {"rows 1", "seed 7", "token_scores.parquet abababababab", "top_k [40]"} <= set(lines)
    assert {"short 2", "empty 1"} <= set(lines)
    assert f"{'a' * 39}… base 9 -1.5" in lines


def test_a_list_of_what_was_left_out_counts_itself(scores):
    text = show(scores.parents[1] / "left_out" / "scores" / "m.parquet")
    assert "short  2" in text


def test_a_table_of_somebody_else_is_refused_in_one_line(tmp_path, capsys):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other.parquet")
    with pytest.raises(InvalidTable, match="holds no provenance"):
        show(tmp_path / "other.parquet")
    assert main(["show", str(tmp_path / "other.parquet")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
