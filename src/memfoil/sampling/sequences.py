"""Drawn passages as token ids: sequences of one tokenizer, and the documents before them."""

from __future__ import annotations

from typing import Any

import pandas as pd

from memfoil.encoding import encode
from memfoil.errors import InvalidConfiguration, InvalidDocuments, InvalidModel
from memfoil.sampling.left_out import listed
from memfoil.tables import SEQUENCES

SHORT_PASSAGE = "passage has too few tokens"


def sequences(
    draws: pd.DataFrame,
    passages: pd.DataFrame,
    tokenizer: Any,
    *,
    prefix_tokens: int,
    suffix_tokens: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cut each drawn passage into its first `prefix_tokens + suffix_tokens` tokens.

    The whole passage is tokenized once, without start-of-text, so prefix and suffix are pieces
    of one tokenization; a start-of-text token is the model's affair and never counted here.

    Parameters
    ----------
    draws, passages : DataFrame
        DRAWS and PASSAGES tables.
    tokenizer : fast tokenizer of transformers

    Returns
    -------
    sequences, left_out : DataFrame
        SEQUENCES and LEFT_OUT tables, in the order of the draws. `text` holds exactly the
        characters that the tokens cover (a character cut by the last token is whole in it).

    Raises
    ------
    InvalidConfiguration
        If a length is not positive.
    InvalidModel
        If no drawn passage has enough tokens.
    """
    if prefix_tokens < 1 or suffix_tokens < 1:
        raise InvalidConfiguration(
            f"sampling: prefix_tokens {prefix_tokens} and suffix_tokens {suffix_tokens} must both "
            "be at least 1"
        )
    needed = prefix_tokens + suffix_tokens
    drawn = draws.merge(passages, on="passage_id", how="left", validate="one_to_one")
    encoded = encode(tokenizer, drawn["text"].tolist())
    lengths = [len(one.token_ids) for one in encoded]
    left_out = [
        (name, SHORT_PASSAGE, f"{length} of {needed}")
        for name, length in zip(drawn["passage_id"].tolist(), lengths, strict=True)
        if length < needed
    ]
    long_enough = [row for row, length in enumerate(lengths) if length >= needed]
    if not long_enough:
        raise InvalidModel(
            f"sampling: no drawn passage has {needed} tokens; choose more words per passage, or a "
            "shorter prefix or suffix"
        )
    kept = drawn.iloc[long_enough].reset_index(drop=True)
    kept = kept.rename(columns={"passage_id": "sequence_id"})
    cuts = [encoded[row] for row in long_enough]
    kept["token_ids"] = [one.token_ids[:needed] for one in cuts]
    kept["prefix_tokens"] = prefix_tokens
    kept["text"] = [
        text[: one.ends[needed - 1]] for text, one in zip(kept["text"], cuts, strict=True)
    ]
    return kept[SEQUENCES.names], listed(left_out)


def older_documents(
    documents: pd.DataFrame, draws: pd.DataFrame, passages: pd.DataFrame, tokenizer: Any
) -> pd.DataFrame:
    """The documents that are older than every control, as token ids: a CORPUS frame.

    Where the training text cannot be had this is what is known of it: text of the same kind that
    the controls may repeat.

    Raises
    ------
    InvalidDocuments
        If no document is older.
    """
    controls = draws.loc[draws["role"] == "control", "passage_id"]
    first = passages.loc[passages["passage_id"].isin(controls), "date"].min()
    older = documents[documents["date"] < first]
    if older.empty:
        raise InvalidDocuments(
            f"decontamination: no document is older than the first control, of {first:%Y-%m-%d}; "
            "name an index of the training text"
        )
    encoded = encode(tokenizer, older["text"].tolist())
    return pd.DataFrame(
        {"document_id": older["document_id"], "token_ids": [one.token_ids for one in encoded]}
    ).reset_index(drop=True)
