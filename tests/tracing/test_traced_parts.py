"""However many jobs share the tracing of generations, its tables are the same."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from memfoil.tables import GENERATIONS, REPRODUCTION, SPANS, TRACES, Provenance, read_share
from memfoil.tracing import maximal_spans, reproduced, trace

MADE = Provenance("test")
TABLES = {"spans": SPANS, "traces": TRACES, "reproduction": REPRODUCTION}


@pytest.fixture
def written(tmp_path):
    """Ten generations: cut from a text of 300 ids, none of a document, empty."""
    text = np.random.default_rng(3).integers(10, 40, 300)
    pieces = [text[20 * i : 20 * i + 5 + 9 * i] for i in range(8)] + [text[:0], text[::-7]]
    frame = pd.DataFrame({"generation_id": [f"g{i}" for i in range(10)], "token_ids": pieces})
    GENERATIONS.write(frame, tmp_path / "generations", MADE)
    documents = [text[:150].tolist(), text[100:].tolist(), text[60:120].tolist()]
    return tmp_path / "generations", documents


@pytest.mark.parametrize(
    "parts", [2, *(pytest.param(parts, marks=pytest.mark.slow) for parts in (8, 13))]
)
def test_the_parts_joined_are_the_tables_of_one_job(indexed, reader, written, tmp_path, parts):
    generations, documents = written

    def traced(part, parts):
        frame = read_share(GENERATIONS, generations, (part, parts))
        paths = {name: tmp_path / f"{name}.{part}-of-{parts}" for name in TABLES}
        SPANS.write_parts(maximal_spans(frame, index), paths["spans"], MADE)
        TRACES.write_parts(trace(frame, index, seed=1, reader=reader), paths["traces"], MADE)
        found = SPANS.read(paths["spans"]), TRACES.read(paths["traces"])
        measured = reproduced(frame, *found, index, reader)
        REPRODUCTION.write(measured, paths["reproduction"], MADE)
        return paths

    with indexed(documents, vocab_size=reader.vocab_size, shards=2) as index:
        whole = traced(1, 1)
        pieces = [traced(part, parts) for part in range(1, parts + 1)]
    for name, table in TABLES.items():
        table.join([each[name] for each in pieces], tmp_path / "joined", MADE)
        assert pq.read_table(tmp_path / "joined").equals(pq.read_table(whole[name]))
        assert len(table.read(whole[name])) >= 10
