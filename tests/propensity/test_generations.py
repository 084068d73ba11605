"""Continuations in the tokens of an index that has another tokenizer than the model."""

import pandas as pd
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from memfoil import tables
from memfoil.models import TorchModel
from memfoil.propensity.generations import continuations
from memfoil.propensity.screen import token_ids
from memfoil.scoring.sampling import Decoding
from memfoil.testbed import train_tokenizer

DECODING = Decoding(1.0, 1.0, None, 12)


@pytest.fixture(scope="module")
def model(tokenizer, tmp_path_factory):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=64, eos_token_id=None,
    )  # fmt: skip
    network = LlamaForCausalLM(config).eval().requires_grad_(False)
    return TorchModel(tmp_path_factory.mktemp("model"), network, tokenizer, (0,))


def prompts(tokenizer):
    texts = ["The old mayor found", "", "A sailor"]
    frame = pd.DataFrame({"prompt_id": ["a", "b", "c"], "setting": "generic", "text": texts})
    return frame.assign(generations=4, token_ids=token_ids(tokenizer, texts))


def test_the_models_own_tokens_where_the_tokenizer_is_the_same(model, tokenizer, tmp_path):
    made = continuations(model, prompts(tokenizer), tokenizer, DECODING, seed=1)
    assert (made.token_ids.map(len) <= 12).all()
    tables.GENERATIONS.write(made, tmp_path / "g.parquet", tables.Provenance("test"))


def test_another_tokenizers_tokens_say_the_same_behind_the_prompt(model, tokenizer, training):
    other = train_tokenizer(training["text"][:20], vocab_size=320)
    own = continuations(model, prompts(tokenizer), tokenizer, DECODING, seed=1)
    made = continuations(model, prompts(other), other, DECODING, seed=1)
    assert made.text.tolist() == own.text.tolist()
    texts = prompts(other).set_index("prompt_id").text
    for row in made.itertuples():
        before = texts[row.prompt_id]
        said = other.decode(row.token_ids)
        assert row.text.endswith(said)
        # only a token that also holds the end of the prompt may be lost
        assert len(row.text) - len(said) < 12
        whole = other(before + row.text, add_special_tokens=False).input_ids
        assert whole[len(whole) - len(row.token_ids) :] == row.token_ids.tolist()
