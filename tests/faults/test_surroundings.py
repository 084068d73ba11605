"""A disk that is full or read-only, and two runs in one folder: one clear message, nothing lost."""

import os
import subprocess
import time

import pytest

from memfoil import lifeline, tables

pytestmark = pytest.mark.faults
PASSAGES = "results/small/passages.parquet"


def mount(*arguments):
    return subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def disk(fresh):
    """`results/` of a fresh checkout, on a disk of its own that can be mounted again otherwise."""
    results = fresh.folder / "results"
    results.mkdir()
    if os.geteuid() or mount("-t", "tmpfs", "-o", "size=256k", "tmpfs", str(results)).returncode:
        pytest.skip("mounting a disk needs the rights to do so")
    yield lambda options: mount("-o", f"remount,{options}", str(results))
    subprocess.run(["umount", str(results)], check=True)


def test_a_full_disk_leaves_nothing_half_written_and_the_run_goes_on(fresh, disk, tried):
    with tried("disk full"):
        done = fresh.snakemake(PASSAGES)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("memfoil: ")]
        assert "No space left on device" in line
        assert not [path for path in (fresh.folder / "results").rglob("*") if path.is_file()]
        disk("size=64m")
        done = fresh.snakemake(PASSAGES)
        assert done.returncode == 0, done.stderr
        assert len(tables.PASSAGES.read(fresh.folder / PASSAGES))


def test_a_read_only_folder_is_named(fresh, disk, tried):
    """Snakemake makes the folders of its outputs itself, and says so when it cannot."""
    disk("size=64m,ro")
    with tried("results read-only"):
        done = fresh.snakemake(PASSAGES)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert "Read-only file system: 'results/small'" in done.stderr
        disk("size=64m,rw")
        done = fresh.snakemake(PASSAGES)
        assert done.returncode == 0, done.stderr


def test_of_two_runs_in_one_folder_the_second_is_told_to_wait(fresh, tried):
    with tried("two runs at once"):
        first = fresh.start(PASSAGES)
        while first.poll() is None and not list((fresh.folder / lifeline.LOCKS).glob("*")):
            time.sleep(0.02)
        second = fresh.snakemake(PASSAGES)
        first.communicate()
        assert first.returncode == 0
        assert second.returncode == 1
        assert "Directory cannot be locked" in second.stderr
        assert "Traceback" not in second.stderr
        assert len(tables.PASSAGES.read(fresh.folder / PASSAGES))
