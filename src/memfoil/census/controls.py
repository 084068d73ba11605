"""Reused passages in a control: looked up, judged, and taken out of the threshold's way.

Source: Cooper et al. 2026, section 5 and appendix E.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from memfoil import decontaminate
from memfoil.census.case import Case
from memfoil.encoding import encode
from memfoil.errors import InvalidScores
from memfoil.index import Index
from memfoil.stats.census import LOG_10
from memfoil.tables import CENSUS_CONTROLS, LEFT_OUT

REUSED = "overlaps a verified passage"
KEY = ["prefix_tokens", "procedure"]
SHEET = [
    "sequence_id", "leaves", "rank", "log10_score", "log10_before", "log10_after", "verdict",
    "distance", "reference", "ngram_share", "text", "found_text", "review", "reviewer", "note",
]  # fmt: skip


class Lookup(NamedTuple):
    """How windows are looked up: those up to a rank, and how near counts (see `verdicts`)."""

    rank: int
    max_distance: int
    ngram_tokens: int
    max_piece_count: int


def judge_all(
    cases: Sequence[Case],
    texts: Mapping[str, str],
    references: Mapping[str, Index],
    tokenizer: Any,
    lookup: Lookup,
    review: str | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The verdicts on the controls of all pairs of a model, and the windows that leave.

    Parameters
    ----------
    texts : mapping
        Document id to text.
    review : path, optional
        A review sheet that a person has filled in.

    Returns
    -------
    controls, left_out : CENSUS_CONTROLS and LEFT_OUT frames

    Raises
    ------
    InvalidTable
        If the review names a window that is none of the controls'.
    """
    windows = [case.windows[case.windows["document_id"] == case.control] for case in cases]
    known = {name for frame in windows for name in frame["window_id"]}
    reviews = decontaminate.read_reviews(review, known) if review else None
    found, gone = [], []
    for case, cut in zip(cases, windows, strict=True):
        scores = case.scores[case.scores["window_id"].isin(cut["window_id"])]
        text = texts[case.control]
        judged = judge(case.pair, text, cut, scores, references, tokenizer, lookup, reviews)
        found.append(judged)
        gone.append(leaving(judged, cut))
    left_out = pd.concat(gone, ignore_index=True).drop_duplicates("item_id")
    return pd.concat(found, ignore_index=True), left_out


def judge(
    pair: str,
    text: str,
    windows: pd.DataFrame,
    scores: pd.DataFrame,
    references: Mapping[str, Index],
    tokenizer: Any,
    lookup: Lookup,
    reviews: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Look up the suffixes of a control's highest windows in every reference.

    A window is looked up if, under some procedure and length of prefix, its score is possible
    and among the `rank` largest, or if a person has judged it. Of several references the one
    that holds the nearest text is named. The reused passage reaches from the suffix as far as
    stretches of `ngram_tokens` or more tokens of the control go on being found.

    Parameters
    ----------
    text : str
        The control's.
    windows, scores : CENSUS_WINDOWS and CENSUS_SCORES tables of the control
    references : mapping
        Name to index: the training text, and others; may be empty.
    reviews : frame of `decontaminate.read_reviews`, optional

    Returns
    -------
    CENSUS_CONTROLS frame, the highest rank first

    Raises
    ------
    InvalidScores
        If the control has no score.
    """
    if scores.empty:
        raise InvalidScores(f"pair {pair}: no window of the control was scored")
    judged = set() if reviews is None else set(reviews["sequence_id"])
    rows = _ranked(scores)
    rows = rows[(rows["rank"] <= lookup.rank) | rows["window_id"].isin(judged)]
    rows = rows.merge(windows, on="window_id", suffixes=("", "_window"), validate="one_to_one")
    rows["log_score_before"] = _scores_beside(rows, windows, scores, -1)
    rows["log_score_after"] = _scores_beside(rows, windows, scores, 1)
    rows["text"] = [
        text[a:b] for a, b in zip(rows["suffix_start_char"], rows["end_char"], strict=True)
    ]
    found = _looked_up(rows, references, tokenizer, lookup, reviews)
    rows = rows.merge(found, left_on="window_id", right_on="sequence_id", validate="one_to_one")
    rows["pair"] = pair
    places = _passages(rows, text, references, tokenizer, lookup.ngram_tokens)
    rows["passage_start_char"], rows["passage_end_char"] = places
    rows["leaves"] = rows["window_id"].isin(leaving(rows, windows)["item_id"])
    return rows[CENSUS_CONTROLS.names]


def _ranked(scores: pd.DataFrame) -> pd.DataFrame:
    """Each window once, under the procedure and prefix at which it ranks highest."""
    possible = scores[scores["log_score"] > -np.inf].copy()
    grouped = possible.groupby(KEY, sort=False)["log_score"]
    possible["rank"] = grouped.rank(method="first", ascending=False).astype("int64")
    possible = possible.sort_values(["rank", "log_score"], ascending=[True, False], kind="stable")
    return possible.drop_duplicates("window_id").reset_index(drop=True)


def _scores_beside(
    rows: pd.DataFrame, windows: pd.DataFrame, scores: pd.DataFrame, step: int
) -> list[float | None]:
    """The score of the window `step` further, under the same procedure and prefix."""
    number = windows.set_index("window_id")["window"]
    known = dict(
        zip(
            zip(*(scores[name] for name in KEY), scores["window_id"].map(number), strict=True),
            scores["log_score"],
            strict=True,
        )
    )
    return [
        known.get((prefix, procedure, window + step))
        for prefix, procedure, window in zip(
            *(rows[name] for name in KEY), rows["window"], strict=True
        )
    ]


def _looked_up(
    rows: pd.DataFrame,
    references: Mapping[str, Index],
    tokenizer: Any,
    lookup: Lookup,
    reviews: pd.DataFrame | None,
) -> pd.DataFrame:
    """The nearest text found for each suffix in any reference, and the verdict."""
    suffixes = pd.DataFrame(
        {
            "sequence_id": rows["window_id"],
            "role": "control",
            "token_ids": [
                ids[n:]
                for ids, n in zip(rows["token_ids"], rows["prefix_tokens_window"], strict=True)
            ],
            "text": rows["text"],
        }
    )
    searched = [
        decontaminate.verdicts(
            suffixes,
            index,
            max_distance=lookup.max_distance,
            ngram_tokens=lookup.ngram_tokens,
            max_piece_count=lookup.max_piece_count,
            decode=tokenizer.decode,
            reviews=reviews,
        ).assign(reference=name)
        for name, index in references.items()
    ] or [_unsearched(suffixes, reviews)]
    frame = pd.concat(searched, ignore_index=True)
    skipped = frame.groupby("sequence_id")["skipped_pieces"].sum()
    frame = frame.sort_values(
        ["distance", "ngram_share"], ascending=[True, False], kind="stable", na_position="last"
    ).drop_duplicates("sequence_id")
    frame["skipped_pieces"] = frame["sequence_id"].map(skipped)
    frame["reference"] = frame["reference"].where(frame["training_text"].notna())
    return frame.drop(columns="control_text").rename(
        columns={
            "document_id": "found_document_id",
            "start_token": "found_start_token",
            "training_text": "found_text",
        }
    )


def _unsearched(suffixes: pd.DataFrame, reviews: pd.DataFrame | None) -> pd.DataFrame:
    """Verdicts where there is no reference: nothing found, a person's word alone counts."""
    frame = pd.DataFrame(
        {
            "sequence_id": suffixes["sequence_id"],
            "verdict": decontaminate.NONE_FOUND,
            "distance": pd.array([None] * len(suffixes), dtype="Int64"),
            "document_id": None,
            "start_token": pd.array([None] * len(suffixes), dtype="Int64"),
            "control_text": suffixes["text"],
            "training_text": None,
            "ngram_share": 0.0,
            "skipped_pieces": 0,
            "reference": None,
        }
    )
    return decontaminate.reviewed(frame, reviews)


def _passages(
    rows: pd.DataFrame,
    text: str,
    references: Mapping[str, Index],
    tokenizer: Any,
    ngram_tokens: int,
) -> tuple[list[int], list[int]]:
    """First and end character of the reused passage around each suffix; itself if not found."""
    (whole,) = encode(tokenizer, [text])
    places = np.arange(len(whole.token_ids))
    starts, ends = np.array(whole.starts), np.array(whole.ends)
    found_in = rows["reference"].where(rows["verdict"] != decontaminate.NONE_FOUND)
    reach = {}
    for name in found_in.dropna().unique():
        (lengths,) = references[name].longest_matches([whole.token_ids])
        long_enough = lengths >= ngram_tokens
        reach[name] = places[long_enough], (places + lengths)[long_enough]
    suffixes = (rows["suffix_start_char"].tolist(), rows["end_char"].tolist())
    result: tuple[list[int], list[int]] = ([], [])
    for first, end, name in zip(*suffixes, found_in, strict=True):
        begins, stops = reach.get(name, (places[:0], places[:0]))
        first_token = int(np.searchsorted(ends, first, side="right"))
        touching = (begins < np.searchsorted(starts, end)) & (stops > first_token)
        if touching.any():
            first = min(first, int(starts[begins[touching].min()]))
            end = max(end, int(ends[stops[touching].max() - 1]))
        result[0].append(first)
        result[1].append(end)
    return result


def leaving(controls: pd.DataFrame, windows: pd.DataFrame) -> pd.DataFrame:
    """The windows of one control that overlap a verified passage with their suffix.

    A window that a person has judged `non-member` stays.

    Parameters
    ----------
    controls : CENSUS_CONTROLS frame of one pair
    windows : CENSUS_WINDOWS table of its control

    Returns
    -------
    LEFT_OUT frame
    """
    passages = controls.loc[controls["member"], ["passage_start_char", "passage_end_char"]]
    kept = set(controls.loc[controls["review"] == decontaminate.NON_MEMBER, "window_id"])
    starts, ends = windows["suffix_start_char"].to_numpy(), windows["end_char"].to_numpy()
    detail = np.full(len(windows), "", dtype=object)
    for first, end in passages.drop_duplicates().itertuples(index=False):
        detail[(starts < end) & (ends > first)] = f"characters {first}-{end}"
    gone = (detail != "") & ~windows["window_id"].isin(kept).to_numpy()
    return pd.DataFrame(
        {"item_id": windows.loc[gone, "window_id"], "reason": REUSED, "detail": detail[gone]},
        columns=LEFT_OUT.names,
    )


def write_review_sheet(controls: pd.DataFrame, path: str | Path) -> None:
    """Everything looked up as CSV for a person: what was found, then the highest that stay.

    Scores are log10; before and after are those of the windows beside it. `sequence_id` is the
    window's. Last come windows in which nothing was found but which overlap what was.
    """
    sheet = controls.rename(columns={"window_id": "sequence_id"})
    for name, column in (
        ("log10_score", "log_score"),
        ("log10_before", "log_score_before"),
        ("log10_after", "log_score_after"),
    ):
        sheet[name] = (sheet[column].astype("float64") / LOG_10).round(2)
    unfound = sheet["verdict"] == decontaminate.NONE_FOUND
    sheet["order"] = unfound.astype(int) + (unfound & sheet["leaves"])
    sheet = sheet.sort_values(["order", "rank"], kind="stable")
    decontaminate.write_review_sheet(sheet[SHEET], path)
