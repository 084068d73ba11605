"""Text to token ids, with the exact place of every token."""

from __future__ import annotations

from typing import Any, NamedTuple

from tokenizers import Tokenizer


class Encoded(NamedTuple):
    """Token ids of a text, and for each its first character there and the one behind its last."""

    token_ids: list[int]
    starts: list[int]
    ends: list[int]


def encode(tokenizer: Any, texts: list[str]) -> list[Encoded]:
    """Encode texts as nothing but text.

    Nothing is put in front or behind, and the name of a special token in a text is text. Tokens
    together cover the text without a gap; one that holds part of a character covers the whole
    character, as do the others that hold the rest of it.

    Parameters
    ----------
    tokenizer : fast tokenizer of transformers
    texts : list of str
    """
    encodings = bare(tokenizer).encode_batch(texts, add_special_tokens=False)
    return [_placed(e.ids, e.offsets) for e in encodings]


def _placed(token_ids: list[int], offsets: list[tuple[int, int]]) -> Encoded:
    """White space that a tokenizer drops between two tokens belongs to the second."""
    ends = [end for _, end in offsets]
    starts = [min(start, before) for (start, _), before in zip(offsets, [0, *ends], strict=False)]
    return Encoded(token_ids, starts, ends)


def bare(tokenizer: Any) -> Tokenizer:
    """A copy of a tokenizer's core without what it does around a text.

    Some post-processors cut white space off the tokens' offsets; truncation and padding may be
    left over from training.
    """
    core = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    core.post_processor = None
    core.encode_special_tokens = True
    core.no_truncation()
    core.no_padding()
    return core
