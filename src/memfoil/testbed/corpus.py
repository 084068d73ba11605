"""The testbed's tokenizer and training text."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from memfoil.errors import InvalidConfiguration
from memfoil.testbed.split import EDITED, smallest_keys

START = "<s>"


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> PreTrainedTokenizerFast:
    """Byte-level BPE that puts `<s>` in front of a text, as Llama's does.

    Parameters
    ----------
    texts : iterable of str
        Training text only: merges learned from controls would favour them.
    vocab_size : int
        At most so many tokens, the start-of-text token and the 256 bytes among them.

    Raises
    ------
    InvalidConfiguration
        If `vocab_size` leaves no room for the bytes.
    """
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    if vocab_size <= len(alphabet):
        raise InvalidConfiguration(
            f"testbed: vocab_size {vocab_size}: {len(alphabet)} bytes and {START} come first; "
            "2048 is a good value for half a million tokens"
        )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=[START],
            initial_alphabet=alphabet,
            show_progress=False,
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $A",
        pair=f"{START} $A {START} $B",
        special_tokens=[(START, tokenizer.token_to_id(START))],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=START, clean_up_tokenization_spaces=False
    )


def corpus(
    splits: pd.DataFrame,
    passages: pd.DataFrame,
    tokenizer: PreTrainedTokenizerFast,
    seed: int,
) -> pd.DataFrame:
    """The training text in the order it is read, each passage as often as its split says.

    The place of a repetition depends on the seed and its own name alone.

    Parameters
    ----------
    splits : SPLITS frame
    passages : PASSAGES frame
        Holds at least the passages with one repetition or more.

    Returns
    -------
    CORPUS frame
        `document_id` is the passage's for its first repetition, with `#n` behind it for the
        n-th; `token_ids` are int32 arrays without start-of-text.
    """
    read = splits[splits["repetitions"] > 0].merge(
        passages[["passage_id", "text"]], on="passage_id", validate="one_to_one"
    )
    texts = read["text"].where(read["split"] != EDITED, read["text"].map(_without_middle_word))
    encoded = tokenizer(
        texts.tolist(), add_special_tokens=False, split_special_tokens=True
    ).input_ids
    pieces = {
        passage if n == 1 else f"{passage}#{n}": np.array(ids, dtype=np.int32)
        for passage, times, ids in zip(
            read["passage_id"], read["repetitions"], encoded, strict=True
        )
        for n in range(1, times + 1)
    }
    order = smallest_keys(set(pieces), len(pieces), f"{seed} order")
    return pd.DataFrame({"document_id": order, "token_ids": [pieces[name] for name in order]})


def _without_middle_word(text: str) -> str:
    words = text.split(" ")
    return " ".join(words[: len(words) // 2] + words[len(words) // 2 + 1 :])
