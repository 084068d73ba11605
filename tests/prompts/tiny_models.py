"""Tiny models made here, and tokenizers of the two great families: byte-level, SentencePiece."""

from functools import partial
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers import models as token_models
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from memfoil.models import TorchModel
from memfoil.prompts.elicitation import Elicitation
from memfoil.prompts.frames import frame
from memfoil.prompts.targets import target_ids

KNOWN = "the quality of mercy is not strained"
UNKNOWN = "some other words were never here"
TEXT = [
    KNOWN,
    UNKNOWN,
    "it droppeth as the gentle rain from heaven upon the place beneath",
    "apple pie and 9 other things, the cat sat on the mat; never mind the rest of it",
]
CHAT = (
    "{% for message in messages %}<|turn|>{{ message['role'] }}\n{{ message['content'] }}<|end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
TRIMMING = (
    "{{ bos_token }}{% for message in messages %}[INST] {{ message['content'] | trim }} [/INST]"
    "{% endfor %}"
)


def byte_level(chat_template: str | None = None) -> PreTrainedTokenizerFast:
    """Byte-level BPE, as GPT-2's and Qwen's."""
    core = Tokenizer(token_models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    special = ["<s>", "<|turn|>", "<|end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    core.train_from_iterator(
        TEXT,
        trainers.BpeTrainer(
            vocab_size=360, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        ),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        additional_special_tokens=special[1:],
        chat_template=chat_template,
        clean_up_tokenization_spaces=False,
    )


def sentence_piece(chat_template: str | None = None) -> PreTrainedTokenizerFast:
    """BPE with `▁` for a space and one put in front of a text, as Llama 2's."""
    core = Tokenizer(token_models.BPE(unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    core.decoder = decoders.Metaspace(prepend_scheme="first")
    core.train_from_iterator(
        [*TEXT, "[INST] apple [/INST] 9"],
        trainers.BpeTrainer(vocab_size=180, special_tokens=["<unk>", "<s>"], show_progress=False),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        unk_token="<unk>",
        chat_template=chat_template,
        clean_up_tokenization_spaces=False,
    )


def tiny_llama(tokenizer, start=True, dtype=torch.float32) -> TorchModel:
    torch.manual_seed(0)
    network = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=128,
            tie_word_embeddings=True,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=None,
        )
    )
    network = network.to(dtype).eval().requires_grad_(False)
    if dtype == torch.float64:
        keep_float64(network)
    return TorchModel(
        Path("tiny-llama"), network, tokenizer, (tokenizer.bos_token_id,) if start else ()
    )


def keep_float64(network: LlamaForCausalLM) -> None:
    """Let the norms of a Llama, which compute in float32 whatever they are given, keep float64."""
    for module in network.modules():
        if isinstance(module, LlamaRMSNorm):
            module.forward = partial(torch.nn.functional.rms_norm, normalized_shape=(32,), eps=1e-6)


def tiny_gpt2(tokenizer) -> TorchModel:
    torch.manual_seed(0)
    network = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=2, n_positions=128,
            bos_token_id=None, eos_token_id=None,
        )
    )  # fmt: skip
    return TorchModel(Path("tiny-gpt2"), network.eval().requires_grad_(False), tokenizer, ())


def elicit(model: TorchModel, text: str, kind: str = "plain") -> Elicitation:
    around = frame(model, kind)
    return Elicitation(model, around, target_ids(around, text, "test"))
