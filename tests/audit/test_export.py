"""An export proves its conclusions without a model, and shows whoever changed one."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from memfoil import calibration, scoring, tables
from memfoil.audit.export import export
from memfoil.audit.verify import _unlike, verify
from memfoil.cli import main
from memfoil.tables import Provenance, digest, provenance_of

RUN = "results/r"
ASKED = {
    "alphas": [0.2],
    "suffix_tokens": [2],
    "operating_points": 5,
    "confidence": 0.9,
    "query_budget": 100,
    "success": 0.95,
    "seed": 1,
}
DERIVED = {"procedures": ["base"], "suffix_tokens": 2}
SECRET = "the words nobody may see"


def made(stage, *names, **parameters):
    inputs = {f"{RUN}/{name}.parquet": digest(f"{RUN}/{name}.parquet") for name in names}
    return Provenance(stage, inputs, parameters, seed=1)


@pytest.fixture
def archive(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"s{i:02}" for i in range(30)]
    sequences = pd.DataFrame(
        {
            "sequence_id": names,
            "document_id": names,
            "pool": ["read"] * 10 + ["unread"] * 20,
            "role": ["candidate"] * 10 + ["control"] * 20,
            "date": pd.Timestamp("1990-01-01"),
            "source": "s",
            "token_ids": [np.arange(4, dtype=np.int32)] * 30,
            "prefix_tokens": 2,
            "text": SECRET,
        }
    )
    token_scores = pd.DataFrame(
        {
            "sequence_id": np.repeat(names, 2),
            "position": [1, 2] * 30,
            "log_probability": np.repeat(-np.arange(1.0, 31.0), 2),
            "rank": 1,
        }
    )
    contamination = pd.DataFrame(
        {
            "sequence_id": names[10:],
            "verdict": "none found",
            "control_text": SECRET,
            "ngram_share": 0.0,
            "skipped_pieces": 0,
            "member": False,
        }
    )
    match = pd.DataFrame(
        {"control_pool": ["unread"], "quantity": ["blind AUC"], "candidates": [0.5]}
    ).assign(controls=0.5)
    write(tables.SEQUENCES, sequences, "sequences/m", made("sequences"))
    write(tables.TOKEN_SCORES, token_scores, "token_scores/m", made("score", "sequences/m"))
    write(tables.CONTAMINATION, contamination, "contamination/m", made("decontaminate"))
    write(tables.MATCH, match, "match/m", made("match"))
    scores = scoring.derive(token_scores, procedures=["base"], suffix_lengths=range(1, 3))
    write(tables.SCORES, scores, "scores/m", made("scores", "token_scores/m", **DERIVED))
    read = (scores, sequences, contamination)
    origin = made("calibrate", "scores/m", "sequences/m", "contamination/m", "match/m", **ASKED)
    thresholds = calibration.thresholds(*read, alphas=[0.2], confidence=0.9)
    write(tables.THRESHOLDS, thresholds, "calibration/m/thresholds", origin)
    rates = calibration.rates(scores, sequences, thresholds, match)
    write(tables.RATES, rates, "calibration/m/rates", origin)
    points = calibration.operating_points(*read, match, suffix_tokens=[2], points=5)
    write(tables.RATES, points, "calibration/m/operating_points", origin)
    claims = calibration.claims(
        *read, thresholds, match, suffix_tokens=[2], queries=100, success=0.95, seed=1
    )
    write(tables.CLAIMS, claims, "calibration/m/claims", origin)
    export(RUN, "run.zip")
    return tmp_path / "run.zip"


def write(table, frame, name, provenance):
    table.write(frame, f"{RUN}/{name}.parquet", provenance)


def forge(archive, name, table, change):
    """Change a table as someone would who knows how seals and manifest are made."""
    folder = archive.with_suffix("")
    with zipfile.ZipFile(archive) as file:
        file.extractall(folder)
    path = folder / RUN / f"{name}.parquet"
    origin = provenance_of(path)
    fields = ("stage", "inputs", "parameters", "code", "seed")
    frame = table.read(path)
    change(frame)
    table.write(frame, path, Provenance(**{field: origin[field] for field in fields}))
    listing = json.loads((folder / "manifest.json").read_text())
    listing[f"{RUN}/{name}.parquet"]["sha256"] = digest(path)
    (folder / "manifest.json").write_text(json.dumps(listing))
    with zipfile.ZipFile(archive, "w") as file:
        for inside in sorted(folder.rglob("*")):
            if inside.is_file():
                file.write(inside, inside.relative_to(folder))


def test_an_honest_export_is_verified(archive, capsys):
    assert main(["verify", str(archive)]) == 0
    assert capsys.readouterr().out.count("computed again") == 5


def test_an_export_is_the_same_twice_and_holds_no_text_and_no_place(archive):
    first = archive.read_bytes()
    export(RUN, archive)
    assert archive.read_bytes() == first
    with zipfile.ZipFile(archive) as file:
        for name in file.namelist():
            path = Path(file.extract(name, archive.with_suffix("")))
            shown = path.read_bytes()
            if path.suffix == ".parquet":
                shown += pd.read_parquet(path).to_csv().encode()
            assert SECRET.encode() not in shown
            assert str(Path.cwd()).encode() not in shown


@pytest.mark.parametrize(
    ("name", "table", "column", "value"),
    [
        ("token_scores/m", tables.TOKEN_SCORES, "log_probability", -0.5),
        ("scores/m", tables.SCORES, "log_score", -0.5),
        ("sequences/m", tables.SEQUENCES, "role", "control"),
        ("calibration/m/thresholds", tables.THRESHOLDS, "log_tau", -1.0),
        ("calibration/m/claims", tables.CLAIMS, "log10_queries", 3.0),
        ("calibration/m/rates", tables.RATES, "n_claims", 7),
        ("calibration/m/claims", tables.CLAIMS, "p_value", 0.001),
    ],
)
def test_a_forged_value_is_found_even_when_seal_and_manifest_are_made_to_fit(
    archive, name, table, column, value
):
    forge(archive, name, table, lambda frame: frame.__setitem__(column, value))
    assert verify(archive).problems


def test_a_forged_claim_is_named(archive):
    def claim(frame):
        frame.loc[0, "claimed"] = ~frame.loc[0, "claimed"]

    forge(archive, "calibration/m/claims", tables.CLAIMS, claim)
    assert "claims.parquet: claimed of" in verify(archive).problems[0]


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped", "a/../../escaped"])
def test_names_that_lead_out_of_the_archive_are_refused(archive, capsys, name):
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr(name, "x")
    assert main(["verify", str(archive)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (archive.parent / "escaped").exists()


@pytest.mark.parametrize("content", [b"", b"not a zip"])
def test_what_is_no_export_is_a_mistake(tmp_path, capsys, content):
    (tmp_path / "x.zip").write_bytes(content)
    assert main(["verify", str(tmp_path / "x.zip")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_run_without_claims_is_a_mistake(tmp_path, capsys):
    assert main(["export", str(tmp_path), "--to", str(tmp_path / "x.zip")]) == 2
    assert not (tmp_path / "x.zip").exists()


@pytest.mark.parametrize("place", ["/data/books/book.txt", "~/books/book.txt"])
def test_a_table_that_names_a_path_from_the_root_is_refused(archive, capsys, place):
    frame = tables.MATCH.read(f"{RUN}/match/m.parquet").assign(quantity=place)
    write(tables.MATCH, frame, "match/other", made("match"))
    archive.unlink()
    assert main(["export", RUN, "--to", str(archive)]) == 2
    assert "match/other.parquet: names a place of this machine" in capsys.readouterr().err
    assert not archive.exists()


def test_the_configuration_says_what_each_stage_was_asked(archive):
    Path("config").mkdir()
    Path("config/models.yaml").write_text("m: {source: /secret/m, dtype: float64}\nother: {}\n")
    export(RUN, archive)
    with zipfile.ZipFile(archive) as file:
        said = yaml.safe_load(file.read("configuration.yaml"))
    asked = {stage["stage"]: stage for stage in said["stages"]}
    assert asked["calibrate"]["parameters"] == ASKED
    assert f"{RUN}/calibration/m/claims.parquet" in asked["calibrate"]["tables"]
    assert said["models"] == {"m": {"source": "m", "dtype": "float64"}}
    assert said["versions"]["pandas"] == [pd.__version__]


def test_a_result_that_is_taken_out_is_missed(archive):
    with zipfile.ZipFile(archive) as file:
        inside = {name: file.read(name) for name in file.namelist()}
    listing = json.loads(inside["manifest.json"])
    gone = f"{RUN}/calibration/m/claims.parquet"
    inside["manifest.json"] = json.dumps({n: v for n, v in listing.items() if n != gone}).encode()
    del inside[gone]
    with zipfile.ZipFile(archive, "w") as file:
        for name, content in inside.items():
            file.writestr(name, content)
    assert any("claims.parquet, made with it, is missing" in p for p in verify(archive).problems)


@pytest.mark.parametrize(
    ("stated", "made", "unlike"),
    [
        (-1.0, -np.inf, True),
        (-50.0, np.inf, True),
        (np.inf, -np.inf, True),
        (np.nan, 0.0, True),
        (0.0, 1e-6, True),
        (np.inf, np.inf, False),
        (-np.inf, -np.inf, False),
        (np.nan, np.nan, False),
        (-700.0, -700.0 * (1 + 1e-12), False),
    ],
)
def test_only_rounding_passes_for_the_same_number(stated, made, unlike):
    assert _unlike(pd.Series([stated]), pd.Series([made])).tolist() == [unlike]
