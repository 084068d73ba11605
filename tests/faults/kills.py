"""Strike a run dead at a random moment, and see what goes on."""

import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass

import psutil

VICTIMS = ("scheduler", "script", "scheduler and scripts")
MOMENT = (2.0, 20.0)  # seconds after a start
GRACE = 5.0


@dataclass(frozen=True)
class Strike:
    """A kill: whom, when, in which stages, and how many processes outlived it by `GRACE`."""

    victim: str
    moment: float
    stages: tuple[str, ...]
    orphans: int


def scripts_of(family):
    """The script processes among a run's processes, with their stages."""
    found = {}
    for process in family:
        try:
            named = [word for word in process.cmdline() if ".snakemake/scripts/" in word]
        except psutil.Error:
            continue
        if named:
            found[process] = named[0].rsplit(".", 2)[1]
    return found


def strike(checkout, victim, moment, *arguments):
    """Start Snakemake and send SIGKILL; None if it has ended before there was anything to hit.

    A script, where one is the victim, is hit as soon as there is one after the moment.
    """
    run = checkout.start(*arguments)
    scheduler = psutil.Process(run.pid)
    with suppress(subprocess.TimeoutExpired):
        run.communicate(timeout=moment)
    while run.poll() is None:
        family = scheduler.children(recursive=True)
        scripts = scripts_of(family)
        if scripts or victim == "scheduler":
            break
        time.sleep(0.05)
    else:
        assert run.returncode == 0, run.stderr.read()
        return None
    if victim != "script":
        scheduler.kill()
    for process in scripts if victim != "scheduler" else ():
        process.kill()
    run.communicate()
    _, alive = psutil.wait_procs(family, timeout=GRACE)
    for process in alive:
        process.kill()
    return Strike(victim, moment, tuple(scripts.values()), len(alive))
