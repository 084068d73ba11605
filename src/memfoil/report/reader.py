"""A page to read a book in, coloured by what of it is memorized: one file that needs no network."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable
from importlib import resources
from typing import Any, NamedTuple

import jinja2
import numpy as np
import pandas as pd
from markupsafe import Markup

from memfoil.census.case import GREEDY, NEAR, Budget, Group
from memfoil.errors import InvalidTable


class Book(NamedTuple):
    """A document of a census: its text, and its CENSUS_WINDOWS rows in the order of the text."""

    pair: str
    model: str
    document_id: str
    text: str
    windows: pd.DataFrame


def book(
    pair: str, model: str, document_id: str, texts: pd.DataFrame, windows: pd.DataFrame
) -> Book:
    """The document of a pair, from the CENSUS_TEXTS and CENSUS_WINDOWS frames of a census.

    Raises
    ------
    InvalidTable
        If the document is not among the texts.
    """
    own = texts.loc[texts["document_id"] == document_id, "text"]
    if own.empty:
        raise InvalidTable(
            f"census_texts: column document_id: {document_id}, the document of pair {pair}, is "
            "not there; texts and pairs are of different runs"
        )
    mine = windows[windows["document_id"] == document_id].sort_values("window")
    return Book(pair, model, document_id, own.iloc[0], mine)


def reader(
    book: Book,
    heat: pd.DataFrame,
    thresholds: pd.DataFrame,
    budget: Budget,
    *,
    show_text: bool,
) -> str:
    """The book as an HTML page; every character coloured by the largest score that covers it.

    The page holds scores, not colours: margin over the threshold and query budget are moved in
    it. Offsets are characters, as in the tables. Without its text a book is a row of dots.

    Parameters
    ----------
    heat : CENSUS_HEAT frame
    thresholds : CENSUS_THRESHOLDS frame
        tau_book of the decontaminated control is used; greedy decoding has none.
    budget : Budget
        What the page opens with.
    show_text : bool
        Whether the page holds the text itself.

    Raises
    ------
    InvalidTable
        If `heat` does not cover the text, names a window that is not the book's, or lacks its
        threshold.

    Source: Cooper et al. 2026, section 5 and appendix E.2.
    """
    own = heat[(heat["pair"] == book.pair) & (heat["model"] == book.model)]
    if own.empty:
        raise InvalidTable(
            f"census_heat: pair {book.pair}, model {book.model}: no row; run the census of this "
            "pair first"
        )
    taus = _taus(book, thresholds)
    groups = sorted(_groups(own), key=_order)
    data = {
        "text": book.text if show_text else None,
        "characters": len(book.text),
        "queries": budget.queries,
        "success": budget.success,
        "windows": {
            "start": _steps(book.windows["start_char"]),
            "suffix": _steps(book.windows["suffix_start_char"]),
            "end": _steps(book.windows["end_char"]),
        },
        "views": [_view(book, group, rows, taus) for group, rows in groups],
    }
    files = resources.files("memfoil.report") / "reader"
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("memfoil.report", "reader"), autoescape=True
    )
    return environment.get_template("reader.html").render(
        title=book.document_id,
        model=book.model,
        about=_about(book, thresholds),
        style=Markup((files / "reader.css").read_text("utf-8")),  # noqa: S704 - our own file
        script=Markup((files / "reader.js").read_text("utf-8")),  # noqa: S704 - our own file
        data=Markup(_for_script(data)),  # noqa: S704 - escaped for where it stands
    )


def _taus(book: Book, thresholds: pd.DataFrame) -> dict[Group, float]:
    used = thresholds[thresholds["decontaminated"]]
    used = used[(used["pair"] == book.pair) & (used["model"] == book.model)]
    keys = zip(used["prefix_tokens"], used["procedure"], strict=True)
    return dict(zip(keys, used["log10_tau"], strict=True))


def _about(book: Book, thresholds: pd.DataFrame) -> str:
    mine = thresholds[(thresholds["pair"] == book.pair) & (thresholds["model"] == book.model)]
    controls = mine["window_id"].str.rpartition(":")[0].unique()
    against = f", held against {controls[0]}" if len(controls) else ""
    return (
        f"{book.model}{against}, whose largest score sets the threshold: a measured maximum, not "
        "a certified rate."
    )


def _groups(heat: pd.DataFrame) -> list[tuple[Group, pd.DataFrame]]:
    return [
        ((int(rows["prefix_tokens"].iloc[0]), str(rows["procedure"].iloc[0])), rows)
        for _, rows in heat.groupby(["prefix_tokens", "procedure"], sort=False)
    ]


def _order(group: tuple[Group, pd.DataFrame]) -> tuple[int, int]:
    """Long prefixes first; of each the sampled procedures, then near-verbatim, then greedy."""
    prefix_tokens, procedure = group[0]
    return -prefix_tokens, {NEAR: 1, GREEDY: 2}.get(procedure, 0)


def _view(
    book: Book,
    group: Group,
    rows: pd.DataFrame,
    taus: dict[Group, float],
) -> dict[str, Any]:
    """One measurement: where its runs start, their best windows and scores, its threshold."""
    prefix_tokens, procedure = group
    where = f"pair {book.pair}, model {book.model}, {procedure} at {prefix_tokens} prefix tokens"
    if procedure != GREEDY and group not in taus:
        raise InvalidTable(f"census_thresholds: {where}: no threshold of a decontaminated control")
    rows = rows.sort_values("start_char")
    edges = np.append(rows["start_char"].to_numpy(), len(book.text))
    if edges[0] != 0 or (edges[1:] != rows["end_char"].to_numpy()).any():
        raise InvalidTable(
            f"census_heat: {where}: its runs do not cover the {len(book.text)} characters of "
            f"{book.document_id}; heat and text are of different runs"
        )
    number = pd.Index(book.windows["window_id"]).get_indexer(rows["window_id"])
    lost = rows["window_id"].notna() & (number < 0)
    if lost.any():
        raise InvalidTable(
            f"census_heat: {where}: window {rows.loc[lost, 'window_id'].iloc[0]} is not a window "
            f"of {book.document_id}"
        )
    name = procedure if procedure == NEAR else f"verbatim, {procedure}"
    tau = taus.get(group, -math.inf)
    return {
        "label": f"{name}; {prefix_tokens}-token prefix",
        "has_threshold": procedure != GREEDY,
        "log10_tau": None if math.isinf(tau) else tau,
        "starts": _steps(edges),
        "windows": _steps(number),
        "log_scores": _float64(rows["log_score"]),
    }


def _steps(values: Iterable[int]) -> list[int]:
    """Differences, the first value first: short numbers, where offsets of a book are long."""
    steps: list[int] = np.diff(np.asarray(values, np.int64), prepend=0).tolist()
    return steps


def _float64(values: pd.Series) -> str:
    """Every bit of the scores, so that the page compares them as the tables do."""
    return base64.b64encode(values.to_numpy("<f8", na_value=np.nan).tobytes()).decode()


def _for_script(data: dict[str, Any]) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
