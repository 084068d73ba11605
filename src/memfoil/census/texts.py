"""Texts of a census: plain text, Project Gutenberg's files and Markdown, read by path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from markdown_it import MarkdownIt
from markdown_it.token import Token

from memfoil.errors import InvalidDocuments
from memfoil.sampling.left_out import listed
from memfoil.tables import CENSUS_TEXTS

MARKDOWN = (".md", ".markdown")
HEADER = re.compile(
    r"\A.{0,20000}?\*\*\* ?START OF TH(?:E|IS) PROJECT GUTENBERG EBOOK.{0,500}?\*\*\*\s*"
    r"|\A.{0,20000}?\*END\*? ?THE SMALL PRINT.{0,200}?\*END\*\s*",
    re.DOTALL | re.IGNORECASE,
)
FOOTER = re.compile(
    r"\s*^(?:\*\*\* ?END OF TH(?:E|IS) PROJECT GUTENBERG EBOOK"
    r"|End of (?:the )?Project Gutenberg(?:'s|’s)? ).*\Z",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
FRONT_MATTER = re.compile(r"\A---\n.*?\n(?:---|\.\.\.)\n", re.DOTALL)


class Text(NamedTuple):
    """A text as it is scored; `form` is `plain`, `gutenberg` or `markdown`.

    `left_out` says what was cut off, as (reason, detail).
    """

    text: str
    form: str
    left_out: list[tuple[str, str]]


def read(path: str | Path) -> Text:
    """Read a text file in UTF-8; line ends become newlines, a byte-order mark goes.

    From Project Gutenberg's files the licence before and behind the book is cut. Markdown (by its
    extension, `.md` or `.markdown`) becomes the text that it sets, without markup and HTML.

    Raises
    ------
    InvalidDocuments
        If the file cannot be read, is not UTF-8, or has no text in it.
    """
    path = Path(path)
    try:
        raw = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidDocuments(
            f"{path}: byte {error.start} ({error.object[error.start]:#04x}) is not UTF-8; convert "
            f"the file, for example: iconv -f LATIN1 -t UTF-8 {path.name}"
        ) from error
    except OSError as error:
        raise InvalidDocuments(f"{path}: cannot be read: {error.strerror or error}") from error
    raw = raw.replace("\r\n", "\n").replace("\r", "\n")
    result = _markdown(raw) if path.suffix.lower() in MARKDOWN else _gutenberg(raw)
    if not result.text.strip():
        raise InvalidDocuments(f"{path}: no text in it")
    return result


def _gutenberg(raw: str) -> Text:
    """The book between the licence's two parts; without them the text as it is."""
    header = HEADER.match(raw)
    start = header.end() if header else 0
    footer = FOOTER.search(raw, start)
    end = footer.start() if footer else len(raw)
    left_out = []
    if header:
        left_out.append(("Project Gutenberg's header", f"{start} characters"))
    if footer:
        left_out.append(("Project Gutenberg's footer", f"{len(raw) - end} characters"))
    return Text(raw[start:end], "gutenberg" if left_out else "plain", left_out)


def _markdown(raw: str) -> Text:
    """The text that a Markdown file sets: blocks one empty line apart, list items one line."""
    front = FRONT_MATTER.match(raw)
    body = raw[front.end() :] if front else raw
    blocks: list[str] = []
    tight = False
    for token in MarkdownIt("commonmark").parse(body):
        if token.type == "paragraph_open":
            tight = token.hidden
        text = _set(token)
        if text:
            blocks.append(text + ("\n" if tight and token.type == "inline" else "\n\n"))
    text = "".join(blocks).rstrip("\n") + "\n"
    left_out = [("front matter", f"{front.end()} characters")] if front else []
    left_out.append(("Markdown markup", f"{len(body) - len(text)} characters"))
    return Text(text, "markdown", left_out)


def _set(token: Token) -> str:
    if token.type in ("fence", "code_block"):
        return token.content.rstrip("\n")
    if token.type != "inline":
        return ""
    return "".join(
        "\n" if child.type in ("softbreak", "hardbreak") else child.content
        for child in token.children or []
        if child.type in ("text", "code_inline", "softbreak", "hardbreak")
    )


def read_all(
    names: Iterable[str], documents: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The texts of a census: files by their paths, else documents of the run by their ids.

    Parameters
    ----------
    names : paths or document ids
    documents : DOCUMENTS table, optional

    Returns
    -------
    texts, left_out : DataFrame
        CENSUS_TEXTS and LEFT_OUT tables; an item is named by the path and what was cut off it.

    Raises
    ------
    InvalidDocuments
        If a name is neither a file nor a document, or `read` refuses the file.
    """
    known = (
        {}
        if documents is None
        else dict(zip(documents["document_id"], documents["text"], strict=True))
    )
    rows, left_out = [], []
    for name in dict.fromkeys(names):
        if Path(name).is_file():
            text = read(name)
        elif name in known:
            text = Text(known[name], "document", [])
        else:
            raise InvalidDocuments(
                f"{name}: neither a file that is there nor a document of the run; give the path "
                "of a text in UTF-8"
            )
        rows.append((name, text.text, text.form))
        left_out += [(name, reason, detail) for reason, detail in text.left_out]
    return pd.DataFrame(rows, columns=CENSUS_TEXTS.names), listed(left_out)


def by_name(texts: pd.DataFrame) -> dict[str, str]:
    """Document id to text of a CENSUS_TEXTS table."""
    return dict(zip(texts["document_id"], texts["text"], strict=True))
