"""Every window of a text: a prefix and a suffix of tokens, each with its place in the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from memfoil.encoding import Encoded, encode
from memfoil.errors import InvalidDocuments
from memfoil.sampling.left_out import listed
from memfoil.tables import CENSUS_WINDOWS

SHORT = "shorter than prefix and suffix"
SLICES_AT_ONCE = 1024


class _Tokens(NamedTuple):
    """The tokens of a stretch of the text, and their places in the text."""

    ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    start_char: int
    end_char: int


def windows(
    document_id: str,
    text: str,
    tokenizer: Any,
    *,
    prefix_tokens: int,
    suffix_tokens: int,
    stride: Mapping[str, Any],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cut every window of a text; they overlap where the stride is shorter than a window.

    By tokens the text is tokenized once, whole, and a window starts at every n-th token. By
    characters a window starts at every n-th character, in the middle of a word too, and is the
    beginning of the tokens of a slice of the text from there on; earlier work on books has a
    stride of 10 characters and slices of 800.

    Parameters
    ----------
    tokenizer : fast tokenizer of transformers
    stride : mapping
        `unit` (`tokens` or `characters`), `step` (n), and `slice` (characters; not used by tokens)

    Returns
    -------
    windows, left_out : DataFrame
        CENSUS_WINDOWS table, in the order of the text, and LEFT_OUT. A window that occurs again
        is kept, and `occurrences` counts it. Left out is the last window if it is short and
        reaches further than the one before, and with a stride in characters each slice with too
        few tokens.

    Raises
    ------
    InvalidDocuments
        If the text has no whole window.
    """
    needed = prefix_tokens + suffix_tokens
    rows: list[tuple[np.ndarray, int, int, int]] = []
    left_out: list[tuple[str, str, str]] = []
    covered = longest = 0
    for tokens in _window_starts(text, tokenizer, stride):
        length = len(tokens.ids)
        longest = max(longest, length)
        if length >= needed:
            covered = int(tokens.ends[needed - 1])
            places = (int(tokens.starts[0]), int(tokens.starts[prefix_tokens]), covered)
            rows.append((tokens.ids[:needed], *places))
            continue
        if tokens.end_char > covered:
            item = f"{document_id}:{tokens.start_char}-{tokens.end_char}"
            left_out.append((item, SHORT, f"{length} of {needed} tokens"))
        if tokens.end_char == len(text):
            break
    if not rows:
        raise InvalidDocuments(
            f"{document_id}: no window has the {prefix_tokens} tokens of a prefix and the "
            f"{suffix_tokens} of a suffix: the longest has {longest}; take a longer text"
            + (" or a longer slice" if stride["unit"] == "characters" else "")
        )
    frame = pd.DataFrame(rows, columns=["token_ids", "start_char", "suffix_start_char", "end_char"])
    frame["document_id"], frame["window"] = document_id, np.arange(len(frame))
    frame["window_id"] = [f"{document_id}:{number}" for number in frame["window"]]
    frame["prefix_tokens"] = prefix_tokens
    content = frame["token_ids"].map(np.ndarray.tobytes)
    frame["occurrences"] = content.map(content.value_counts())
    return frame[CENSUS_WINDOWS.names], listed(left_out)


def windows_of_texts(
    texts: Mapping[str, str], names: Sequence[str], tokenizer: Any, **cut: Any
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The windows of several texts, in the order named; `cut` as `windows` takes it."""
    tables = [windows(name, texts[name], tokenizer, **cut) for name in names]
    frames, left_out = zip(*tables, strict=True)
    return pd.concat(frames, ignore_index=True), pd.concat(left_out, ignore_index=True)


def _window_starts(text: str, tokenizer: Any, stride: Mapping[str, Any]) -> Iterator[_Tokens]:
    """What each window is the beginning of."""
    if stride["unit"] == "tokens":
        ids, starts, ends = _tokens(encode(tokenizer, [text])[0], 0)
        for first in range(0, len(ids), stride["step"]):
            place = (int(starts[first]), len(text))
            yield _Tokens(ids[first:], starts[first:], ends[first:], *place)
        return
    places = range(0, len(text), stride["step"])
    for i in range(0, len(places), SLICES_AT_ONCE):
        slices = [text[c : c + stride["slice"]] for c in places[i : i + SLICES_AT_ONCE]]
        encoded = encode(tokenizer, slices)
        for start, piece, one in zip(places[i:], slices, encoded, strict=False):
            yield _Tokens(*_tokens(one, start), start, start + len(piece))


def _tokens(encoded: Encoded, start: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids and places of the tokens of a stretch that begins at a character of the text."""
    return (
        np.array(encoded.token_ids, np.int32),
        np.array(encoded.starts, np.int64) + start,
        np.array(encoded.ends, np.int64) + start,
    )
