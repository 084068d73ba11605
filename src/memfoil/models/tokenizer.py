"""A model's own tokenizer, and the start-of-text tokens it puts in front."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from memfoil.encoding import bare
from memfoil.errors import InvalidConfiguration, InvalidModel
from memfoil.models.folder import local_folder, one_line, require_tokenizer


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
        raise InvalidModel(f"{path}: tokenizer cannot be read: {one_line(error)}") from error
    if not tokenizer.is_fast:
        raise InvalidModel(
            f"{path}: the tokenizer has no fast form, which tells where its tokens are in the text"
        )
    return tokenizer


def require_own(tokenizer: Any, folder: Path, vocabulary: int) -> None:
    """Refuse a tokenizer with ids that a model's vocabulary does not have.

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
