"""Choosing a backend where vLLM is not there."""

import importlib.util

import pytest

from memfoil.errors import InvalidConfiguration
from memfoil.models import TorchModel, load_backend


def test_torch_is_a_backend(model_folders):
    assert isinstance(load_backend(model_folders["llama"], backend="torch"), TorchModel)


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed here")
def test_without_vllm_one_line_says_what_to_install(model_folders):
    with pytest.raises(InvalidConfiguration, match=r"not installed.*make .venv-vllm/run.stamp"):
        load_backend(model_folders["llama"], backend="vllm")
