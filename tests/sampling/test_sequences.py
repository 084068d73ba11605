"""Drawn passages as the first tokens of a tokenizer."""

import pandas as pd
import pytest
from dated_passages import CANDIDATE, CONTROL, documents, draw, passages
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from memfoil.errors import InvalidConfiguration, InvalidDocuments, InvalidModel
from memfoil.sampling.passages import cut
from memfoil.sampling.sequences import older_documents, sequences
from memfoil.tables import SEQUENCES, Provenance


def characters():
    """A tokenizer that makes a token of every character and none of white space."""
    core = Tokenizer(models.WordLevel({chr(i): i for i in range(33, 127)}))
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex("."), "isolated")]
    )
    return PreTrainedTokenizerFast(tokenizer_object=core)


def test_sequences_take_the_first_tokens_and_the_characters_they_cover(tmp_path):
    frame = passages()
    drawn, _ = draw(frame, {"m": CANDIDATE, "c": CONTROL})
    rows, left_out = sequences(drawn, frame, characters(), prefix_tokens=4, suffix_tokens=3)
    assert rows["sequence_id"].tolist() == drawn["passage_id"].tolist()
    assert left_out.empty
    for row, text in zip(
        rows.itertuples(),
        frame.set_index("passage_id").loc[rows["sequence_id"], "text"],
        strict=True,
    ):
        assert text.startswith(row.text)
        assert [ord(c) for c in row.text if c != " "] == row.token_ids
        assert (len(row.token_ids), row.prefix_tokens) == (7, 4)
    SEQUENCES.write(rows, tmp_path / "s.parquet", Provenance("test"))
    assert SEQUENCES.read(tmp_path / "s.parquet")["text"].equals(rows["text"])


def test_passages_with_too_few_tokens_are_left_out_and_listed():
    frame = passages(n_documents=30)
    drawn, _ = draw(frame, {"m": CANDIDATE, "c": CONTROL})
    lengths = {p.passage_id: len(p.text.replace(" ", "")) for p in frame.itertuples()}
    needed = 13  # w9.9 w9.8 w9.7 has 12 characters, w10.9 15
    rows, left_out = sequences(
        drawn, frame, characters(), prefix_tokens=10, suffix_tokens=needed - 10
    )
    short = [name for name in drawn["passage_id"] if lengths[name] < needed]
    assert short
    assert left_out["item_id"].tolist() == short
    assert left_out["detail"].tolist() == [f"{lengths[name]} of {needed}" for name in short]
    assert len(rows) + len(left_out) == len(drawn)


def test_sequences_longer_than_every_passage_are_refused():
    frame = passages()
    drawn, _ = draw(frame, {"m": CANDIDATE, "c": CONTROL})
    with pytest.raises(InvalidModel, match="no drawn passage has 100 tokens"):
        sequences(drawn, frame, characters(), prefix_tokens=50, suffix_tokens=50)
    with pytest.raises(InvalidConfiguration, match="prefix_tokens 0"):
        sequences(drawn, frame, characters(), prefix_tokens=0, suffix_tokens=50)


def test_documents_older_than_every_control_are_encoded_whole():
    days = ["2000-01-01", "2001-06-01", "2001-06-02", "2003-01-01"]
    frame = documents(["ab cd", "ef gh", "ij kl", "mn op"], days)
    cuts, _ = cut(frame, 2)
    roles = ["candidate", "candidate", "control", "control"]
    draws = pd.DataFrame({"passage_id": cuts["passage_id"], "role": roles})
    corpus = older_documents(frame, draws, cuts, characters())
    assert corpus["document_id"].tolist() == frame["document_id"].tolist()[:2]
    assert [len(ids) for ids in corpus["token_ids"]] == [4, 4]
    with pytest.raises(InvalidDocuments, match="no document is older than the first control"):
        older_documents(frame.tail(2), draws, cuts, characters())
