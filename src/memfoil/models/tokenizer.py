"""A model's own tokenizer, and the start-of-text tokens it puts in front."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from memfoil.encoding import bare
from memfoil.errors import InvalidConfiguration, InvalidModel
from memfoil.models.folder import local_folder, one_line, require_tokenizer

# Models of 50,257 to 151,936 tokens have up to two in a hundred embeddings to spare.
FEWEST_TOKENS = 0.9
SPECIAL_TOKENS = ("bos_token_id", "eos_token_id", "pad_token_id")


def load_tokenizer(folder: str | Path, *, revision: str | None = None) -> Any:
    """The fast tokenizer of a model folder, or with a revision of a model on the hub.

    Raises
    ------
    InvalidModel
        If the folder is missing, has no tokenizer, or one that cannot be read or that does not
        tell where its tokens are in the text.
    """
    path = local_folder(folder, revision)
    require_tokenizer(path)
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            path, local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # what the tokenizers library raises is a bare Exception
        raise InvalidModel(
            f"{path}: tokenizer cannot be read: {type(error).__name__}: {one_line(error)}; put the "
            "model's own tokenizer there"
        ) from error
    if not tokenizer.is_fast:
        raise InvalidModel(
            f"{path}: the tokenizer has no fast form, which tells where its tokens are in the text"
        )
    return tokenizer


def require_own(tokenizer: Any, folder: Path, config: Any, vocabulary: int) -> None:
    """Refuse a tokenizer with ids that a model does not have, or far fewer; warn of other doubts.

    Parameters
    ----------
    config : configuration of a transformers model
        Where it and the tokenizer name special tokens and agree on none, a warning says so.
    vocabulary : int
        The model's embeddings: some more than tokens are usual, for the sake of the hardware.

    Raises
    ------
    InvalidModel
    """
    largest = max(tokenizer.get_vocab().values())
    if largest >= vocabulary:
        raise InvalidModel(
            f"{folder}: the tokenizer has ids up to {largest}, the model only "
            f"{vocabulary} embeddings; this is another model's tokenizer"
        )
    if largest + 1 < FEWEST_TOKENS * vocabulary:
        raise InvalidModel(
            f"{folder}: the tokenizer has ids up to {largest} only, the model {vocabulary} "
            "embeddings; this is another model's tokenizer"
        )
    named = {
        name: (getattr(config, name, None), getattr(tokenizer, name)) for name in SPECIAL_TOKENS
    }
    both = {name: pair for name, pair in named.items() if None not in pair}
    if len(both) > 1 and not any(own in _as_list(stated) for stated, own in both.values()):
        differ = ", ".join(f"{name} {pair[0]} and {pair[1]}" for name, pair in both.items())
        warnings.warn(
            f"{folder}: config.json and the tokenizer agree on no special token ({differ}); this "
            "may be another model's tokenizer",
            stacklevel=2,
        )


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def save_tokenizer(tokenizer: Any, folder: str | Path) -> None:
    """Save a tokenizer as the files of a model folder.

    Raises
    ------
    InvalidModel
        If they cannot be written, on a full disk for example.
    """
    try:
        tokenizer.save_pretrained(folder)
    except Exception as error:  # what the tokenizers library raises is a bare Exception
        raise InvalidModel(f"{folder}: tokenizer cannot be written: {one_line(error)}") from error


def tokenizer_digest(tokenizer: Any) -> str:
    """A name for what a tokenizer makes of text, the same for every copy of it."""
    return hashlib.sha256(bare(tokenizer).to_str().encode()).hexdigest()[:16]


def start_of_text(tokenizer: Any, rule: str) -> tuple[int, ...]:
    """Ids that stand before every prefix, by the model's rule.

    `auto`: what the tokenizer itself puts before a text (nothing for OLMo 2, its start token for
    Llama); `none`; `bos`: the tokenizer's start token; anything else names a token.

    Raises
    ------
    InvalidConfiguration
        If the tokenizer has no such token.
    """
    if rule == "none":
        return ()
    if rule == "auto":
        marked = tokenizer("a")["input_ids"]
        plain = tokenizer("a", add_special_tokens=False)["input_ids"]
        first = next(i for i in range(len(marked)) if marked[i : i + len(plain)] == plain)
        return tuple(marked[:first])
    token = tokenizer.bos_token_id if rule == "bos" else tokenizer.get_vocab().get(rule)
    if token is None:
        raise InvalidConfiguration(
            f"start_of_text {rule!r}: the tokenizer {tokenizer.name_or_path} has no such token; "
            "use auto, none, bos or a token of its vocabulary"
        )
    return (token,)
