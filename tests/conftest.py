"""Model folders small enough to be made in a moment, real enough to be loaded from disk."""

import shutil

import pytest
import torch
from small_models import small_network, small_tokenizer

# Models this small gain nothing from threads, and lose much on a busy machine.
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def model_folders(tmp_path_factory):
    """`llama` puts `<s>` in front of a text, `gpt2` nothing. Not to be changed: take a copy."""
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
