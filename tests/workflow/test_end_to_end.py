"""The whole workflow on something small: it ends, reruns what it must, and refuses what it must."""

import json
import shutil

import pandas as pd
import pytest
import yaml

from memfoil import tables

pytestmark = pytest.mark.workflow

BEFORE_CALIBRATION = {
    "documents", "passages", "split", "corpus", "train", "index", "draw", "sequences",
    "decontaminate", "score", "scores", "match", "validity",
}  # fmt: skip


def results(checkout):
    return checkout.folder / "results" / "small"


def configured(checkout, **changes):
    """The small configuration with some keys changed, as a file of its own."""
    config = yaml.safe_load(checkout.configfile.read_text()) | changes
    path = checkout.folder / "changed.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return path


def test_every_table_fits_its_schema_and_knows_its_origin(finished):
    found = {
        "documents": tables.DOCUMENTS,
        "passages": tables.PASSAGES,
        "draws": tables.DRAWS,
        "testbed/splits": tables.SPLITS,
        "testbed/corpus": tables.CORPUS,
        "testbed/training": tables.TRAINING,
        "sequences/testbed": tables.SEQUENCES,
        "contamination/testbed": tables.CONTAMINATION,
        "match/testbed": tables.MATCH,
        "token_scores/testbed": tables.TOKEN_SCORES,
        "scores/testbed": tables.SCORES,
        "calibration/testbed/thresholds": tables.THRESHOLDS,
        "calibration/testbed/rates": tables.RATES,
        "calibration/testbed/operating_points": tables.RATES,
        "calibration/testbed/claims": tables.CLAIMS,
        "calibration/testbed/validity": tables.VALIDITY,
    }
    for name, table in found.items():
        path = results(finished) / f"{name}.parquet"
        assert len(table.read(path)) > 0, name
        made = tables.provenance_of(path)
        for source, digest in made["inputs"].items():
            assert tables.digest(finished.folder / source) == digest, (name, source)


def test_members_and_controls_are_what_the_splits_say(finished):
    splits = tables.SPLITS.read(results(finished) / "testbed/splits.parquet")
    sequences = tables.SEQUENCES.read(results(finished) / "sequences/testbed.parquet")
    joined = sequences.merge(splits, left_on="sequence_id", right_on="passage_id")
    assert (joined[joined.role == "candidate"].repetitions > 0).all()
    assert (joined[joined.pool == "held-out"].repetitions == 0).all()
    assert (joined[joined.pool == "post-cutoff"].date >= "2023-01-01").all()


def test_decontamination_finds_what_leaked_and_nothing_else(finished):
    splits = tables.SPLITS.read(results(finished) / "testbed/splits.parquet")
    verdicts = tables.CONTAMINATION.read(results(finished) / "contamination/testbed.parquet")
    joined = verdicts.merge(splits, left_on="sequence_id", right_on="passage_id")
    leaked = joined.split.str.startswith("leaked")
    assert leaked.sum() == 4
    assert (joined.member == leaked).all()
    assert (joined.verdict[joined.split == "leaked"] == "exact").all()


def test_a_second_run_does_nothing(finished):
    assert finished.planned() == set()
    done = finished.snakemake()
    assert "Nothing to be done" in done.stdout + done.stderr


def test_another_alpha_reruns_calibration_and_after(finished):
    config = yaml.safe_load(finished.configfile.read_text())
    config["calibration"]["alphas"] = [0.05]
    planned = finished.planned(configfile=configured(finished, calibration=config["calibration"]))
    assert "calibrate" in planned
    assert planned.isdisjoint(BEFORE_CALIBRATION), planned


@pytest.mark.parametrize(
    ("module", "reruns", "keeps"),
    [
        ("stats/conformal.py", {"calibrate", "validity"}, {"train", "score", "index", "draw"}),
        ("scoring/__init__.py", {"score", "scores", "calibrate"}, {"train", "index", "draw"}),
        ("sampling/draws.py", {"draw", "sequences"}, {"documents", "passages"}),
    ],
)
def test_editing_a_module_reruns_the_stages_that_use_it(finished, module, reruns, keeps):
    path = finished.folder / "src" / "memfoil" / module
    before = path.read_text()
    path.write_text(before + "\n# edited\n")
    try:
        planned = finished.planned()
    finally:
        path.write_text(before)
    assert reruns <= planned
    assert planned.isdisjoint(keeps)
    assert finished.planned() == set()


def test_the_report_is_one_page_that_needs_no_network(finished):
    done = finished.snakemake("--report", "report.html")
    assert done.returncode == 0, done.stderr
    page = (finished.folder / "report.html").read_text()
    assert "<script src=" not in page
    for figure in ("tail_distribution", "repetitions", "validity"):
        assert figure in page


def test_more_candidates_keep_the_earlier_ones(finished):
    """A larger pool only adds: the draws of a smaller one are its beginning."""
    pools = yaml.safe_load(finished.configfile.read_text())["pools"]
    pools[3]["passages"] = 100
    config = configured(finished, pools=pools, run="fewer")
    target = "results/fewer/draws.parquet"
    done = finished.snakemake(target, configfile=config)
    assert done.returncode == 0, done.stderr
    fewer = tables.DRAWS.read(finished.folder / target)
    more = tables.DRAWS.read(results(finished) / "draws.parquet")
    kept = more.merge(fewer, on=list(more.columns))
    assert len(kept) == len(fewer) < len(more)


def test_ones_own_documents_model_and_index(finished):
    """What a user does: text in JSON Lines, a model folder, an index folder, no testbed."""
    folder = finished.folder / "own"
    shutil.copytree(results(finished) / "testbed/model", folder / "model")
    shutil.copytree(results(finished) / "index/testbed", folder / "index")
    documents = tables.DOCUMENTS.read(results(finished) / "documents.parquet")
    recent = documents[documents.date >= "1975-01-01"]
    recent = recent.assign(date=recent.date.dt.strftime("%Y-%m-%d"))
    recent.to_json(folder / "documents.jsonl", orient="records", lines=True)
    models = finished.folder / "config/models.yaml"
    kept = models.read_text()
    models.write_text(kept + "mine:\n  source: own/model\n")
    config = configured(
        finished,
        run="own",
        testbed=None,
        census=None,
        prompts=None,
        propensity=None,
        documents=[{"reader": "jsonl", "path": "own/documents.jsonl"}],
        models=["mine"],
        decontamination={"index": "own/index"},
        pools=[
            {"name": "before", "role": "candidate", "passages": 100, "to": "1989-12-31"},
            {"name": "after", "role": "control", "passages": 100, "from": "1990-01-01"},
        ],
    )
    try:
        done = finished.snakemake(configfile=config)
    finally:
        models.write_text(kept)
    assert done.returncode == 0, done.stdout + done.stderr
    rates = tables.RATES.read(finished.folder / "results/own/calibration/mine/rates.parquet")
    assert set(rates.control_pool) == {"after"}
    assert set(rates.stratum) == {"all", "before"}


def test_a_review_overrules_the_search_and_keeps_both(finished):
    sheet = pd.read_csv(results(finished) / "contamination/testbed.review.csv")
    row = sheet.iloc[0]
    verdict = "non-member" if row["verdict"] in ("exact", "near") else "member"
    review = finished.folder / "review.csv"
    sheet.head(1).assign(review=verdict, reviewer="A. Person").to_csv(review, index=False)
    config = yaml.safe_load((finished.folder / "config/config.yaml").read_text())
    changed = config["decontamination"] | {"review": "review.csv"}
    target = "results/small/contamination/testbed.parquet"
    kept = (finished.folder / target).read_bytes()
    done = finished.snakemake(target, configfile=configured(finished, decontamination=changed))
    assert done.returncode == 0, done.stderr
    verdicts = tables.CONTAMINATION.read(finished.folder / target).set_index("sequence_id")
    found = verdicts.loc[row["sequence_id"]]
    assert (found.verdict, found.review, found.reviewer) == (row["verdict"], verdict, "A. Person")
    assert found.member == (verdict == "member")
    assert finished.snakemake(target).returncode == 0
    assert (finished.folder / target).read_bytes() == kept


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seeed": 1}, "unknown key seeed; did you mean seed?"),
        ({"models": ["none"]}, "models: none is not in config/models.yaml"),
        ({"documents": [{"reader": "jsonl", "path": "x.jsonl"}]}, "there is no file x.jsonl"),
    ],
)
def test_a_configuration_that_cannot_run_is_one_line_and_status_2(fresh, changes, said):
    done = fresh.snakemake("-n", configfile=configured(fresh, **changes))
    lines = [line for line in done.stderr.splitlines() if line.startswith("memfoil: ")]
    assert done.returncode == 2
    assert len(lines) == 1
    assert said in lines[0]
    assert "Traceback" not in done.stderr
    assert not (fresh.folder / "results").exists()


DOCUMENT = {"document_id": "a", "text": "word " * 300, "date": "1990-01-01", "source": "s"}


def test_documents_that_cannot_be_used_are_one_line(fresh):
    """All there is to refuse in them: tests/corpora."""
    latin = json.dumps(DOCUMENT | {"text": "caf\xe9"}, ensure_ascii=False).encode("latin-1")
    (fresh.folder / "own.jsonl").write_bytes(latin)
    config = configured(fresh, documents=[{"reader": "jsonl", "path": "own.jsonl"}])
    done = fresh.snakemake("results/small/documents.parquet", configfile=config)
    lines = [line for line in done.stderr.splitlines() if line.startswith("memfoil: ")]
    assert done.returncode != 0
    assert len(lines) == 1
    assert "own.jsonl" in lines[0]
    assert "UTF-8" in lines[0]
    assert "Traceback" not in done.stderr
    assert not list((fresh.folder / "results/small").glob("*.parquet"))


def test_an_empty_date_range_is_one_line(fresh):
    pools = yaml.safe_load(fresh.configfile.read_text())["pools"]
    pools[3]["from"] = "2190-01-01"
    config = configured(fresh, pools=pools)
    done = fresh.snakemake("results/small/draws.parquet", configfile=config)
    lines = [line for line in done.stderr.splitlines() if line.startswith("memfoil: ")]
    assert done.returncode != 0
    assert len(lines) == 1
    assert "post-cutoff" in lines[0]
    assert "2190-01-01" in lines[0]
