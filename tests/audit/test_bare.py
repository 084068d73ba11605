"""Texts stay behind; what numbers need of them goes along."""

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from memfoil.audit.bare import TEXTS, write_bare
from memfoil.audit.export import STAY
from memfoil.propensity.details import extracted
from memfoil.tables import (
    CENSUS_TEXTS,
    GENERATIONS,
    PROMPTS,
    SEQUENCES,
    TABLES,
    Provenance,
    provenance_of,
)

NAMES = {
    "control_pool", "criterion", "curve", "detail", "document_id", "event", "form",
    "found_document_id", "generation_id", "item_id", "kind", "larger", "match", "metric", "minus",
    "model", "occurrences", "output", "pair", "part", "passage_id", "pool", "procedure",
    "prompt_id", "quantity", "reason", "reference", "review", "role", "sequence_id", "setting",
    "smaller", "source", "split", "stratum", "subset", "template_id", "threshold", "verdict",
    "whole", "whole_id", "window_id",
}  # fmt: skip
"""Columns that name a thing, a kind or a place in a document."""


def test_every_column_of_words_is_known_to_be_a_text_or_a_name():
    """A new one has to be thought about: is it passed on?"""
    for table in TABLES:
        if table.name in STAY:
            continue
        known = {*TEXTS.get(table.name, ()), *NAMES}
        known |= {"text"} if table.name == "span_lengths" else set()  # `training` or `foil`
        assert {c.name for c in table.columns if c.type == pa.string()} <= known, table.name


def sequences():
    return pd.DataFrame(
        {
            "sequence_id": ["a"],
            "document_id": ["a"],
            "pool": ["read"],
            "role": ["candidate"],
            "date": pd.Timestamp("1990-01-01"),
            "source": ["s"],
            "token_ids": [np.arange(4, dtype=np.int32)],
            "prefix_tokens": [2],
            "text": ["four words of text"],
        }
    )


def test_lengths_stay_and_nothing_of_what_was_said(tmp_path):
    SEQUENCES.write(sequences(), tmp_path / "whole.parquet", Provenance("sequences"))
    write_bare(SEQUENCES, tmp_path / "whole.parquet", tmp_path / "bare.parquet")
    bare = SEQUENCES.read(tmp_path / "bare.parquet")
    assert bare["text"].tolist() == [" " * 18]
    assert bare["token_ids"].map(list).tolist() == [[0, 0, 0, 0]]
    assert b"words" not in (tmp_path / "bare.parquet").read_bytes()


def test_the_versions_are_those_it_was_made_with(tmp_path, monkeypatch):
    CENSUS_TEXTS.write(
        pd.DataFrame({"document_id": ["a"], "text": ["x"], "form": ["plain"]}),
        tmp_path / "whole.parquet",
        Provenance("census_texts", {"in.txt": "00"}, {"pairs": []}, "c0de", 3),
    )
    monkeypatch.setattr("memfoil.tables.schema.__version__", "another")
    write_bare(CENSUS_TEXTS, tmp_path / "whole.parquet", tmp_path / "bare.parquet")
    assert provenance_of(tmp_path / "bare.parquet") == provenance_of(tmp_path / "whole.parquet")


TRUTHS = st.one_of(st.none(), st.text("ab \n\uff21", max_size=4))


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(TRUTHS, st.text("ab \n\uff21", max_size=6)), min_size=1, max_size=60))
def test_whether_a_generation_begins_with_the_truth_is_told_without_either(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("run") / "propensity"
    names = [f"p{i}" for i in range(len(pairs))]
    prompts = pd.DataFrame(
        {
            "prompt_id": names,
            "setting": "prefix",
            "text": "the prompt",
            "token_ids": [np.arange(2, dtype=np.int32)] * len(pairs),
            "generations": 1,
            "continuation": pd.Series([truth for truth, _ in pairs], dtype=object),
        }
    )
    written = pd.DataFrame(
        {
            "generation_id": names,
            "token_ids": [np.arange(3, dtype=np.int32)] * len(pairs),
            "text": [text for _, text in pairs],
            "prompt_id": names,
            "setting": "prefix",
        }
    )
    own, other = folder / "m" / "generations.parquet", folder / "prompts" / "m.parquet"
    PROMPTS.write(prompts, other, Provenance("propensity_prompts"))
    inputs = {"results/r/propensity/prompts/m.parquet": "00"}
    GENERATIONS.write(written, own, Provenance("propensity_generate", inputs))
    write_bare(PROMPTS, other, folder / "prompts.parquet")
    write_bare(GENERATIONS, own, folder / "generations.parquet")
    bare = GENERATIONS.read(folder / "generations.parquet")
    told = extracted(bare, PROMPTS.read(folder / "prompts.parquet"))
    assert told.tolist() == extracted(written, prompts).tolist()
    assert bare["text"].str.fullmatch(r" *|[0-9a-f]{64}").all()
