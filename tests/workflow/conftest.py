"""The workflow in a folder of its own, with its own copy of the package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PARTS = ("Snakefile", "workflow", "config", "profiles", "envs", "src")
SNAKEMAKE = str(Path(sys.executable).with_name("snakemake"))


class Checkout:
    """A copy of the repository's working parts in which Snakemake can be called."""

    def __init__(self, folder, configfile):
        self.folder = folder
        self.configfile = configfile

    def snakemake(self, *arguments, configfile=None, **environment):
        return subprocess.run(
            [SNAKEMAKE, *arguments, "--configfile", str(configfile or self.configfile)],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self.folder / "src")} | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def planned(self, *arguments, configfile=None):
        """The rules a dry run would start."""
        done = self.snakemake("-n", "--quiet", "all", *arguments, configfile=configfile)
        assert done.returncode == 0, done.stderr
        done = self.snakemake("-n", *arguments, configfile=configfile)
        lines = (done.stdout + done.stderr).splitlines()
        return {
            line.split()[1].rstrip(":")
            for line in lines
            if line.startswith(("rule ", "localrule "))
        } - {"all"}


def checkout(folder, root):
    for part in PARTS:
        source = root / part
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        copy(source, folder / part)
    shutil.copy2(root / "tests" / "workflow" / "pairs.tsv", folder)
    return Checkout(folder, root / "tests" / "workflow" / "small.yaml")


@pytest.fixture(scope="session")
def finished(tmp_path_factory, pytestconfig):
    """A small run that has ended."""
    made = checkout(tmp_path_factory.mktemp("memfoil"), pytestconfig.rootpath)
    done = made.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    return made


@pytest.fixture
def fresh(tmp_path, pytestconfig):
    """A checkout in which nothing has run."""
    return checkout(tmp_path, pytestconfig.rootpath)
