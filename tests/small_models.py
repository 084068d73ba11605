"""Models and tokenizers that are made in a moment; a conftest cannot be imported by its name."""

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

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
    ends = {"bos_token_id": 0, "eos_token_id": 1}
    if kind == "llama":
        sizes = {
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 64,
        }
        network = LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, **ends, **sizes | changes))
        network.lm_head.weight.data *= peak
    else:
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
        network = GPT2LMHeadModel(GPT2Config(vocab_size=vocabulary, **ends, **sizes | changes))
        network.transformer.ln_f.weight.data *= peak
    return network.eval()
