"""Model folders small enough to be made in a moment, and the small run of the workflow."""

import os
import shutil
import sys

import pytest
from fault_table import pytest_terminal_summary  # noqa: F401 - of the whole session
from small_run import checkout


def pytest_collection_finish():
    """Models this small gain nothing from threads, and lose much on a busy machine."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk():
    """Thousands of small files are written, and the power does not fail meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


def pytest_addoption(parser):
    parser.addoption("--kills", type=int, default=3, help="how often tests/faults kills a run")
    parser.addoption("--kill-seed", type=int, default=1, help="what the moments are drawn with")


@pytest.fixture(scope="session")
def model_folders(tmp_path_factory):
    """`llama` puts `<s>` in front of a text, `gpt2` nothing. Not to be changed: take a copy."""
    # seconds, and a worker's alone: who hands the tests out needs no torch
    from small_models import small_network, small_tokenizer

    folders = {}
    for kind, template in (("llama", "<s> $A"), ("gpt2", None)):
        folders[kind] = tmp_path_factory.mktemp("models") / kind
        tokenizer = small_tokenizer(template)
        small_network(kind, len(tokenizer), peak=30.0).save_pretrained(folders[kind])
        tokenizer.save_pretrained(folders[kind])
    return folders


@pytest.fixture
def llama_copy(model_folders, tmp_path):
    """A Llama folder to be damaged."""
    return shutil.copytree(model_folders["llama"], tmp_path / "llama")


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
