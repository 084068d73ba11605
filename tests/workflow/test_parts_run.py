"""The workflow with its long stages in parts: the same tables, and a plan of many parts."""

import re

import pyarrow.parquet as pq
import pytest
import yaml

pytestmark = pytest.mark.workflow

FOLDERS = ("token_scores", "propensity/testbed", "prompts/small/testbed", "calibration")


def in_parts(checkout, **parts):
    """The small configuration with its stages in parts, as a file of its own."""
    config = yaml.safe_load(checkout.configfile.read_text()) | {"parts": parts}
    path = checkout.folder / "parts.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return path


def read(checkout):
    """Every table of the stages that are split, and what is made from them; no parts."""
    results = checkout.folder / "results" / "small"
    found = [path for name in FOLDERS for path in (results / name).rglob("*.parquet")]
    return {path: pq.read_table(path) for path in found if "-of-" not in path.name}


def test_a_run_in_parts_ends_with_the_same_tables(finished, tmp_path):
    again = finished.copy(tmp_path / "again")
    whole = {path.relative_to(finished.folder): table for path, table in read(finished).items()}
    config = in_parts(again, score=2, trace=3, search=4)
    done = again.snakemake(configfile=config)
    assert done.returncode == 0, done.stdout + done.stderr
    joined = {path.relative_to(again.folder): table for path, table in read(again).items()}
    assert joined.keys() == whole.keys()
    assert [str(path) for path in whole if not joined[path].equals(whole[path])] == []
    parts = [path.name for path in again.folder.rglob("*-of-*.parquet")]
    assert len(parts) == 2 + 2 * 3 * 3 + 6 * 4
    assert again.planned(configfile=config) == set()


def test_many_parts_can_be_planned(fresh):
    config = in_parts(fresh, score=300, trace=200, search=100)
    done = fresh.snakemake("-n", "--quiet", "rules", configfile=config)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    jobs = {name: int(n) for name, n in re.findall(r"^(\w+) +(\d+)$", said, re.MULTILINE)}
    assert jobs["score"] == 300
    assert jobs["propensity_trace"] == 2 * 200
    assert jobs["compression"] == jobs["multi_prefix"] == 100
    assert (jobs["join_score"], jobs["join_trace"], jobs["join_search"]) == (1, 4, 6)


def test_a_stage_has_one_part_at_least(fresh):
    done = fresh.snakemake("-n", configfile=in_parts(fresh, trace=0))
    assert done.returncode != 0
    assert "parts/trace: 0 is less than the minimum of 1" in done.stdout + done.stderr
