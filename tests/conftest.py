"""Model folders small enough to be made in a moment, real enough to be loaded from disk."""

import shutil

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

# Models this small gain nothing from threads, and lose much on a busy machine.
torch.set_num_threads(1)

TEXT = ["the cat sat on the mat. the dog's bone was gone.\n\n漢字 and blåbærgrød, the end.  "] * 4


def small_tokenizer(template=None, vocabulary=300):
    """A byte-level BPE whose post-processor trims offsets, as GPT-2's and Llama 3's do."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(TEXT, trainer)
    trim = processors.ByteLevel(trim_offsets=True)
    special = [("<s>", 0), ("</s>", 1)]
    core.post_processor = (
        processors.Sequence(
            [trim, processors.TemplateProcessing(single=template, special_tokens=special)]
        )
        if template
        else trim
    )
    return PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", eos_token="</s>")


def small_network(kind, vocabulary, seed=0, peak=1.0, **changes):
    """Random weights; `peak` multiplies the output layer, so that likely tokens are likelier."""
    torch.manual_seed(seed)
    if kind == "llama":
        sizes = {
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 64,
        }
        network = LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, **sizes | changes))
        network.lm_head.weight.data *= peak
    else:
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
        ends = {"bos_token_id": 0, "eos_token_id": 1}
        network = GPT2LMHeadModel(GPT2Config(vocab_size=vocabulary, **ends, **sizes | changes))
        network.transformer.ln_f.weight.data *= peak
    return network.eval()


@pytest.fixture(scope="session")
def model_folders(tmp_path_factory):
    """`llama` puts `<s>` in front of a text, `gpt2` nothing. Not to be changed: take a copy."""
    folders = {}
    for kind, template in (("llama", "<s> $A"), ("gpt2", None)):
        folders[kind] = tmp_path_factory.mktemp("models") / kind
        tokenizer = small_tokenizer(template)
        small_network(kind, len(tokenizer), peak=30.0).save_pretrained(folders[kind])
        tokenizer.save_pretrained(folders[kind])
    return folders


@pytest.fixture
def llama_copy(model_folders, tmp_path):
    """A Llama folder to be damaged."""
    return shutil.copytree(model_folders["llama"], tmp_path / "llama")
