"""Tables refuse what does not fit, survive a failed write, and know their origin."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memfoil import tables
from memfoil.errors import InvalidConfiguration, InvalidTable
from memfoil.tables import SCORES, SEQUENCES, TOKEN_SCORES, Provenance

ENDED = 1 << 30
"""Above every process id."""
MADE = Provenance("test", inputs={"a": "0"}, seed=7)


def scores(**changes):
    frame = pd.DataFrame(
        {
            "sequence_id": ["a", "b"],
            "procedure": "base",
            "suffix_tokens": 50,
            "log_score": [-1.0, -np.inf],
        }
    )
    return frame.assign(**changes)


def test_what_is_written_is_read_again(tmp_path):
    path = tmp_path / "deep" / "scores.parquet"
    SCORES.write(scores(), path, MADE)
    pd.testing.assert_frame_equal(SCORES.read(path), scores(), check_dtype=False)


def test_token_ids_and_dates_survive(tmp_path):
    frame = pd.DataFrame(
        {
            "sequence_id": ["a"],
            "document_id": ["d"],
            "pool": ["p"],
            "role": ["control"],
            "date": pd.to_datetime(["1790-01-08"]),
            "source": ["s"],
            "token_ids": [np.array([0, 65535, 3], dtype=np.int32)],
            "prefix_tokens": [1],
            "text": ["é"],
        }
    )
    SEQUENCES.write(frame, tmp_path / "s.parquet", MADE)
    back = SEQUENCES.read(tmp_path / "s.parquet")
    assert back.token_ids[0].tolist() == [0, 65535, 3]
    assert back.date[0] == pd.Timestamp("1790-01-08")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"log_score": [-1.0, np.nan]}, "column log_score, row 1: NaN"),
        ({"log_score": [0.5, -1.0]}, "column log_score, row 0: 0.5"),
        ({"suffix_tokens": ["ten", "50"]}, "column suffix_tokens"),
        ({"sequence_id": ["a", "a"]}, "sequence_id a, procedure base, suffix_tokens 50 occurs"),
        ({"sequence_id": ["a", None]}, "column sequence_id, row 1: an empty value"),
        ({"score": 1.0}, "unknown column score"),
    ],
)
def test_refusals_name_column_row_and_value(tmp_path, changes, said):
    with pytest.raises(InvalidTable, match=said) as caught:
        SCORES.write(scores(**changes), tmp_path / "scores.parquet", MADE)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(InvalidTable, match="column log_score is missing"):
        SCORES.write(scores().drop(columns="log_score"), tmp_path / "s.parquet", MADE)


def test_numbered_columns_of_a_family_are_kept_and_checked(tmp_path):
    frame = pd.DataFrame(
        {"sequence_id": ["a"], "position": [1], "log_probability": [-1.0], "rank": [1]}
    )
    TOKEN_SCORES.write(frame.assign(log_mass_top_40=-0.1), tmp_path / "t.parquet", MADE)
    assert TOKEN_SCORES.read(tmp_path / "t.parquet").log_mass_top_40.tolist() == [-0.1]
    with pytest.raises(InvalidTable, match="log_mass_top_40, row 0"):
        TOKEN_SCORES.write(frame.assign(log_mass_top_40=0.1), tmp_path / "t.parquet", MADE)


@pytest.mark.parametrize(
    "name",
    [
        "log_mass_top_40",
        "log_mass_top_40_top_p_0.9",
        "log_mass_top_p_0.95",
        "log_probability_temperature_0.7_top_40",
        "log_probability_top_p_0.95",
    ],
)
def test_what_a_backend_cannot_know_is_an_empty_cell(tmp_path, name):
    frame = pd.DataFrame(
        {"sequence_id": ["a", "b"], "position": 1, "log_probability": -1.0, "rank": 1}
    )
    TOKEN_SCORES.write(frame.assign(**{name: [-0.5, np.nan]}), tmp_path / "t.parquet", MADE)
    assert TOKEN_SCORES.read(tmp_path / "t.parquet")[name].isna().tolist() == [False, True]


@pytest.mark.parametrize("damage", ["truncated", "not parquet", "empty"])
def test_a_damaged_file_is_one_line(tmp_path, damage):
    path = tmp_path / "scores.parquet"
    SCORES.write(scores(), path, MADE)
    content = path.read_bytes()
    path.write_bytes({"truncated": content[:-20], "not parquet": b"x" * 99, "empty": b""}[damage])
    with pytest.raises(InvalidTable, match=r"scores\.parquet: not a readable") as caught:
        SCORES.read(path)
    assert "\n" not in str(caught.value)


def test_the_same_table_is_the_same_file(tmp_path):
    SCORES.write(scores(), tmp_path / "a.parquet", MADE)
    SCORES.write(scores(), tmp_path / "b.parquet", MADE)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert tables.digest(tmp_path / "a.parquet") == tables.digest(tmp_path / "b.parquet")


def test_provenance_names_stage_inputs_seed_and_versions(tmp_path):
    SCORES.write(scores(), tmp_path / "a.parquet", MADE)
    found = tables.provenance_of(tmp_path / "a.parquet")
    assert (found["stage"], found["inputs"], found["seed"]) == ("test", {"a": "0"}, 7)
    assert found["versions"]["pyarrow"] == pa.__version__
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other.parquet")
    with pytest.raises(InvalidTable, match="holds no provenance"):
        tables.provenance_of(tmp_path / "other.parquet")


def full_disk(path, limit):
    """Write a large table in a child whose files may not grow beyond `limit` bytes."""
    code = f"""
import resource, signal
import numpy as np, pandas as pd
from memfoil.tables import SCORES, Provenance
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
frame = pd.DataFrame({{"sequence_id": np.arange(100_000).astype(str), "procedure": "base",
    "suffix_tokens": 50, "log_score": -np.random.default_rng(0).random(100_000)}})
SCORES.write(frame, {str(path)!r}, Provenance("test"))
"""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_write_that_runs_out_of_space_leaves_the_old_table(tmp_path):
    path = tmp_path / "scores.parquet"
    path.write_text("old")
    done = full_disk(path, 50_000)
    assert "OSError" in done.stderr
    assert done.stderr.rstrip().endswith(f": {str(path)!r}")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["scores.parquet"]
    assert full_disk(path, 10_000_000).returncode == 0
    assert len(SCORES.read(path)) == 100_000


def test_a_kill_in_the_middle_of_a_write_leaves_the_old_table(tmp_path):
    path = tmp_path / "scores.parquet"
    path.write_text("old")
    code = (
        "import sys, time\nfrom memfoil.tables import atomic\n"
        "with atomic(sys.argv[1]) as t:\n    t.write_text('half')\n    time.sleep(60)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(path)])
    while not list(tmp_path.glob(".*partial")) and child.poll() is None:
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert path.read_text() == "old"


def test_a_folder_digest_sees_names_and_content(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
    assert tables.digest(tmp_path / "one") == tables.digest(tmp_path / "two")
    (tmp_path / "two" / "file").rename(tmp_path / "two" / "other")
    assert tables.digest(tmp_path / "one") != tables.digest(tmp_path / "two")


def test_the_page_of_tables_is_up_to_date(pytestconfig):
    page = pytestconfig.rootpath / "docs" / "tables.md"
    assert page.read_text() == tables.markdown(), "python -m memfoil.tables > docs/tables.md"


def test_what_a_killed_write_left_behind_is_removed_by_the_next(tmp_path):
    path = tmp_path / "a[1].parquet"
    left = tmp_path / f".{path.name}.{ENDED}.partial"
    other = tmp_path / f".b.parquet.{ENDED}.partial"
    for file in (left, other):
        file.write_text("half")
    with tables.atomic(path) as temporary:
        temporary.write_text("whole")
    assert sorted(tmp_path.iterdir()) == [other, path]


@pytest.mark.parametrize("parts", [1, 3])
def test_no_changed_bit_changes_a_value_unnoticed(tmp_path, parts):
    frame = pd.DataFrame(
        {
            "sequence_id": [f"s{i}" for i in range(60)],
            "procedure": "base",
            "suffix_tokens": 50,
            "log_score": -np.arange(60.0),
        }
    )
    path, changed = tmp_path / "scores.parquet", tmp_path / "changed.parquet"
    SCORES.write_parts(
        [frame[first : first + 60 // parts] for first in range(0, 60, 60 // parts)],
        path,
        Provenance("scores"),
    )
    whole = path.read_bytes()
    named = 0
    for byte in range(0, len(whole), 17):
        changed.write_bytes(whole[:byte] + bytes([whole[byte] ^ 1 << byte % 8]) + whole[byte + 1 :])
        try:
            assert SCORES.read(changed).equals(frame)
        except InvalidTable:
            named += 1
    assert named > 20


def test_what_another_process_is_writing_is_left_to_it(tmp_path):
    path = tmp_path / "a.parquet"
    of_another = tmp_path / f".{path.name}.{os.getppid()}.partial"
    of_another.write_text("half")
    with tables.atomic(path) as temporary:
        temporary.write_text("whole")
    assert of_another.read_text() == "half"


@pytest.mark.parametrize("name", ["", ".", "..", "folder", "file/a.parquet", "file/deep/a.parquet"])
def test_where_no_file_can_be_is_refused_before_it_is_written(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidConfiguration, match="folder"), tables.atomic(name):
        pass
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "mine"


def refused(path):
    with pytest.raises(InvalidTable) as caught:
        SCORES.read(path)
    return str(caught.value)


def test_a_folder_of_tables_is_no_table(tmp_path):
    SCORES.write(scores(), tmp_path / "a.parquet", MADE)
    said = f"{tmp_path}: a folder; name a file in it"
    assert refused(tmp_path) == said
    with pytest.raises(InvalidTable, match=f"^{said}$"):
        tables.provenance_of(tmp_path)


def test_no_file(tmp_path):
    assert refused(tmp_path / "none.parquet") == f"{tmp_path}/none.parquet: there is no such file"


def test_text_that_is_not_utf8_is_named(tmp_path):
    names = pa.array([b"a", b"\xff"]).view(pa.string())
    pq.write_table(
        pa.Table.from_pandas(scores()).set_column(0, "sequence_id", names), tmp_path / "a.parquet"
    )
    line = refused(tmp_path / "a.parquet")
    assert "column sequence_id" in line
    assert "UTF8" in line


@pytest.mark.parametrize(
    "kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_text_however_it_is_stored_is_text(tmp_path, kind):
    table = pa.Table.from_pandas(scores())
    names = table["sequence_id"].cast(kind)
    pq.write_table(table.set_column(0, "sequence_id", names), tmp_path / "a.parquet")
    assert SCORES.read(tmp_path / "a.parquet").sequence_id.tolist() == ["a", "b"]
