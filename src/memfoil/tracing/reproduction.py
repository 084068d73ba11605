"""What each generation reproduces, in the paper's measures, and the rates of many."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from memfoil.index.interface import Searchable
from memfoil.tracing.recall import adaptive_recall
from memfoil.tracing.texts import is_code_like, is_degenerate, is_loop, zlib_ratio
from memfoil.tracing.trace import LEAST_TOKENS
from memfoil.tracing.words import Reader

LOOPS_FROM = 20
"""Shorter spans are not tested for loops."""
LONG = 50
READ_TOGETHER = 4096


def reproduced(
    generations: pd.DataFrame,
    spans: pd.DataFrame,
    traces: pd.DataFrame,
    index: Searchable,
    reader: Reader,
) -> pd.DataFrame:
    """The measures of every generation: a REPRODUCTION frame, in the order of the generations.

    Recall is taken once for each document of a generation: the best of its windows.

    Parameters
    ----------
    generations, spans, traces : frames
        GENERATIONS, and what `maximal_spans` and `trace` found for them in the index.

    Source: PropMe 2026, section 4.3 and appendices J and K.
    """
    frame = generations[["generation_id"]].reset_index(drop=True)
    texts = _texts(generations, reader)
    frame["tokens"] = [len(ids) for ids in generations["token_ids"]]
    frame["whole"] = _wholes(frame, spans, traces)
    ids = dict(zip(generations["generation_id"], generations["token_ids"], strict=True))
    frame = frame.join(_longest(_described(spans, ids, reader), index), on="generation_id")
    described = _described(traces, ids, reader)
    frame = frame.join(_recalls(described, texts, reader), on="generation_id")
    counted = ["longest", "longest_unlooped", "longest_count", "documents", "recall", "recall_50"]
    frame[counted] = frame[counted].fillna(0)
    frame["zlib_ratio"] = [zlib_ratio(text) for text in texts]
    frame["degenerate"] = [is_degenerate(text) for text in texts]
    frame["code_like"] = [is_code_like(text) for text in texts]
    return frame


def _texts(generations: pd.DataFrame, reader: Reader) -> pd.Series:
    read = reader.texts(list(generations["token_ids"]))
    if "text" in generations:
        given = generations["text"]
        read = [b if pd.isna(a) else a for a, b in zip(given, read, strict=True)]
    return pd.Series(read, index=generations["generation_id"], dtype=object)


def _wholes(frame: pd.DataFrame, spans: pd.DataFrame, traces: pd.DataFrame) -> pd.Series:
    tokens = spans["generation_id"].map(frame.set_index("generation_id")["tokens"])
    exact = spans.loc[(spans["end"] - spans["start"]) == tokens, "generation_id"]
    normalized = traces.loc[traces["match"] == "normalized", "generation_id"]
    found = np.select(
        [frame["generation_id"].isin(exact), frame["generation_id"].isin(normalized)],
        ["exact", "normalized"],
        "no",
    )
    return pd.Series(found, dtype=object)


def _described(spans: pd.DataFrame, ids: Mapping[str, np.ndarray], reader: Reader) -> pd.DataFrame:
    """Spans with their `tokens`, their `ids`, and whether each is a `loop`."""
    places = zip(spans["generation_id"], spans["start"], spans["end"], strict=True)
    pieces = [np.asarray(ids[name][start:end]) for name, start, end in places]
    result = spans.assign(
        tokens=spans["end"] - spans["start"], ids=pd.Series(pieces, index=spans.index, dtype=object)
    )
    long = (result["tokens"] >= LOOPS_FROM).to_numpy()
    loop = np.zeros(len(result), bool)
    loop[long] = [is_loop(text) for text in reader.texts(list(result["ids"][long]))]
    return result.assign(loop=loop)


def _longest(spans: pd.DataFrame, index: Searchable) -> pd.DataFrame:
    """By generation: its longest span, and the longest that is no loop, with occurrences."""
    order = spans[spans["tokens"] >= LEAST_TOKENS]
    order = order.sort_values("tokens", ascending=False, kind="stable")
    first = order.drop_duplicates("generation_id").set_index("generation_id")
    unlooped = order[~order["loop"]].drop_duplicates("generation_id").set_index("generation_id")
    heads = unlooped["ids"][unlooped["tokens"] >= LONG].map(lambda piece: piece[:LONG])
    low, high = index.ranks(index.batch(list(heads)))
    counts = pd.Series((high - low).sum(axis=0), index=heads.index, dtype="Int64")
    return pd.DataFrame(
        {
            "longest": first["tokens"],
            "longest_unlooped": unlooped["tokens"],
            "longest_count": unlooped["count"],
            "head_count": counts,
        }
    )


def _recalls(traces: pd.DataFrame, texts: pd.Series, reader: Reader) -> pd.DataFrame:
    """By generation: its documents, and the sums of their recall."""
    recall: list[float] = []
    for start in range(0, len(traces), READ_TOGETHER):
        part = traces[start : start + READ_TOGETHER]
        windows = reader.texts(list(part["window"]))
        pairs = zip(part["generation_id"], windows, strict=True)
        recall += [adaptive_recall(texts[name], window) for name, window in pairs]
    rows = traces[["generation_id", "document_id"]].assign(recall=recall)
    rows["recall_50"] = rows["recall"].where((traces["tokens"] >= LONG) & ~traces["loop"])
    best = rows.groupby(["generation_id", "document_id"]).max()
    return best.groupby("generation_id").agg(
        documents=("recall", "size"), recall=("recall", "sum"), recall_50=("recall_50", "sum")
    )


def measures(reproduction: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Numerators and denominators of the paper's rates, one row for each generation.

    A rate of some generations is the sum of the numerators over the sum of the denominators, 0
    where that is 0. FMR: found whole (FMR20, FMR50: and of at least so many tokens); ALS: mean
    longest span; R20, R50: a span of at least so many tokens that is no loop; NVR: mean recall
    of the documents retrieved; NVR50: the same, where a document counts only if it was retrieved
    for a span of at least 50 tokens.

    Source: PropMe 2026, sections 4.3 and 5.4.
    """
    whole = (reproduction["whole"] != "no").astype(float)
    tokens, unlooped = reproduction["tokens"], reproduction["longest_unlooped"]
    numerators = pd.DataFrame(
        {
            "FMR": whole,
            "FMR20": whole * (tokens >= 20),
            "FMR50": whole * (tokens >= LONG),
            "ALS": reproduction["longest"].astype(float),
            "R20": (unlooped >= 20).astype(float),
            "R50": (unlooped >= LONG).astype(float),
            "NVR": reproduction["recall"],
            "NVR50": reproduction["recall_50"],
        }
    )
    denominators = pd.DataFrame(1.0, index=numerators.index, columns=numerators.columns)
    for name in ("NVR", "NVR50"):
        denominators[name] = reproduction["documents"].astype(float)
    return numerators, denominators


def rates(reproduction: pd.DataFrame) -> pd.Series:
    """The rates of these generations together: see `measures`."""
    numerators, denominators = (part.sum() for part in measures(reproduction))
    return numerators / denominators.where(denominators > 0, 1.0)
