"""A run, its scripts and its lock end together, however the run ends."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import threading
from pathlib import Path
from typing import IO

SCHEDULER = "MEMFOIL_SCHEDULER"
HELD = Path(".snakemake/memfoil.lock")
LOCKS = Path(".snakemake/locks")
LOCAL, CLUSTER = "local", "cluster"


def hold() -> IO[str]:
    """Hold on to the working folder until this process ends; remove the lock of a killed run.

    Whoever works in the folder shares one advisory lock, which the system gives back at any death.
    So a lock of Snakemake's that nobody stands behind any more is known, and removed. Not so after
    a run on a cluster: what it submitted may still be waiting.

    Returns
    -------
    file
        To be kept open. Only `submits` writes to it.
    """
    HELD.parent.mkdir(exist_ok=True)
    held = HELD.open("a+")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            return held  # a file system without such locks: Snakemake's own stays
    else:
        held.seek(0)
        if held.read() != CLUSTER:
            for lock in LOCKS.glob("*"):
                lock.unlink()
    fcntl.flock(held, fcntl.LOCK_SH)
    return held


def submits(held: IO[str], local: bool) -> None:
    """Note whether the run that starts works here, or leaves jobs to a cluster."""
    held.truncate(0)
    held.write(LOCAL if local else CLUSTER)
    held.flush()


def lead() -> None:
    """Make this process the one that the scripts it starts will not outlive."""
    os.environ[SCHEDULER] = str(os.getpid())


def follow() -> IO[str] | None:
    """End this process, at once, when its scheduler has ended; share its hold on the folder.

    A scheduler that is killed cannot stop its scripts, and one that went on would write into the
    next run. Where the system cannot tell (other than Linux), the hold alone is shared: the next
    run then finds the folder locked.
    """
    scheduler = os.environ.get(SCHEDULER)
    if scheduler is None:
        return None
    if hasattr(os, "pidfd_open"):
        try:
            watched = os.pidfd_open(int(scheduler))
        except ProcessLookupError:
            os.kill(os.getpid(), signal.SIGKILL)
        threading.Thread(target=_end_with, args=(watched,), daemon=True).start()
    held = HELD.open("a+")
    fcntl.flock(held, fcntl.LOCK_SH)
    return held


def _end_with(watched: int) -> None:
    poll = select.poll()
    poll.register(watched, select.POLLIN)
    poll.poll()
    os.kill(os.getpid(), signal.SIGKILL)
