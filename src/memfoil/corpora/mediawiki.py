"""Articles created between two dated dumps of a MediaWiki wiki, such as Wikipedia."""

from __future__ import annotations

import bz2
import datetime
import gzip
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import ParseError

import mwxml
from mwxml.element_iterator import ElementIterator
from mwxml.errors import MalformedXML

from memfoil.corpora.left_out import LeftOut
from memfoil.corpora.wikitext import is_disambiguation, is_list, prose
from memfoil.errors import InvalidDocuments

OPENERS: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".gz": gzip.open, ".xml": open}
ARTICLES, FILES, CATEGORIES = 0, 6, 14
EARLIER = "page is in the earlier dump"
REDIRECT = "redirect"
NO_ARTICLE = "page of another namespace"
NOT_WIKITEXT = "page is not wikitext"
OLDER = "text is older than the earlier dump: imported or restored"
DISAMBIGUATION = "disambiguation page"
LIST = "list"


class _Dump(NamedTuple):
    wiki: str
    media: frozenset[str]
    """Names of the namespaces whose links are no text: files and categories."""
    pages: Iterator[Any]


def records(source: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any] | LeftOut]]:
    """Each article of the dump `later` whose page id is not in the dump `earlier`, and what else
    is new there as `LeftOut`.

    A document's id is the wiki and the page id; its text is that of the page's last revision in
    the dump, its date the day of that revision. Both dumps are streamed (bz2, gz or plain XML);
    of the earlier one a bit for each page id is kept. It may be a dump without text (`stub`).

    Raises
    ------
    InvalidDocuments
        If a file's name holds no date as Wikimedia's do (`enwiki-20240101-...`), the dates are in
        the wrong order, or a dump is missing, cut off, no dump, or of another wiki.
    """
    earlier, later = Path(source["earlier"]), Path(source["later"])
    first, last = _day_of(earlier), _day_of(later)
    if first >= last:
        raise InvalidDocuments(
            f"{later}: the dump of {last} is not later than {earlier}, the one of {first}; swap "
            "them"
        )
    wiki, known = _page_ids(earlier)
    seen_before = 0
    with _opened(later) as dump:
        if dump.wiki != wiki:
            raise InvalidDocuments(
                f"{later}: a dump of {dump.wiki}, but {earlier} is one of {wiki}"
            )
        for page in dump.pages:
            if _holds(known, page.id):
                seen_before += 1
                continue
            where = f"{later}, page {page.id}"
            record = _read(page, f"{wiki}-{page.id}", dump.media, first)
            if isinstance(record, dict):
                record["source"] = source.get("source", wiki)
            yield where, record
    if seen_before:
        yield str(later), LeftOut(later.name, EARLIER, f"{seen_before} pages")


def _read(
    page: Any, name: str, media: frozenset[str], created_after: datetime.date
) -> dict[str, Any] | LeftOut:
    """The document of a new page, or why there is none."""
    if page.namespace != ARTICLES:
        return LeftOut(name, NO_ARTICLE, page.title)
    if page.redirect is not None:
        return LeftOut(name, REDIRECT, page.title)
    revision = max(page, key=lambda revision: int(revision.timestamp))
    day = datetime.date.fromisoformat(revision.timestamp.long_format()[:10])
    text = revision.text or ""
    if revision.model not in (None, "wikitext"):
        return LeftOut(name, NOT_WIKITEXT, page.title)
    if day < created_after:
        return LeftOut(name, OLDER, f"{page.title}, {day}")
    if is_disambiguation(page.title, text):
        return LeftOut(name, DISAMBIGUATION, page.title)
    if is_list(page.title, text):
        return LeftOut(name, LIST, page.title)
    return {
        "document_id": name,
        "text": prose(text, media),
        "date": day,
        "title": page.title,
    }


def _day_of(path: Path) -> datetime.date:
    """The day in the name of a dump."""
    found = re.search(r"-(\d{8})-", path.name)
    try:
        return datetime.datetime.strptime(found[1] if found else "", "%Y%m%d").date()
    except ValueError as error:
        raise InvalidDocuments(
            f"{path}: no date in the name of the dump; call it as Wikimedia does, such as "
            "enwiki-20240101-pages-articles.xml.bz2"
        ) from error


@contextmanager
def _opened(path: Path) -> Iterator[_Dump]:
    """A dump's wiki and pages; every fault of the file is one line.

    The pages read are taken off the tree, which would otherwise keep an empty element of each.
    """
    page_id = None

    def pages(root: ElementIterator, dump: mwxml.Dump) -> Iterator[Any]:
        nonlocal page_id
        for page in dump.pages:
            page_id = page.id
            yield page
            root.element.clear()

    try:
        with OPENERS.get(path.suffix, open)(path, "rb") as file:
            root = ElementIterator.from_file(file)
            if root.tag != "mediawiki":
                raise InvalidDocuments(f"{path}: <{root.tag}> is not a MediaWiki dump")
            dump = mwxml.Dump.from_element(root)
            site = dump.site_info
            spaces = site.namespaces or ()  # none where the dump names none
            names = [each.name for each in spaces if each.id in (FILES, CATEGORIES)]
            media = frozenset(name.lower() for name in [*names, "File", "Image", "Category"])
            yield _Dump(site.dbname, media, pages(root, dump))
    except (ParseError, MalformedXML, EOFError, StopIteration) as error:
        place = f"after page {page_id}" if page_id else "before the first page"
        raise InvalidDocuments(
            f"{path}: cut off or damaged {place}: {' '.join(str(error).split()):.100}; fetch the "
            "dump again"
        ) from error
    except OSError as error:
        raise InvalidDocuments(
            f"{path}: cannot be read: {error.strerror or error}; fetch the dump again"
        ) from error


def _page_ids(path: Path) -> tuple[str, bytearray]:
    """The wiki of a dump, and one bit for each page id."""
    known = bytearray()
    with _opened(path) as dump:
        for page in dump.pages:
            byte, bit = divmod(page.id, 8)
            if byte >= len(known):
                known.extend(bytes(byte + 1024 - len(known)))
            known[byte] |= 1 << bit
        return dump.wiki, known


def _holds(known: bytearray, page_id: int) -> bool:
    byte, bit = divmod(page_id, 8)
    return byte < len(known) and bool(known[byte] >> bit & 1)
