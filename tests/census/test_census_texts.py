"""Texts by path: what is kept, what is cut off and said so, what is refused."""

import pandas as pd
import pytest

from memfoil.census import texts
from memfoil.errors import InvalidDocuments

BOOK = "Chapter 1.\n\nIt was the best of times, *** it was the worst of times.\n\n\u2014 The End"
LICENCE = "updated editions will replace the previous one\n" * 40
NEW_HEADER = """\ufeffThe Project Gutenberg eBook of A Tale

This eBook is for the use of anyone anywhere

*** START OF THE PROJECT GUTENBERG EBOOK A TALE OF
TWO CITIES ***


"""
OLD_HEADER = """Project Gutenberg's A Tale, by Charles Dickens

***START OF THIS PROJECT GUTENBERG EBOOK A TALE***

"""
OLD_FOOTER = """

End of the Project Gutenberg EBook of A Tale, by Charles Dickens

*** END OF THIS PROJECT GUTENBERG EBOOK A TALE ***
"""
GUTENBERG = {
    "new": (NEW_HEADER, "\n\n*** END OF THE PROJECT GUTENBERG EBOOK A TALE OF TWO CITIES ***\n"),
    "old": (OLD_HEADER, OLD_FOOTER),
    "oldest": (
        "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*\n\n",
        "\n\nEnd of Project Gutenberg's A Tale, by Charles Dickens\n",
    ),
}


@pytest.mark.parametrize("kind", GUTENBERG)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_project_gutenberg_loses_its_licence_and_nothing_else(tmp_path, kind, newline):
    header, footer = GUTENBERG[kind]
    whole = header + BOOK + footer + LICENCE
    (tmp_path / "book.txt").write_bytes(whole.replace("\n", newline).encode())
    text, form, left_out = texts.read(tmp_path / "book.txt")
    assert (text, form) == (BOOK, "gutenberg")
    whole = whole.removeprefix("\ufeff")
    cut = {reason: int(detail.split()[0]) for reason, detail in left_out}
    assert cut == {
        "Project Gutenberg's header": len(header.removeprefix("\ufeff")),
        "Project Gutenberg's footer": len(whole) - len(header.removeprefix("\ufeff")) - len(BOOK),
    }


def test_plain_text_is_kept_as_it_is(tmp_path):
    """Also where it speaks of Project Gutenberg or has three asterisks in a row."""
    text = "*** The end of Project Gutenberg's day ***\n  Two  spaces,\ttab, and no newline"
    (tmp_path / "a.txt").write_text(text)
    assert texts.read(tmp_path / "a.txt") == (text, "plain", [])


def test_markdown_becomes_the_text_that_it_sets(tmp_path):
    (tmp_path / "a.md").write_text(
        "---\ntitle: A Tale\n---\n# The *first* chapter\n\nIt was **the best** of\ntimes "
        "([see](http://x.org/y)), `code` &amp; <b>bold</b>.\n\n- one\n- two\n\n> quoted\n\n"
        "```\nx = 1\n```\n\n![picture](a.png)\n"
    )
    text, form, left_out = texts.read(tmp_path / "a.md")
    assert form == "markdown"
    assert text == (
        "The first chapter\n\nIt was the best of\ntimes (see), code & bold.\n\none\ntwo\n"
        "quoted\n\nx = 1\n"
    )
    assert [reason for reason, _ in left_out] == ["front matter", "Markdown markup"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("caf\u00e9".encode("latin-1"), r"a.txt: byte 3 \(0xe9\) is not UTF-8; .* iconv"),
        ("text".encode("utf-16"), r"a.txt: byte 0 \(0xff\) is not UTF-8"),
        (b" \n\t", "a.txt: no text in it"),
        (b"", "a.txt: no text in it"),
    ],
)
def test_a_file_that_is_no_text_in_utf_8_is_refused(tmp_path, content, message):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(InvalidDocuments, match=message):
        texts.read(tmp_path / "a.txt")


def test_names_are_files_or_documents_of_the_run(tmp_path):
    (tmp_path / "a.txt").write_text("from a file")
    documents = pd.DataFrame({"document_id": ["d"], "text": ["of the run"]})
    path = str(tmp_path / "a.txt")
    frame, left_out = texts.read_all(["d", path, "d"], documents)
    assert frame["document_id"].tolist() == ["d", path]
    assert frame["text"].tolist() == ["of the run", "from a file"]
    assert frame["form"].tolist() == ["document", "plain"]
    assert left_out.empty
    with pytest.raises(InvalidDocuments, match=r"b\.txt: neither a file"):
        texts.read_all(["b.txt"], documents)
