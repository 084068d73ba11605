"""A Slurm of one node on this machine: munged, slurmctld and slurmd, without systemd or cgroups.

It needs root, and `slurm-wlm` and `munge` (Debian). Everything lies in one folder, but for the link
/etc/slurm/slurm.conf: the executor plugin's inner srun does not hand SLURM_CONF on.
"""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

DAEMONS = ("slurmd", "slurmctld", "munged")
LINK = Path("/etc/slurm/slurm.conf")
MEM_MB = 12_000
CONFIGURATION = """\
ClusterName=memfoil
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={next_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MinJobAge=600
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0
SlurmdParameters=config_overrides
ReturnToService=2
SwitchType=switch/none
MpiDefault=none
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory={mem_mb} Gres=gpu:1 State=UNKNOWN
PartitionName=debug Nodes={host} Default=YES MaxTime=1-00:00:00 State=UP
"""


def missing():
    """Why no Slurm can be started here, or None."""
    if os.geteuid():
        return "needs root"
    absent = [name for name in (*DAEMONS, "sbatch") if not shutil.which(name)]
    if absent:
        return f"{absent[0]} is not installed (Debian: slurm-wlm, munge)"
    if LINK.exists() and not LINK.is_symlink():
        return f"{LINK} is a real file: this machine has a Slurm of its own"
    return None


class Slurm:
    def __init__(self, folder):
        self.folder = folder
        self.host = socket.gethostname().split(".")[0]

    def start(self):
        for name in ("state", "spool", "munge"):
            (self.folder / name).mkdir(parents=True)
        self.folder.chmod(0o755)
        key = self.folder / "munge" / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        key.parent.chmod(0o700)
        port = _free_port()
        configuration = CONFIGURATION.format(
            host=self.host, folder=self.folder, port=port, next_port=port + 1, mem_mb=MEM_MB
        )
        conf = self.folder / "slurm.conf"
        conf.write_text(configuration)
        (self.folder / "cgroup.conf").touch()
        # One device for each GPU is asked for; the null device makes one that can be counted.
        os.mknod(self.folder / "gpu0", 0o20666, os.makedev(1, 3))
        gres = f"NodeName={self.host} Name=gpu File={self.folder}/gpu0\n"
        (self.folder / "gres.conf").write_text(gres)
        LINK.parent.mkdir(exist_ok=True)
        LINK.unlink(missing_ok=True)
        LINK.symlink_to(conf)
        munge = {
            "key-file": key,
            "socket": self.folder / "munge.socket",
            "pid-file": self.folder / "munged.pid",
            "log-file": self.folder / "munged.log",
            "seed-file": self.folder / "munge" / "munge.seed",
        }
        self._run("munged", "--force", *(f"--{name}={value}" for name, value in munge.items()))
        self._run("slurmctld", "-f", conf)
        self._run("slurmd", "-f", conf, "-N", self.host)
        self._wait(lambda: self.ask("sinfo", "--noheader", "--format=%T") == "idle")

    def ask(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    def job_of(self, rule):
        """The number of the job that runs a rule, or None."""
        for line in self.ask("squeue", "--noheader", "--format=%A %T %k").splitlines():
            number, state, comment = line.split(maxsplit=2)
            if state == "RUNNING" and rule in comment:
                return number
        return None

    def stop(self):
        """End what `start` has started, by the process ids in its own files."""
        self.ask("scancel", "--user=root")
        for name in DAEMONS:
            file = self.folder / f"{name}.pid"
            process = int(file.read_text()) if file.exists() else 0
            if process and Path(f"/proc/{process}/comm").read_text().strip() == name:
                os.kill(process, 15)
                self._wait(lambda p=process: not Path(f"/proc/{p}").exists())
        LINK.unlink(missing_ok=True)

    def _run(self, *command):
        subprocess.run([str(word) for word in command], check=True, capture_output=True)

    def _wait(self, happened, seconds=30):
        deadline = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < deadline, f"see the logs in {self.folder}"
            time.sleep(0.1)


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
