"""Scripts end with their scheduler, and only a lock that nobody stands behind is removed."""

import os
import subprocess
import sys
import time

import pytest

from memfoil import lifeline

SCRIPT = """
import time
from memfoil import lifeline
held = lifeline.follow()
print("following", flush=True)
time.sleep(60)
"""
SCHEDULER = """
import subprocess, sys, time
from memfoil import lifeline
lifeline.lead()
script = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE, text=True)
print(script.stdout.readline().strip(), script.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(lifeline.SCHEDULER, raising=False)
    lifeline.LOCKS.mkdir(parents=True)
    return tmp_path


def started(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True
    )


def gone(pid, seconds=5):
    """Whether a process that is no child of this one ends within so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells when a process ends")
@pytest.mark.slow
def test_a_script_ends_with_a_scheduler_that_is_killed():
    with started(SCHEDULER, SCRIPT) as scheduler:
        said, script = scheduler.stdout.readline().split()
        assert said == "following"
        assert not gone(int(script), seconds=0.2)
        scheduler.kill()
    assert gone(int(script))


def test_a_script_whose_scheduler_has_ended_before_it_ends_at_once(monkeypatch):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    monkeypatch.setenv(lifeline.SCHEDULER, str(ended.pid))
    with started(SCRIPT) as script:
        assert script.stdout.read() == ""
    assert script.returncode != 0


def test_without_a_scheduler_nothing_is_followed():
    assert lifeline.follow() is None
    assert not lifeline.HELD.exists()


@pytest.mark.parametrize("note", [None, True])
def test_the_lock_of_a_killed_run_is_removed(note):
    if note:
        with lifeline.hold() as held:
            lifeline.submits(held, local=True)
    (lifeline.LOCKS / "0.input.lock").touch()
    lifeline.hold().close()
    assert not list(lifeline.LOCKS.iterdir())


def test_the_lock_of_a_run_that_lives_stays():
    with lifeline.hold():
        (lifeline.LOCKS / "0.input.lock").touch()
        lifeline.hold().close()
    assert list(lifeline.LOCKS.iterdir())


def test_the_lock_of_a_run_whose_script_lives_stays(monkeypatch):
    monkeypatch.setenv(lifeline.SCHEDULER, str(os.getpid()))
    with started(SCRIPT) as script:
        assert script.stdout.readline() == "following\n"
        (lifeline.LOCKS / "0.input.lock").touch()
        lifeline.hold().close()
        assert list(lifeline.LOCKS.iterdir())
        script.kill()


def test_the_lock_of_a_run_on_a_cluster_stays():
    """What was submitted may still be waiting: a person says when it is not."""
    with lifeline.hold() as held:
        lifeline.submits(held, local=False)
    (lifeline.LOCKS / "0.input.lock").touch()
    lifeline.hold().close()
    assert list(lifeline.LOCKS.iterdir())
