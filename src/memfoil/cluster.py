"""What a Slurm cluster can give, asked before a job waits for ever for what it cannot."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from memfoil.errors import InvalidConfiguration

FORMAT = "%P|%m|%c|%G|%l"


@dataclass(frozen=True)
class Nodes:
    """Nodes of one kind in a partition: `minutes` is the partition's limit, inf if it has none."""

    partition: str
    is_default: bool
    mem_mb: int
    cores: int
    gpus: int
    minutes: float


@dataclass(frozen=True)
class Request:
    """What a job asks for; no partition is the cluster's default one."""

    rule: str
    partition: str | None
    mem_mb: int
    cores: int
    gpus: int
    minutes: float

    def fits(self, nodes: Nodes) -> bool:
        return (
            self.mem_mb <= nodes.mem_mb
            and self.cores <= nodes.cores
            and self.gpus <= nodes.gpus
            and self.minutes <= nodes.minutes
        )


@cache
def nodes() -> tuple[Nodes, ...]:
    """The nodes that `sinfo` lists.

    Raises
    ------
    InvalidConfiguration
        If Slurm does not answer.
    """
    command = ["sinfo", "--noheader", f"--format={FORMAT}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        raise InvalidConfiguration(
            f"profile slurm: sinfo does not answer ({error}); run it where Slurm's commands work"
        ) from error
    return parse(done.stdout)


def parse(listing: str) -> tuple[Nodes, ...]:
    """What `sinfo --format=%P|%m|%c|%G|%l` prints; a `+` stands behind the least of several."""
    found = []
    for line in listing.splitlines():
        name, memory, cores, generic, limit = line.strip().split("|")
        gpus = re.findall(r"gpu(?::[^:,()]+)?:(\d+)", generic)
        found.append(
            Nodes(
                partition=name.rstrip("*"),
                is_default=name.endswith("*"),
                mem_mb=int(memory.rstrip("+")),
                cores=int(cores.rstrip("+")),
                gpus=sum(map(int, gpus)),
                minutes=_minutes(limit),
            )
        )
    return tuple(found)


def _minutes(limit: str) -> float:
    """Slurm's `days-hours:minutes:seconds`, from the right, or `infinite`."""
    if not limit[0].isdigit():
        return math.inf
    days, _, clock = limit.rpartition("-")
    parts = [int(part) for part in clock.split(":")]
    hours, minutes, seconds = [0] * (3 - len(parts)) + parts
    return int(days or 0) * 1440 + hours * 60 + minutes + seconds / 60


def refuse_unmet(requests: Iterable[Request], listed: Iterable[Nodes]) -> None:
    """Refuse what would stay in the queue for ever: Slurm takes it without a word.

    Raises
    ------
    InvalidConfiguration
        If a partition does not exist, or no node in it has what a job asks for.
    """
    listed = list(listed)
    for request in requests:
        here = [of for of in listed if of.partition == request.partition]
        if not request.partition:
            here = [of for of in listed if of.is_default]
        where = f"partition {request.partition}" if request.partition else "the default partition"
        if not here:
            raise InvalidConfiguration(
                f"rule {request.rule}: {where} is not there (sinfo lists "
                f"{', '.join(sorted({of.partition for of in listed}))}); name one of these as "
                "slurm_partition in the profile"
            )
        if not any(request.fits(of) for of in here):
            raise InvalidConfiguration(
                f"rule {request.rule}: asks {where} for {_said(request)}, and its nodes have at "
                f"most {' or '.join(map(_said, here))}; lower the request (set-resources in the "
                "profile) or name another partition"
            )


def _said(of: Request | Nodes) -> str:
    minutes = "no limit" if math.isinf(of.minutes) else f"{of.minutes:.0f} minutes"
    return f"{of.mem_mb} MB, {of.cores} cores, {of.gpus} GPUs, {minutes}"


def requests_of(jobs: Iterable[Any]) -> list[Request]:
    """What Snakemake's jobs ask for, the same request of many jobs of a rule once."""
    asked = {
        Request(
            rule=str(job.rule),
            partition=job.resources.get("slurm_partition") or None,
            mem_mb=int(job.resources.get("mem_mb", 0)),
            cores=int(job.threads),
            gpus=int(job.resources.get("gpu", 0)),
            minutes=float(job.resources.get("runtime", 0)),
        ): None
        for job in jobs
        if not job.is_local
    }
    return list(asked)


def largest_memory() -> float:
    """Megabytes of the largest node: a request that grows beyond it would wait for ever.

    Without Slurm there is no such bound: inf.
    """
    return max(of.mem_mb for of in nodes()) if shutil.which("sinfo") else math.inf
