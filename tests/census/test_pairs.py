"""The table of pairs, and its mistakes."""

import datetime

import pytest

from memfoil.census.pairs import COLUMNS, is_path, read_pairs, refuse_same_texts, warnings
from memfoil.errors import InvalidConfiguration, InvalidDocuments

LINE = ["tale", "a.txt", "b.txt", "C. Dickens", "1859-04-30", "2024-05-01", "small"]


def table(tmp_path, *lines, columns=COLUMNS):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join("\t".join(cells) + "\n" for cells in (columns, *lines)))
    return path


def changed(**cells):
    return [cells.get(name, old) for name, old in zip(COLUMNS, LINE, strict=True)]


def test_lines_of_one_pair_name_its_models(tmp_path):
    path = table(tmp_path, LINE, changed(model="large"), changed(pair="other", model="large"))
    pairs = read_pairs(path, ["small", "large"])
    assert [(pair.pair, pair.models) for pair in pairs] == [
        ("tale", ("small", "large")),
        ("other", ("large",)),
    ]
    assert pairs[0].document_date == datetime.date(1859, 4, 30)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], r"pairs.tsv: no pair"),
        ([changed(author="")], "line 2: column author is empty"),
        ([changed(pair="a/b")], "line 2: column pair: 'a/b' names files"),
        (
            [changed(model="huge")],
            "line 2: column model: huge is not among the run's models, small",
        ),
        ([changed(control="a.txt")], "line 2: column control: a.txt is the document itself"),
        ([changed(control_date="2024")], "line 2: column control_date: '2024' is not a day"),
        ([LINE, LINE], "line 3: pair tale and model small occur more than once"),
        ([LINE, changed(control="c.txt")], "line 3: column control: pair tale has b.txt"),
        ([LINE, changed(document_date="1860-01-01")], "column document_date: pair tale has 1859"),
    ],
)
def test_a_mistake_is_named_with_line_and_column(tmp_path, lines, message):
    with pytest.raises(InvalidConfiguration, match=message):
        read_pairs(table(tmp_path, *lines), ["small"])


def test_a_table_without_a_column_is_refused(tmp_path):
    path = table(tmp_path, LINE[:-1], columns=COLUMNS[:-1])
    with pytest.raises(InvalidConfiguration, match="line 1: column model is missing"):
        read_pairs(path, ["small"])
    with pytest.raises(InvalidConfiguration, match=r"none\.tsv: cannot be read: No such file"):
        read_pairs(tmp_path / "none.tsv", ["small"])
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidConfiguration, match="byte 0 is not UTF-8"):
        read_pairs(path, ["small"])


def test_a_control_as_old_as_the_model_is_warned_about_with_both_dates(tmp_path):
    pairs = read_pairs(table(tmp_path, LINE), ["small"])
    day = datetime.date(2024, 5, 1)
    (line,) = warnings(pairs, {"small": day}, {})
    assert line.startswith("pair tale: the control b.txt is dated 2024-05-01, not after 2024-05-01")
    assert warnings(pairs, {"small": day - datetime.timedelta(1)}, {}) == []
    assert warnings(pairs, {"small": None}, {}) == []
    assert warnings(pairs, {"small": day}, {"small": ["b.txt"]}) == []


def test_the_same_text_under_two_names_is_refused():
    pairs = [("tale", "a.txt", "b.txt")]
    refuse_same_texts(pairs, {"a.txt": "one text", "b.txt": "another text"})
    with pytest.raises(InvalidDocuments, match=r"pair tale: a\.txt and b\.txt are the same text"):
        refuse_same_texts(pairs, {"a.txt": "one text", "b.txt": "one\n text "})


def test_paths_and_ids_are_told_apart():
    assert [is_path(name) for name in ("books/a", "a.txt", "1906-Roosevelt-1")] == [1, 1, 0]
