"""However many jobs share the scoring of a model, its table is the same."""

import pandas as pd
import pyarrow.parquet as pq
import pytest

from memfoil.models import load
from memfoil.scoring import teacher_forcing, write_token_scores
from memfoil.tables import SEQUENCES, TOKEN_SCORES, Provenance, share

MADE = Provenance("score")


@pytest.fixture(scope="module")
def model(model_folders):
    return load(model_folders["llama"])


@pytest.fixture
def sequences(tmp_path):
    """29 sequences of many lengths: five chunks of 6, the last of them not full."""
    n, path = 29, tmp_path / "sequences.parquet"
    columns = {
        "sequence_id": [f"s{i}" for i in range(n)],
        "document_id": "d",
        "pool": "p",
        "role": "control",
        "date": pd.Timestamp("2024-01-01"),
        "source": "made",
        "token_ids": [[2 + (7 * i + j) % 200 for j in range(6 + i % 9)] for i in range(n)],
        "prefix_tokens": 3,
        "text": "t",
    }
    SEQUENCES.write(pd.DataFrame(columns), path, MADE)
    return path


@pytest.mark.parametrize("parts", [1, 2, 8])
def test_the_parts_joined_are_the_table_of_one_job(model, sequences, tmp_path, monkeypatch, parts):
    monkeypatch.setattr(teacher_forcing, "CHUNK", 6)

    def score(path, **part):
        write_token_scores(
            model, sequences, path, top_k=[2], provenance=MADE, progress=lambda x, *_: x, **part
        )
        return path

    whole = score(tmp_path / "whole.parquet")
    pieces = [score(tmp_path / f"{i}.parquet", part=(i, parts)) for i in range(1, parts + 1)]
    TOKEN_SCORES.join(pieces, tmp_path / "joined.parquet", MADE)
    assert pq.read_table(tmp_path / "joined.parquet").equals(pq.read_table(whole))


def test_shares_are_everything_once_in_order_and_even():
    for items in (0, 1, 7, 8, 9, 20_000):
        for parts in (1, 2, 7, 8, 30):
            shares = [share(items, part, parts) for part in range(1, parts + 1)]
            assert [i for each in shares for i in each] == list(range(items))
            sizes = [len(each) for each in shares]
            assert max(sizes) - min(sizes) <= 1
