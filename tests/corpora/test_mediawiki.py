"""Articles between two dumps in the export format 0.11, as Wikimedia writes it."""

import bz2
import gzip
import tracemalloc

import pytest

from memfoil import corpora
from memfoil.corpora import wikitext
from memfoil.errors import InvalidDocuments

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" \
xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:schemaLocation="http://www.mediawiki.org/xml/export-0.11/ \
http://www.mediawiki.org/xml/export-0.11.xsd" version="0.11" xml:lang="da">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>dawiki</dbname>
    <base>https://da.wikipedia.org/wiki/Forside</base>
    <generator>MediaWiki 1.44.0-wmf.8</generator>
    <case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Diskussion</namespace>
      <namespace key="6" case="first-letter">Fil</namespace>
      <namespace key="14" case="first-letter">Kategori</namespace>
    </namespaces>
  </siteinfo>
"""
PROSE = "'''Ada''' var en [[Danmark|dansk]] kemiker.<ref>{{kilde|titel=T}}</ref> Hun fik to priser."
MEDIA = frozenset({"fil", "kategori"})


def page(number, text=PROSE, title=None, namespace=0, day="2024-03-05", redirect="", model=""):
    model = model or "wikitext"
    return f"""  <page>
    <title>{title or f"Side {number}"}</title>
    <ns>{namespace}</ns>
    <id>{number}</id>
{redirect}    <revision>
      <id>{number}1</id>
      <parentid>{number}0</parentid>
      <timestamp>{day}T10:20:30Z</timestamp>
      <contributor>
        <username>Someone</username>
        <id>7</id>
      </contributor>
      <comment>a comment</comment>
      <origin>{number}1</origin>
      <model>{model}</model>
      <format>text/x-wiki</format>
      <text bytes="{len(text)}" sha1="abc" xml:space="preserve">{escaped(text)}</text>
      <sha1>abc</sha1>
    </revision>
  </page>
"""


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def dump(folder, day, pages, opened=bz2.open, ending=".bz2", head=HEAD):
    path = folder / f"dawiki-{day}-pages-articles.xml{ending}"
    with opened(path, "wt", encoding="utf-8") as file:
        file.write(head + "".join(pages) + "</mediawiki>\n")
    return path


def source(earlier, later):
    return [{"reader": "mediawiki", "earlier": str(earlier), "later": str(later)}]


@pytest.fixture
def earlier(tmp_path):
    return dump(tmp_path, "20240101", [page(1), page(5, namespace=1)])


def test_articles_of_the_later_dump_alone_are_read(tmp_path, earlier):
    redirect = '    <redirect title="Side 1" />\n'
    later = dump(
        tmp_path,
        "20250101",
        [
            page(1),
            page(5, title="Flyttet hertil"),
            page(6),
            page(7, redirect=redirect),
            page(8, namespace=14, title="Kategori:Kemikere"),
            page(9, title="List of chemists"),
            page(10, "* [[Ada]], en kemiker\n* [[Bo]], en fysiker\nDe to."),
            page(11, "Ada kan være:\n{{flertydig}}"),
            page(12, day="2023-12-31"),
            page(13, "{}", model="json"),
            page(14, "{{kun en skabelon}}"),
        ],
    )
    documents, left_out = corpora.read(source(earlier, later))
    (only,) = documents.to_dict("records")
    assert only["document_id"] == "dawiki-6"
    assert only["text"] == "Ada var en dansk kemiker. Hun fik to priser."
    assert (str(only["date"].date()), only["source"]) == ("2024-03-05", "dawiki")
    assert only["title"] == "Side 6"
    assert dict(zip(left_out.item_id, left_out.reason, strict=True)) == {
        "dawiki-7": "redirect",
        "dawiki-8": "page of another namespace",
        "dawiki-9": "list",
        "dawiki-10": "list",
        "dawiki-11": "disambiguation page",
        "dawiki-12": "text is older than the earlier dump: imported or restored",
        "dawiki-13": "page is not wikitext",
        "dawiki-14": "no text",
        later.name: "page is in the earlier dump",
    }
    assert left_out.detail[left_out.item_id == later.name].tolist() == ["2 pages"]


@pytest.mark.parametrize(("opened", "ending"), [(gzip.open, ".gz"), (open, "")])
def test_other_compressions_say_the_same(tmp_path, earlier, opened, ending):
    pages = [page(1), page(6)]
    expected, _ = corpora.read(source(earlier, dump(tmp_path, "20250101", pages)))
    other = dump(tmp_path, "20250102", pages, opened, ending)
    found, _ = corpora.read(source(earlier, other))
    assert found.equals(expected)


def test_a_page_with_its_history_gives_its_last_revision(tmp_path, earlier):
    old = page(6, "Gammel tekst.", day="2024-02-01")
    new = page(6)
    both = old[: old.index("  </page>")] + new[new.index("    <revision>") :]
    documents, _ = corpora.read(source(earlier, dump(tmp_path, "20250101", [both])))
    assert str(documents.date[0].date()) == "2024-03-05"
    assert "Gammel" not in documents.text[0]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("which", ["earlier", "later"])
@pytest.mark.parametrize("ending", [".bz2", ""])
def test_a_dump_that_is_cut_off_is_one_line(tmp_path, share, which, ending):
    opened = bz2.open if ending else open
    pages = [page(number, PROSE * 9 + str(number)) for number in range(2, 40)]
    paths = {
        "earlier": dump(tmp_path, "20240101", [page(1), *pages[:19]], opened, ending),
        "later": dump(tmp_path, "20250101", pages, opened, ending),
    }
    whole = paths[which].read_bytes()
    paths[which].write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(InvalidDocuments) as caught:
        corpora.read(source(paths["earlier"], paths["later"]))
    said = str(caught.value)
    assert said.startswith(f"{paths[which]}: ")
    assert "cut off or damaged" in said
    assert "fetch the dump again" in said
    assert "\n" not in said


BEGUN = b"<mediawiki><siteinfo><dbname>dawiki</dbname></siteinfo><page><title>A</title>"
"""A dump that names no namespaces."""


@pytest.mark.parametrize("content", [b"", b"BZh9 no such thing", b"<html></html>", BEGUN])
def test_what_is_no_dump_is_one_line(tmp_path, earlier, content):
    for name in ("dawiki-20250101-pages.xml.bz2", "dawiki-20250101-pages.xml"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidDocuments, match=rf"{name}: ") as caught:
            corpora.read(source(earlier, tmp_path / name))
        assert "\n" not in str(caught.value)


def test_dumps_that_do_not_belong_together_are_refused(tmp_path, earlier):
    later = dump(tmp_path, "20250101", [page(6)])
    with pytest.raises(InvalidDocuments, match=r"is not later than .* swap them"):
        corpora.read(source(later, earlier))
    undated = later.rename(tmp_path / "dump.xml.bz2")
    with pytest.raises(InvalidDocuments, match="no date in the name"):
        corpora.read(source(earlier, undated))
    other = dump(tmp_path, "20250102", [page(6)], head=HEAD.replace("dawiki", "svwiki"))
    with pytest.raises(InvalidDocuments, match=r"a dump of svwiki, but .* is one of dawiki"):
        corpora.read(source(earlier, other))
    with pytest.raises(InvalidDocuments, match="cannot be read"):
        corpora.read(source(earlier, tmp_path / "dawiki-20250103-none.xml.bz2"))


@pytest.mark.slow
def test_ten_times_the_pages_take_no_more_memory(tmp_path):
    def peak(pages):
        later = dump(tmp_path, "20250101", map(page, range(10, 10 + pages)), open, "")
        earlier = dump(tmp_path, "20240101", map(page, range(10, 10 + pages)), open, "")
        tracemalloc.start()
        for _ in corpora.READERS["mediawiki"](source(earlier, later)[0]):
            pass
        high = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return high

    assert peak(2000) < 1.3 * peak(200) + 2000


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("[[Fil:a.jpg|thumb|En [[billed]]tekst]]Tekst", "Tekst"),
        ("Tekst[[Kategori:Kemikere]]", "Tekst"),
        ("a ''b<ref>c</ref>'' d", "a b d"),
        ("a<ref name='x'/> b", "a b"),
        ("{| class='wikitable'\n|-\n| celle\n|}\nTekst", "Tekst"),
        ("== Liv ==\n\n\nTekst", "Liv\nTekst"),
        ("5&nbsp;km &amp; mere<!-- skjult -->", "5 km & mere"),
        ("[https://a.dk Hjemmeside]", "Hjemmeside"),
        ("{{a|{{b}}}}", ""),
        ("'''uafsluttet [[link", "'''uafsluttet [[link"),
    ],
)
def test_markup_becomes_prose(markup, text):
    assert wikitext.prose(markup, MEDIA) == text
