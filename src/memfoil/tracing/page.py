"""One page to look at a run's traces: it needs no network, and every text in it is escaped."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
import pyarrow.compute as pc

from memfoil.tables import TRACES, atomic
from memfoil.tracing.reproduction import LONG, LOOPS_FROM
from memfoil.tracing.words import Reader

MOST_GENERATIONS = 500
MOST_DOCUMENTS = 3
MARGIN_TOKENS = 60
"""Of a document on each side of its span."""


def write_page(
    generations: pd.DataFrame,
    traces: str | Path,
    reader: Reader,
    path: str | Path,
    title: str,
) -> None:
    """Write the page of a run: to a temporary name, then renamed. See `page`.

    Parameters
    ----------
    traces : path of a TRACES table
        Of its windows memory holds those of the generations shown.
    """
    spans = TRACES.read(traces, columns=["generation_id", "start", "end"])
    shown = _longest_first(generations, spans)["generation_id"].tolist()
    rows = TRACES.read(traces, where=pc.field("generation_id").isin(shown))
    with atomic(path) as temporary:
        temporary.write_text(page(generations, rows, reader, title), encoding="utf-8")


def page(generations: pd.DataFrame, traces: pd.DataFrame, reader: Reader, title: str) -> str:
    """The traces of a run as one HTML page.

    Each generation with its spans marked and the documents beside it, the longest span first;
    a click on a span opens its documents. At most 500 generations, those with the longest spans,
    and 3 documents of a span: what is left out is counted on the page.

    Parameters
    ----------
    generations, traces : GENERATIONS and TRACES frames
    """
    shown = _longest_first(generations, traces)
    mine = dict(iter(traces.groupby("generation_id")))
    nothing = traces[:0]
    template = jinja2.Environment(
        loader=jinja2.PackageLoader("memfoil.tracing", "."), autoescape=True
    ).get_template("page.html")
    omitted = len(generations) - len(shown)
    return template.render(
        title=title,
        about="Spans that the index of the training text holds, word for word: "
        "the rarest of each generation.",
        generations=[
            _generation(row, mine.get(row["generation_id"], nothing), reader)
            for row in shown.to_dict("records")
        ],
        left_out=f"{omitted} more generations, with shorter spans, are in the table."
        if omitted
        else f"All {len(generations)} generations of the run.",
    )


def _longest_first(generations: pd.DataFrame, spans: pd.DataFrame) -> pd.DataFrame:
    """The generations to show, with their `order` and the tokens of their `longest` span."""
    longest = (spans["end"] - spans["start"]).groupby(spans["generation_id"]).max()
    frame = generations.assign(
        order=np.arange(len(generations)),
        longest=generations["generation_id"].map(longest).fillna(0).astype(int),
    )
    return frame.sort_values("longest", ascending=False, kind="stable")[:MOST_GENERATIONS]


def _generation(row: dict[Any, Any], traces: pd.DataFrame, reader: Reader) -> dict[str, Any]:
    ids = np.asarray(row["token_ids"])
    spans = [
        _span(number, rows, ids, reader)
        for number, (_, rows) in enumerate(traces.groupby(["start", "end"]))
    ]
    matches = set(traces["match"])
    return {
        "name": row["generation_id"],
        "setting": row.get("setting"),
        "order": row["order"],
        "tokens": len(ids),
        "longest": row["longest"],
        "match": next((m for m in ("whole", "normalized") if m in matches), None),
        "pieces": _pieces(ids, spans, reader),
        "spans": sorted(spans, key=lambda span: -span["length"]),
    }


def _span(number: int, rows: pd.DataFrame, ids: np.ndarray, reader: Reader) -> dict[str, Any]:
    start, end, count = (int(rows[name].iloc[0]) for name in ("start", "end", "count"))
    best = rows.sort_values("relevance", ascending=False, kind="stable")[:MOST_DOCUMENTS]
    documents = [_document(row, ids[start:end], reader) for row in best.to_dict("records")]
    return {
        "number": number,
        "start": start,
        "end": end,
        "length": end - start,
        "size": _size(end - start),
        "count": count,
        "text": reader.texts([ids[start:end]])[0],
        "documents": documents,
        "left_out": len(rows) - len(documents),
    }


def _document(row: dict[Any, Any], ids: np.ndarray, reader: Reader) -> dict[str, Any]:
    window = np.asarray(row["window"])
    known = not pd.isna(row["document_start"])
    at = int(row["document_start"] - row["window_start"]) if known else _first(ids, window)
    cuts = [max(at - MARGIN_TOKENS, 0), at, at + len(ids), at + len(ids) + MARGIN_TOKENS]
    before, inside, after = reader.texts([window[a:b] for a, b in pairwise(cuts)])
    return {
        "name": row["document_id"],
        "place": int(row["document_start"]) if known else None,
        "match": row["match"],
        "before": before,
        "inside": inside,
        "after": after,
    }


def _first(ids: np.ndarray, window: np.ndarray) -> int:
    """Where a window whose place is not known holds the span first; 0 if it is empty."""
    places = range(len(window) - len(ids) + 1)
    return next((at for at in places if (window[at : at + len(ids)] == ids).all()), 0)


def _pieces(ids: np.ndarray, spans: list[dict[str, Any]], reader: Reader) -> list[dict[str, Any]]:
    """The generation cut wherever a span starts or ends, each piece with the spans over it."""
    cuts = sorted({0, len(ids), *(s["start"] for s in spans), *(s["end"] for s in spans)})
    ranges = list(pairwise(cuts))
    texts = reader.texts([ids[a:b] for a, b in ranges])
    pieces = []
    for (a, b), text in zip(ranges, texts, strict=True):
        over = [span for span in spans if span["start"] <= a and b <= span["end"]]
        pieces.append(
            {
                "text": text,
                "spans": " ".join(str(span["number"]) for span in over),
                "size": _size(max((span["length"] for span in over), default=0)),
            }
        )
    return pieces


def _size(tokens: int) -> str:
    if tokens >= LONG:
        return "long"
    return "middle" if tokens >= LOOPS_FROM else "short"
