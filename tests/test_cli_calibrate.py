"""`memfoil calibrate`: numbers, wording, and one clear line for every mistake."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from memfoil.cli import main
from memfoil.stats.conformal import confident_k

KEYS = {
    "n_controls", "k", "alpha", "alpha_n", "log_tau", "in_sample_fpr", "n_candidates", "n_claims",
    "generation_rate", "generation_interval", "calibrated_rate", "calibrated_interval",
    "alpha_star", "alpha_dagger",
}  # fmt: skip


PROGRAM = [
    sys.executable, "-c", "import sys; from memfoil.cli import main; sys.exit(main())", "calibrate",
]  # fmt: skip


@pytest.fixture
def published():
    """Cooper et al. 2026, top-40 at 50 tokens: 137 of 5,000 above tau = 8.9e-6, 89.6% zeros."""
    log_tau = math.log(8.9e-6)
    top = log_tau + np.array([4.0, 3.0, 2.0, 1.0, 0.0])
    controls = [*top, *np.linspace(log_tau - 1, -90, 515), *[-math.inf] * 4480]
    members = np.where(np.arange(5000) < 137, log_tau + 0.5, log_tau - 0.5)
    return pd.DataFrame(
        {
            "role": ["control"] * 5000 + ["candidate"] * 5000,
            "log_score": [*controls, *members],
        }
    )


@pytest.fixture
def saved(tmp_path):
    def save(frame, name="scores.parquet"):
        path = tmp_path / name
        if path.suffix == ".csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path)
        return str(path)

    return save


@pytest.fixture
def answer(capsys):
    """The JSON that a command prints."""

    def run(*arguments):
        assert main(["calibrate", *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)

    return run


@pytest.fixture
def complaint(capsys, monkeypatch, tmp_path):
    """The one line that a command ends with, in the folder of the file."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        assert main(["calibrate", *arguments]) == 2
        output = capsys.readouterr()
        assert output.out == ""
        assert output.err.startswith("memfoil: ")
        assert output.err.count("\n") == 1
        return output.err.removeprefix("memfoil: ").strip()

    return run


@pytest.mark.parametrize("name", ["scores.parquet", "scores.csv"])
def test_published_numbers(published, saved, answer, name):
    result = answer(saved(published, name), "--alpha", "0.001")
    assert set(result) == KEYS
    assert (result["n_controls"], result["k"], result["alpha"]) == (5000, 5, 0.001)
    assert result["alpha_n"] == 5 / 5001
    assert result["log_tau"] == math.log(8.9e-6)
    assert result["in_sample_fpr"] == 4 / 5000
    assert (result["n_candidates"], result["n_claims"]) == (5000, 137)
    percent = [100 * value for value in (result["generation_rate"], *result["generation_interval"])]
    assert percent == pytest.approx([2.74, 2.31, 3.23], abs=5e-3)
    assert 100 * result["calibrated_rate"] == pytest.approx(2.64, abs=5e-3)
    shift = np.subtract(result["generation_interval"], result["calibrated_interval"])
    assert shift == pytest.approx([5 / 5001] * 2)
    assert set(result["alpha_star"]) == {"mean", "q025", "q90", "q95", "q975", "exceedance"}
    assert result["alpha_star"]["exceedance"] == pytest.approx(0.441, abs=5e-4)
    assert result["alpha_dagger"] == pytest.approx(0.104)


def test_order_and_other_columns_do_not_matter(published, saved, answer):
    plain = answer(saved(published), "--alpha", "0.001")
    shuffled = published.sample(frac=1, random_state=0).assign(note="x")
    assert answer(saved(shuffled, "other.parquet"), "--alpha", "0.001") == plain


def test_confidence_takes_a_smaller_rank(published, saved, answer):
    result = answer(saved(published), "--alpha", "0.001", "--confidence", "0.9")
    assert set(result) == KEYS
    assert result["k"] == confident_k(5000, 0.001, 0.9) == 2
    assert result["alpha_n"] == 2 / 5001


@pytest.mark.parametrize("alpha", ["5/5001", "0.0009998000399920016", "9.998000399920016e-4"])
def test_a_rate_on_the_grid_is_taken_as_such(published, saved, answer, alpha):
    assert answer(saved(published), "--alpha", alpha)["k"] == 5


def test_any_score_is_judged_on_its_own_scale(published, saved, answer):
    scaled = published.assign(score=1000 + published["log_score"]).drop(columns="log_score")
    result = answer(saved(scaled), "--alpha", "0.001")
    assert set(result) == KEYS
    assert result["log_tau"] == pytest.approx(1000 + math.log(8.9e-6))
    assert result["n_claims"] == 137


def test_integer_scores_and_categories(saved, answer):
    frame = pd.DataFrame({"role": ["control"] * 3 + ["candidate"] * 2, "score": [1, 2, 3, 4, 0]})
    frame["role"] = frame["role"].astype("category")
    assert answer(saved(frame), "--alpha", "0.25")["n_claims"] == 1


def test_minus_infinity_is_a_string_in_json(published, saved, answer):
    result = answer(saved(published), "--alpha", "0.5")
    assert result["log_tau"] == "-inf"
    assert result["n_claims"] == 5000


def test_groups_are_judged_by_their_own_controls(published, saved, answer):
    other = published.assign(log_score=published["log_score"] * 2)
    both = pd.concat(
        [
            published.assign(procedure="top-40", suffix_tokens=50),
            other.assign(procedure="top-40", suffix_tokens=10),
        ]
    )
    results = answer(saved(both), "--alpha", "0.001")
    assert [r["suffix_tokens"] for r in results] == [10, 50]
    for result, frame in zip(results, [other, published], strict=True):
        alone = answer(saved(frame, "alone.parquet"), "--alpha", "0.001")
        assert result == {"procedure": "top-40", "suffix_tokens": result["suffix_tokens"]} | alone
    single = answer(saved(both.query("suffix_tokens == 50"), "one.csv"), "--alpha", "0.001")
    assert single == answer(saved(published, "p.csv"), "--alpha", "0.001")


def test_words_name_the_guarantee(published, saved, capsys):
    path = saved(published)
    assert main(["calibrate", path, "--alpha", "0.001"]) == 0
    text = capsys.readouterr().out
    assert "137 of 5000 candidates are claimed" in text
    assert "probability at most 0.09998%, on average over draws of the controls" in text
    assert main(["calibrate", path, "--alpha", "0.001", "--confidence", "0.9"]) == 0
    assert "with 90% confidence over draws of the controls, at most 0.1%" in capsys.readouterr().out


def test_words_say_where_ties_waste_certified_rate(saved, capsys):
    frame = pd.DataFrame(
        {
            "role": ["control"] * 5000 + ["candidate"] * 100,
            "log_score": [0.0] * 91 + [-math.inf] * 4909 + [0.0] * 20 + [-math.inf] * 80,
        }
    )
    assert main(["calibrate", saved(frame), "--alpha", "0.1"]) == 0
    assert "1.84% certified by --alpha 92/5001" in capsys.readouterr().out


# Mistakes.


@pytest.mark.parametrize("name", ["scores.parquet", "scores.csv"])
def test_nan(published, saved, complaint, name):
    published.loc[17, "log_score"] = math.nan
    saved(published, name)
    line = complaint(name, "--alpha", "0.001")
    assert line == f"{name}: column log_score, row 17: NaN is not a score"


@pytest.mark.parametrize("name", ["scores.parquet", "scores.csv"])
def test_a_positive_log_score(published, saved, complaint, name):
    published.loc[5003, "log_score"] = 0.5
    saved(published, name)
    assert "column log_score, row 5003: 0.5 is positive" in complaint(name, "--alpha", "0.001")


@pytest.mark.parametrize("role", ["control", "candidate"])
def test_a_missing_role(published, saved, complaint, role):
    saved(published[published["role"] != role])
    assert f"scores.parquet: no row has the role {role}" in complaint(
        "scores.parquet", "--alpha", "0.1"
    )


@pytest.mark.parametrize("role", ["member", "Control", None])
def test_an_unknown_role(published, saved, complaint, role):
    published.loc[3, "role"] = role
    saved(published)
    assert "column role, row 3: " in complaint("scores.parquet", "--alpha", "0.1")


@pytest.mark.parametrize(("column", "said"), [("role", "role"), ("log_score", "log_score")])
def test_a_missing_column(published, saved, complaint, column, said):
    saved(published.drop(columns=column))
    line = complaint("scores.parquet", "--alpha", "0.1")
    assert line.startswith(f"scores.parquet: column {said}")
    assert line.endswith("is missing")


def test_two_kinds_of_score(published, saved, complaint):
    saved(published.assign(score=1.0))
    assert "keep the one that is meant" in complaint("scores.parquet", "--alpha", "0.1")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (b"role,log_score\n", "no rows"),
        (b"role,log_score\ncontrol,-1\ncandidate,abc\n", "column log_score, row 1: 'abc'"),
        (b"role,log_score\ncontrol,\n", "column log_score, row 0: NaN"),
        (b"role,log_score\ncontrol,-1,7\n", "not a readable CSV file"),
        (b"role;log_score\ncontrol;-1,5\n", "separate columns by commas"),
        (b"role\tlog_score\ncontrol\t-1.5\n", "separate columns by commas"),
        (b"\nrole,log_score\n", "no rows"),
        (b"role,log_score,log_score\ncontrol,-1,-1\n", "column log_score occurs more than once"),
        (
            b"role,log_score,note\ncontrol,-1,x\ncontrol,-1,caf\xe9\n",
            "line 3: byte 0xe9 is not UTF-8",
        ),
        ("role,log_score\ncontrol,-1\n".encode("utf-16"), "line 1: byte 0xff is not UTF-8"),
        (b"role,log_score,suffix_tokens\ncontrol,-1,2.5\n", "column suffix_tokens, row 0: 2.5"),
        (b"role,log_score,suffix_tokens\ncontrol,-1,\n", "column suffix_tokens, row 0: nan"),
        (b"role,log_score,procedure\ncontrol,-1,\n", "column procedure, row 0: an empty value"),
        (
            b"role,log_score,sequence_id\ncontrol,-1,a\ncandidate,-1,a\n",
            "row 1: sequence_id a occurs more than once",
        ),
    ],
)
def test_a_csv_file_that_cannot_be_used(tmp_path, complaint, content, said):
    (tmp_path / "scores.csv").write_bytes(content)
    line = complaint("scores.csv", "--alpha", "0.1")
    assert line.startswith("scores.csv: ")
    assert said in line


def test_a_byte_order_mark_and_carriage_returns_are_no_mistake(tmp_path, answer):
    path = tmp_path / "scores.csv"
    path.write_bytes(b"\xef\xbb\xbfrole,log_score\r\ncontrol,-2\r\ncandidate,-inf\r\n")
    assert answer(str(path), "--alpha", "0.5")["n_controls"] == 1


def test_a_long_text_beside_the_scores_is_no_mistake(tmp_path, answer):
    path = tmp_path / "scores.csv"
    rows = "control,-2,a\ncandidate,-1," + "b" * 3_000_000
    path.write_text(f"role,log_score,text\n{rows}\n")
    assert answer(str(path), "--alpha", "0.5")["n_controls"] == 1


def test_a_long_value_is_shown_by_its_beginning(tmp_path, complaint):
    (tmp_path / "scores.csv").write_text("role,log_score\ncontrol,-" + "1-" * 9_999 + "\n")
    assert len(complaint("scores.csv", "--alpha", "0.1")) < 200


@pytest.mark.parametrize("length", [0, -1, 1.5, 1e300, np.inf, 1 << 63])
def test_lengths_that_are_no_number_of_tokens(published, saved, complaint, length):
    lengths = np.array([length] * len(published), np.uint64 if length == 1 << 63 else float)
    saved(published.assign(suffix_tokens=lengths))
    assert "column suffix_tokens, row 0" in complaint("scores.parquet", "--alpha", "0.1")


@pytest.mark.parametrize("content", [b"", b"hello", b"PAR1" + bytes(200)])
def test_a_damaged_parquet_file(tmp_path, complaint, content):
    (tmp_path / "scores.parquet").write_bytes(content)
    assert "not a readable Parquet file" in complaint("scores.parquet", "--alpha", "0.1")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_parquet_file(published, saved, tmp_path, complaint, share):
    saved(published)
    path = tmp_path / "scores.parquet"
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    assert "not a readable Parquet file" in complaint("scores.parquet", "--alpha", "0.1")


@pytest.mark.parametrize("values", ["-1.0", True, [[-1.0]] * 10_000])
def test_a_parquet_column_of_another_type(published, saved, complaint, values):
    saved(published.assign(log_score=values))
    line = complaint("scores.parquet", "--alpha", "0.1")
    assert line.startswith("scores.parquet: column log_score: it holds ")


def test_no_file(complaint, tmp_path):
    (tmp_path / "folder").mkdir()
    assert complaint("nothing.parquet", "--alpha", "0.1") == "nothing.parquet: no such file"
    assert complaint("folder", "--alpha", "0.1").startswith("folder: a folder")


@pytest.mark.parametrize("alpha", ["0", "1", "1.5", "-0.1", "nan", "inf", "abc", "1/0", "2/1", ""])
def test_a_rate_that_is_none(published, saved, complaint, alpha):
    saved(published)
    assert "alpha" in complaint("scores.parquet", "--alpha", alpha)


@pytest.mark.parametrize("confidence", ["0", "1", "90", "nan", "high"])
def test_a_confidence_that_is_none(published, saved, complaint, confidence):
    saved(published)
    assert "confidence" in complaint("scores.parquet", "--alpha", "0.1", "--confidence", confidence)


def test_too_few_controls_name_the_smallest_level(published, saved, complaint, answer):
    path = saved(published)
    line = complaint("scores.parquet", "--alpha", "0.0001")
    assert "5000 controls are too few for alpha 0.0001: K = 0" in line
    assert "the smallest certifiable level is 1/5001 (0.0002)" in line
    assert "at least 9999 controls" in line
    assert answer(path, "--alpha", "1/5001")["k"] == 1


def test_too_few_controls_for_the_confidence(published, saved, complaint, answer):
    path = saved(published)
    line = complaint("scores.parquet", "--alpha", "0.0004", "--confidence", "0.9")
    assert "with confidence 0.9: K = 0" in line
    level = line.split()[-1]
    assert answer(path, "--alpha", level, "--confidence", "0.9")["k"] == 1


def test_the_group_that_has_too_few_controls_is_named(published, saved, complaint):
    few = published.iloc[4900:5100].assign(procedure="greedy")
    saved(pd.concat([published.assign(procedure="base"), few]))
    line = complaint("scores.parquet", "--alpha", "0.001")
    assert line.startswith("scores.parquet: procedure greedy: 100 controls are too few")


@pytest.mark.parametrize("arguments", [[], ["judge"], ["calibrate"], ["calibrate", "x.csv"]])
def test_a_command_that_is_incomplete(arguments, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("memfoil: ")
    assert error.count("\n") == 1


@pytest.mark.slow
def test_a_reader_that_stops_early_is_no_mistake(published, saved):
    command = [*PROGRAM, saved(published), "--alpha", "0.001"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.slow
def test_a_full_disk_is_one_line(published, saved):
    command = [*PROGRAM, saved(published), "--alpha", "0.001"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 2
    assert ended.stderr == "memfoil: [Errno 28] No space left on device\n"


@pytest.mark.slow
def test_no_thread_outlives_the_answer(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("role,log_score\ncandidate,-1\n" + "control,-2\n" * 5)
    command = [*PROGRAM, str(path), "--alpha", "0.01"]
    for _ in range(3):
        several = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(8)]
        for process in several:
            error = process.communicate()[1]
            assert process.returncode == 2, error
            assert error.count(b"\n") == 1
