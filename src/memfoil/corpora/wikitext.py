"""From the markup of a wiki page to its prose."""

from __future__ import annotations

import re

import mwparserfromhell
from mwparserfromhell.nodes import Tag, Wikilink
from mwparserfromhell.wikicode import Wikicode

LIST_TITLE = re.compile(r"(lists? of|liste|index of|outline of)\b", re.IGNORECASE)
LIST_ITEM = re.compile(r"^[*#].*$", re.MULTILINE)
NO_PROSE = {"ref", "references", "table"}
# Templates that mark a page as one of names, in the languages of the dumps read so far.
DISAMBIGUATION = re.compile(
    r"\{\{\s*(disambig|dab|hndis|geodis|flertydig|begriffsklärung|homonymie)[^{}]*\}\}",
    re.IGNORECASE,
)


def is_disambiguation(title: str, wikitext: str) -> bool:
    """Whether a page only tells apart what a name may mean, by its title or its template."""
    return title.endswith("(disambiguation)") or bool(DISAMBIGUATION.search(wikitext))


def is_list(title: str, wikitext: str) -> bool:
    """Whether a page is a list: it says so, or more than half of it stands in items."""
    items = sum(len(item) for item in LIST_ITEM.findall(wikitext))
    return bool(LIST_TITLE.match(title)) or items > len(wikitext) / 2


def prose(wikitext: str, media: frozenset[str]) -> str:
    """The text a reader of the page sees, without tables, notes, files, categories, templates.

    Parameters
    ----------
    media : frozenset of str
        Lower-case names of the namespaces whose links are dropped, their captions too.
    """
    code = mwparserfromhell.parse(wikitext)
    _drop_hidden(code, media)
    lines = (" ".join(line.split()) for line in code.strip_code().splitlines())
    return "\n".join(line for line in lines if line)


def _drop_hidden(code: Wikicode, media: frozenset[str]) -> None:
    """Take out hidden nodes at every depth; in one walk, for each `remove` searches them all."""
    code.nodes = [node for node in code.nodes if not _hidden(node, media)]
    for node in code.nodes:
        inner = getattr(node, "contents", None) or getattr(node, "text", None)
        if isinstance(inner, Wikicode):
            _drop_hidden(inner, media)


def _hidden(node: object, media: frozenset[str]) -> bool:
    if isinstance(node, Tag):
        return str(node.tag).strip().lower() in NO_PROSE
    if isinstance(node, Wikilink):
        namespace, colon, _ = str(node.title).partition(":")
        return bool(colon) and namespace.strip().lower() in media
    return False
