"""The workflow through sbatch, on a real Slurm of one node."""

import shutil
import subprocess
import threading
import time

import local_slurm
import pandas as pd
import pytest
import yaml

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(
        local_slurm.missing() is not None, reason=f"no Slurm: {local_slurm.missing()}"
    ),
]
PROFILE = ("--workflow-profile", "profiles/slurm")
QUICK = ("--latency-wait", "5", "--slurm-init-seconds-before-status-checks", "2")


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    running = local_slurm.Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        running.start()
        yield running
    finally:
        running.stop()
    left = subprocess.run(["pgrep", *local_slurm.DAEMONS[:1]], capture_output=True, check=False)
    assert not left.stdout


@pytest.fixture(scope="module")
def audit_alone(tmp_path_factory, pytestconfig):
    """The small run without what the default run does besides the audit."""
    settings = yaml.safe_load((pytestconfig.rootpath / "tests/workflow/small.yaml").read_text())
    settings |= {"census": None, "prompts": None, "propensity": None}
    path = tmp_path_factory.mktemp("config") / "audit.yaml"
    path.write_text(yaml.safe_dump(settings, sort_keys=False))
    return path


def cancelled(slurm, rule, seconds=240):
    """Cancel the first job of a rule as soon as it runs; a thread whose result is its number."""
    found = []

    def watch():
        deadline = time.monotonic() + seconds
        while not found and time.monotonic() < deadline:
            if number := slurm.job_of(rule):
                slurm.ask("scancel", number)
                found.append(number)
            time.sleep(0.2)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread, found


def test_a_run_through_sbatch_has_the_tables_of_a_local_one(slurm, fresh, finished, audit_alone):
    """Though one of its jobs is cancelled in the middle."""
    thread, number = cancelled(slurm, "train")
    done = fresh.snakemake(*PROFILE, *QUICK, configfile=audit_alone)
    thread.join()
    assert done.returncode == 0, done.stderr[-3000:]
    assert number, "no job was cancelled"
    made = sorted((fresh.folder / "results/small").rglob("*.parquet"))
    assert len(made) > 15
    for path in made:
        local = finished.folder / path.relative_to(fresh.folder)
        pd.testing.assert_frame_equal(pd.read_parquet(path), pd.read_parquet(local))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("score:mem_mb=999999", "asks partition debug for 999999 MB"),
        ("score:runtime=3000", "3000 minutes"),
        ("score:gpu=2", "2 GPUs"),
        ("score:slurm_partition=nowhere", "partition nowhere is not there"),
    ],
)
def test_a_request_that_can_never_be_met_stops_before_anything_is_submitted(
    slurm, fresh, audit_alone, asked, message
):
    before = slurm.ask("squeue", "--all", "--states=all", "--noheader", "--format=%A")
    done = fresh.snakemake(*PROFILE, "--set-resources", asked, configfile=audit_alone)
    assert done.returncode == 2, done.stderr[-3000:]
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert slurm.ask("squeue", "--all", "--states=all", "--noheader", "--format=%A") == before
    shutil.rmtree(fresh.folder / ".snakemake" / "locks", ignore_errors=True)
