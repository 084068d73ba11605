"""The workflow in a folder of its own, with its own copy of the package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PARTS = ("Snakefile", "workflow", "config", "profiles", "envs", "src")
SNAKEMAKE = str(Path(sys.executable).with_name("snakemake"))


class Checkout:
    """A copy of the repository's working parts in which Snakemake can be called."""

    def __init__(self, folder, configfile):
        self.folder = folder
        self.configfile = configfile

    def start(self, *arguments, configfile=None, **environment):
        """Start Snakemake, and leave it running."""
        return subprocess.Popen(
            [SNAKEMAKE, *arguments, "--configfile", str(configfile or self.configfile)],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self.folder / "src")} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def snakemake(self, *arguments, configfile=None, **environment):
        process = self.start(*arguments, configfile=configfile, **environment)
        stdout, stderr = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def planned(self, *arguments, configfile=None):
        """The rules a dry run would start."""
        done = self.snakemake("-n", *arguments, configfile=configfile)
        assert done.returncode == 0, done.stderr
        lines = (done.stdout + done.stderr).splitlines()
        return {
            line.split()[1].rstrip(":")
            for line in lines
            if line.startswith(("rule ", "localrule "))
        } - {"all"}

    def copy(self, folder):
        """The same run in another folder, to be spoilt."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Checkout(folder, self.configfile)


def checkout(folder, root):
    for part in PARTS:
        source = root / part
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        copy(source, folder / part)
    shutil.copy2(root / "tests" / "workflow" / "pairs.tsv", folder)
    return Checkout(folder, root / "tests" / "workflow" / "small.yaml")
