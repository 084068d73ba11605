"""The training text holds what the split says, as often as it says, in reversible tokens."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from memfoil.errors import InvalidConfiguration
from memfoil.tables import CORPUS, Provenance
from memfoil.testbed import corpus, train_tokenizer


def test_each_passage_is_read_as_often_as_its_split_says(splits, passages, training_text):
    read = Counter(name.split("#")[0] for name in training_text["document_id"])
    due = splits.loc[splits["repetitions"] > 0].set_index("passage_id")["repetitions"]
    assert read == due.to_dict()
    planted = splits["passage_id"][0]
    numbered = {planted, *(f"{planted}#{n}" for n in range(2, due[planted] + 1))}
    assert numbered == {
        name for name in training_text["document_id"] if planted == name.split("#")[0]
    }


def test_tokens_are_the_passages_own_text(passages, training_text, tokenizer):
    texts = passages.set_index("passage_id")["text"]
    for name, ids in training_text.itertuples(index=False):
        assert tokenizer.decode(ids) == texts[name.split("#")[0]]


def test_repetitions_are_spread_over_the_reading(splits, training_text):
    planted = splits["passage_id"][0]
    places = np.flatnonzero(training_text["document_id"].str.split("#").str[0] == planted)
    halves = np.histogram(places, bins=2, range=(0, len(training_text)))[0]
    assert halves.min() >= 5


def test_order_follows_seed_and_names_alone(splits, passages, tokenizer, training_text):
    shuffled = corpus(splits.sample(frac=1, random_state=1), passages[::-1], tokenizer, seed=0)
    assert shuffled["document_id"].tolist() == training_text["document_id"].tolist()
    other = corpus(splits, passages, tokenizer, seed=1)["document_id"].tolist()
    assert other != training_text["document_id"].tolist()
    assert set(other) == set(training_text["document_id"])


def test_the_table_fits_its_schema(tmp_path, training_text):
    CORPUS.write(training_text, tmp_path / "corpus.parquet", Provenance("corpus"))
    back = CORPUS.read(tmp_path / "corpus.parquet")
    assert back["document_id"].tolist() == training_text["document_id"].tolist()
    pairs = zip(back["token_ids"], training_text["token_ids"], strict=True)
    assert all(np.array_equal(one, other) for one, other in pairs)


def test_start_of_text_written_in_a_passage_is_ordinary_text(tokenizer):
    names = ["odd"]
    odd = corpus(
        pd.DataFrame({"passage_id": names, "split": "training", "repetitions": 1}),
        pd.DataFrame({"passage_id": names, "text": ["a <s> b"]}),
        tokenizer,
        seed=0,
    )
    assert tokenizer.bos_token_id not in odd["token_ids"][0]
    assert tokenizer.decode(odd["token_ids"][0]) == "a <s> b"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tokenizer):
    """A model folder, so that AutoTokenizer sees a Llama's configuration beside the tokenizer."""
    folder = tmp_path_factory.mktemp("model")
    shape = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=8, intermediate_size=8, num_hidden_layers=1,
        num_attention_heads=1,
    )  # fmt: skip
    LlamaForCausalLM(shape).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def loaded(folder):
    return AutoTokenizer.from_pretrained(folder)


@given(text=st.text())
def test_any_text_comes_back_with_one_start_in_front(loaded, text):
    ids = loaded(text, split_special_tokens=True).input_ids
    assert ids[0] == loaded.bos_token_id
    assert loaded.bos_token_id not in ids[1:]
    assert loaded.decode(ids[1:]) == text.encode(errors="replace").decode()
    assert loaded(text, split_special_tokens=True, add_special_tokens=False).input_ids == ids[1:]


def test_the_folder_tokenizes_as_training_did(loaded, tokenizer, passages):
    texts = passages["text"].tolist()
    assert loaded(texts).input_ids == tokenizer(texts).input_ids
    assert loaded.bos_token == "<s>"
    assert len(loaded) == len(tokenizer) <= 320


def test_training_twice_gives_the_same_tokenizer(passages, tokenizer):
    texts = passages["text"][:42]
    again = train_tokenizer(texts[::-1], vocab_size=320)
    assert again.get_vocab() == tokenizer.get_vocab()


def test_a_vocabulary_without_room_for_the_bytes():
    with pytest.raises(InvalidConfiguration, match="vocab_size 256: 256 bytes and <s> come first"):
        train_tokenizer(["text"], vocab_size=256)


def test_an_edited_leak_lacks_one_word_of_the_passage(passages, tokenizer):
    leaks = pd.DataFrame(
        {
            "passage_id": passages["passage_id"][:2],
            "split": ["leaked", "leaked, edited"],
            "repetitions": [1, 1],
        }
    )
    read = corpus(leaks, passages, tokenizer, seed=0).set_index("document_id")["token_ids"]
    whole, edited = (tokenizer.decode(read[name]) for name in passages["passage_id"][:2])
    assert whole == passages["text"][0]
    assert edited != passages["text"][1]
    assert len(edited.split(" ")) == len(passages["text"][1].split(" ")) - 1
