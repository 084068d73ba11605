"""Sentences to prompt with: everyday ones, Tatoeba's, whole ones out of a passage, common words."""

from __future__ import annotations

import bz2
import re
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pandas as pd
from langcodes import Language
from langcodes.tag_parser import LanguageTagError
from wordfreq import available_languages, top_n_list, word_frequency

from memfoil.errors import InvalidConfiguration, InvalidDocuments
from memfoil.tracing.words import sentence_ends

COMMON_WORDS = 100

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_END = re.compile(r"[.!?…][\"'”’»)\]]*$")
# "Mr." and "U.S." end no sentence; a name of three letters may be lost, a half sentence is not won
_ABBREVIATION = re.compile(r"\b[A-Z][a-z]{0,2}\.$")


def everyday() -> pd.DataFrame:
    """English everyday sentences written for this project: `sentence_id` and `text`."""
    lines = files("memfoil.propensity").joinpath("everyday.txt").read_text("utf-8").splitlines()
    return pd.DataFrame(
        {"sentence_id": [f"everyday {n}" for n in range(1, len(lines) + 1)], "text": lines}
    )


def tatoeba(path: str | Path, language: str) -> pd.DataFrame:
    """The sentences of one language in an export of Tatoeba: `sentence_id` and `text`.

    Parameters
    ----------
    path : path
        `sentences.csv`, `sentences_detailed.csv`, or one language's `eng_sentences.tsv`, as they
        are or packed with bzip2: number, language and sentence between tabs, more columns behind.
    language : str
        Such as `en`; the export writes `eng`.

    Raises
    ------
    InvalidDocuments
        If the file cannot be read, a line has another form, or no sentence is in the language.
    """
    code = Language.get(_known(language)).to_alpha3()
    opened = bz2.open if str(path).endswith(".bz2") else open
    kept: list[tuple[str, str]] = []
    others: set[str] = set()
    try:
        with opened(path, "rt", encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, start=1):
                name, spoken, text = _row(line, number, path)
                if spoken == code:
                    kept.append((f"tatoeba {name}", text))
                else:
                    others.add(spoken)
    except UnicodeDecodeError as error:
        raise InvalidDocuments(f"{path}: not UTF-8: {error.reason} in the sentences") from None
    except OSError as error:
        raise InvalidDocuments(f"{path}: cannot be read: {error.strerror or error}") from error
    if not kept:
        found = ", ".join(sorted(others)[:10]) or "none"
        raise InvalidDocuments(
            f"{path}: no sentence in {language} ({code}); the languages there are {found}"
        )
    return pd.DataFrame(kept, columns=["sentence_id", "text"])


def _row(line: str, number: int, path: str | Path) -> tuple[str, str, str]:
    fields = line.rstrip("\r\n").split("\t")
    if len(fields) < 3 or not fields[0].isdigit():
        raise InvalidDocuments(
            f"{path}: line {number}: {line.strip()[:40]!r} is not number, language and sentence "
            "between tabs, as Tatoeba exports them"
        )
    return fields[0], fields[1], fields[2]


def whole_sentences(text: str) -> list[str]:
    """The sentences of a passage that are whole, in order.

    The first piece is none, for a passage may begin inside a sentence, and so is a last one
    without an end. Pieces that begin with a small letter or end with an abbreviation are parts.
    """
    ends = sentence_ends(list(text)).nonzero()[0].tolist()
    pieces = [text[a:b].strip() for a, b in pairwise(ends[1:])]
    return [
        piece
        for piece in pieces
        if piece[:1].isupper() and _END.search(piece) and not _ABBREVIATION.search(piece)
    ]


def common_words(language: str) -> dict[str, float]:
    """The 100 most frequent words of a language, each with its frequency.

    Source: PropMe 2026, section 4.2; wordfreq (Speer 2022).

    Raises
    ------
    InvalidConfiguration
        If wordfreq does not know the language.
    """
    words = top_n_list(_known(language), COMMON_WORDS)
    return {word: word_frequency(word, language) for word in words}


def common_share(text: str, words: dict[str, float]) -> float:
    """Share of a text's words that are among the common ones; 0 of a text without a word."""
    spoken = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    return sum(word in words for word in spoken) / len(spoken) if spoken else 0.0


def _known(language: str) -> str:
    try:
        known = Language.get(language).language in available_languages()
    except LanguageTagError:
        known = False
    if not known:
        raise InvalidConfiguration(
            f"propensity/language: {language!r} is not a language of wordfreq; it has "
            f"{', '.join(sorted(available_languages()))}"
        )
    return language
