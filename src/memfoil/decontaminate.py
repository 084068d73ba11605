"""Which controls are members of the training text, with the evidence, and a person's last word."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from memfoil.errors import InvalidConfiguration, InvalidTable
from memfoil.index import Index, Neighbour, Place, neighbours, open_index, require_tokenizer_of
from memfoil.index.files import MANIFEST
from memfoil.tables import atomic

EXACT, NEAR, NONE_FOUND = "exact", "near", "none found"
MEMBER, NON_MEMBER = "member", "non-member"
REVIEW = ("sequence_id", "review", "reviewer", "note")
SHEET = (
    "sequence_id",
    "verdict",
    "distance",
    "ngram_share",
    "control_text",
    "training_text",
    "review",
    "reviewer",
    "note",
)


def training_index(
    folder: str | Path, *, tokenizer: Collection[str], vocab_size: int, threads: int
) -> Index:
    """Open the index of the training text for sequences of a tokenizer.

    Parameters
    ----------
    tokenizer : collection of str
        Its name and its digest; an index that names another one is refused.
    vocab_size : int
        Its number of ids, for an index that infini-gram made, which does not say.

    Raises
    ------
    InvalidIndex
        As `open_index` does, or if the index was built with another tokenizer: every search in
        it would end with a false "none found".
    """
    made_by_memfoil = (Path(folder) / MANIFEST).exists()
    index = open_index(folder, vocab_size=None if made_by_memfoil else vocab_size, threads=threads)
    require_tokenizer_of(index, *tokenizer, where=str(folder))
    return index


def verdicts(
    sequences: pd.DataFrame,
    index: Index,
    *,
    max_distance: int,
    ngram_tokens: int,
    max_piece_count: int,
    decode: Callable[[list[int]], str],
    reviews: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Search the training text for every control's window, prefix and suffix together.

    A control is a member if its window occurs (`exact`), or a stretch of one training document
    within `max_distance` token edits of it (`near`). Of the others, those that share an n-gram
    with the training text show the surroundings of their longest match, so that a person can
    judge them. A person's verdict counts for `member`; the search's stays beside it.

    Parameters
    ----------
    sequences : SEQUENCES frame
        Rows with role `control` are searched for; others are passed over.
    ngram_tokens : int
        n of the n-grams whose share is reported.
    max_piece_count : int
        More frequent pieces of a window are not followed up, but counted in `skipped_pieces`.
    decode : callable
        Token ids to text.
    reviews : frame of `read_reviews`, optional

    Returns
    -------
    CONTAMINATION frame, controls in the order given.

    Raises
    ------
    InvalidConfiguration
        If a window is shorter than an n-gram, or too short for the edit distance.
    InvalidIndex
        If a window holds an id that the index cannot.
    """
    controls = sequences[sequences["role"] == "control"].reset_index(drop=True)
    windows = controls["token_ids"].tolist()
    _refuse_short_windows(controls, "ngram_tokens", ngram_tokens)
    _refuse_short_windows(controls, "max_distance", max_distance + 1)
    found = neighbours(windows, index, max_distance=max_distance, max_piece_count=max_piece_count)
    matches = index.longest_matches(windows)
    shares = [_ngram_share(lengths, ngram_tokens) for lengths in matches]
    evidence = [
        _evidence(window, neighbour, lengths if share > 0 else None, index)
        for window, neighbour, lengths, share in zip(windows, found, matches, shares, strict=True)
    ]
    result = pd.DataFrame(
        {
            "sequence_id": controls["sequence_id"],
            "verdict": [_verdict(neighbour) for neighbour in found],
            "distance": pd.array([n.distance for n in found], dtype="Int64"),
            "document_id": [place.document_id if place else None for place, _ in evidence],
            "start_token": pd.array(
                [place.start_token if place else None for place, _ in evidence], dtype="Int64"
            ),
            "control_text": controls["text"],
            "training_text": [
                decode(index.window(place, n).tolist()) if place else None for place, n in evidence
            ],
            "ngram_share": shares,
            "skipped_pieces": [neighbour.skipped_pieces for neighbour in found],
        }
    )
    return reviewed(result, reviews)


def _refuse_short_windows(controls: pd.DataFrame, name: str, needed: int) -> None:
    lengths = controls["token_ids"].map(len)
    if (lengths < needed).any():
        row = int(np.argmax(lengths < needed))
        raise InvalidConfiguration(
            f"{name}: needs windows of at least {needed} tokens; sequence "
            f"{controls['sequence_id'].iloc[row]} has {lengths.iloc[row]}"
        )


def _verdict(neighbour: Neighbour) -> str:
    if neighbour.distance is None:
        return NONE_FOUND
    return NEAR if neighbour.distance else EXACT


def _ngram_share(lengths: np.ndarray, n: int) -> float:
    """Share of a window's n-grams that occur, from the longest match at each of its tokens."""
    return float(np.mean(lengths[: len(lengths) - n + 1] >= n))


def _evidence(
    window: Sequence[int], neighbour: Neighbour, lengths: np.ndarray | None, index: Index
) -> tuple[Place | None, int]:
    """What was found; else a window's length of text around its longest match, if any."""
    if neighbour.place or lengths is None:
        return neighbour.place, neighbour.n_tokens
    start = int(np.argmax(lengths))
    match = index.occurrences(window[start : start + lengths[start]], limit=1)[0]
    first = max(match.start_token - start, 0)
    return replace(match, start_token=first), len(window)


def reviewed(result: pd.DataFrame, reviews: pd.DataFrame | None) -> pd.DataFrame:
    """Verdicts with the columns of a person's (`read_reviews`), and the verdict that counts."""
    if reviews is None:
        reviews = pd.DataFrame(columns=REVIEW, dtype=object)
    result = result.merge(reviews[list(REVIEW)], on="sequence_id", how="left")
    found = result["verdict"] != NONE_FOUND
    result["member"] = found.where(result["review"].isna(), result["review"] == MEMBER)
    return result


def review_sheet(contamination: pd.DataFrame, *, near_misses: int) -> pd.DataFrame:
    """What a person should look at, the likeliest members first.

    All controls of which something was found, or that a person has judged; and of the others
    the `near_misses` with the largest share of n-grams in the training text (none without any).
    """
    found = (contamination["verdict"] != NONE_FOUND) | contamination["review"].notna()
    others = contamination[~found & (contamination["ngram_share"] > 0)]
    others = others.sort_values("sequence_id").sort_values(
        "ngram_share", ascending=False, kind="stable"
    )
    listed = contamination[found].sort_values(["distance", "sequence_id"])
    sheet = pd.concat([listed, others.head(near_misses)])[list(SHEET)].reset_index(drop=True)
    return sheet.astype({"distance": "Int64"})


def write_review_sheet(sheet: pd.DataFrame, path: str | Path) -> None:
    """Write a sheet as CSV, UTF-8; empty cells under `review`, `reviewer`, `note` are to fill."""
    with atomic(path) as temporary:
        # A bare carriage return in a text is not quoted otherwise, and would end the row.
        sheet.to_csv(temporary, index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)


def read_reviews(path: str | Path, sequence_ids: Collection[str]) -> pd.DataFrame:
    """A person's verdicts from a review sheet: the rows whose `review` is filled in.

    Parameters
    ----------
    path : path
        CSV, UTF-8, with the columns `sequence_id`, `review` (`member`, `non-member` or empty),
        `reviewer` and `note`; others are not looked at. Rows are counted as a spreadsheet
        does, the header being row 1.
    sequence_ids : collection of str
        The controls that can be judged.

    Returns
    -------
    frame with these four columns; `reviewer` and `note` None where empty

    Raises
    ------
    InvalidTable
        If the file cannot be read, a column is missing, or a row names an unknown control,
        names one a second time, or holds another word for a verdict.
    """
    rows = _rows(Path(path))
    reviews = {}
    seen = set()
    for number, row in enumerate(rows, start=2):
        where, sequence_id, review = f"{path}: row {number}", row["sequence_id"], row["review"]
        if sequence_id not in sequence_ids:
            raise InvalidTable(f"{where}: sequence_id {sequence_id!r} is not one of the controls")
        if sequence_id in seen:
            raise InvalidTable(f"{where}: sequence_id {sequence_id!r} occurs more than once")
        seen.add(sequence_id)
        if review not in (MEMBER, NON_MEMBER, ""):
            raise InvalidTable(
                f"{where}: review {review!r} is not {MEMBER!r}, {NON_MEMBER!r} or empty"
            )
        if review:
            reviews[number] = {name: row[name] or None for name in REVIEW}
    return pd.DataFrame(list(reviews.values()), columns=list(REVIEW), dtype=object)


def _rows(path: Path) -> list[dict[str, str]]:
    """The rows of a review sheet, cells stripped; a byte-order mark is passed over."""
    try:
        content = path.read_bytes()
        text = content.decode().removeprefix("\ufeff")
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        missing = [name for name in REVIEW if name not in (reader.fieldnames or [])]
        if missing:
            raise InvalidTable(f"{path}: row 1: column {missing[0]} is missing")
        return [{name: (row[name] or "").strip() for name in REVIEW} for row in reader]
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidTable(
            f"{path}: line {line}: byte {content[error.start]:#x} is not UTF-8; save the sheet "
            "as CSV UTF-8"
        ) from error
    except (OSError, csv.Error) as error:
        raise InvalidTable(f"{path}: not a readable CSV file: {error}") from error
