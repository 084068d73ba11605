"""No code of a model folder runs, and nothing in the package reads or writes pickles."""

import ast
import contextlib
import json
import re
import shutil
from pathlib import Path

import pytest

import memfoil
from memfoil.errors import InvalidModel
from memfoil.models import load, load_backend
from memfoil.models.embeddings import load_embedder
from memfoil.models.tokenizer import load_tokenizer

FOREIGN = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}


@pytest.fixture
def hostile(llama_copy):
    """A folder whose own code would leave a file behind when it is imported."""
    trace = llama_copy / "executed"
    code = f"open({str(trace)!r}, 'w').close()\nclass Foreign: pass\n"
    (llama_copy / "foreign.py").write_text(code)
    kinds = ("AutoConfig", "AutoModel", "AutoModelForCausalLM")
    config = json.loads((llama_copy / "config.json").read_text())
    config |= {"model_type": "foreign", "auto_map": dict.fromkeys(kinds, "foreign.Foreign")}
    (llama_copy / "config.json").write_text(json.dumps(config))
    settings = json.loads((llama_copy / "tokenizer_config.json").read_text())
    settings |= {
        "tokenizer_class": "Foreign",
        "auto_map": {"AutoTokenizer": ["foreign.Foreign", "foreign.Foreign"]},
    }
    (llama_copy / "tokenizer_config.json").write_text(json.dumps(settings))
    return llama_copy


@pytest.mark.parametrize("loaded", [load, load_tokenizer, load_embedder])
def test_code_in_a_folder_is_not_run(hostile, loaded):
    with contextlib.suppress(InvalidModel):
        loaded(hostile)
    assert not (hostile / "executed").exists()


def test_code_in_a_folder_is_not_run_on_the_way_to_vllm(hostile, model_folders, monkeypatch):
    for path in model_folders["llama"].glob("tokenizer*"):
        shutil.copy(path, hostile)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setattr("builtins.input", lambda *_: "y")  # as if a person agreed
    with pytest.raises(InvalidModel, match="model cannot be loaded"):
        load_backend(hostile, backend="vllm")
    assert not (hostile / "executed").exists()


@pytest.mark.parametrize("loaded", [load, load_embedder])
def test_pickled_weights_are_not_read(llama_copy, loaded):
    for path in llama_copy.glob("*.safetensors"):
        path.unlink()
    (llama_copy / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    with pytest.raises(InvalidModel) as caught:
        loaded(llama_copy)
    assert "\n" not in str(caught.value)


def test_nothing_in_the_package_touches_a_pickle():
    for path in Path(memfoil.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not FOREIGN & {alias.name.split(".")[0] for alias in node.names}, path
            elif isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in FOREIGN, path
            elif isinstance(node, ast.Call):
                given = {k.arg: ast.unparse(k.value) for k in node.keywords}
                assert given.get("allow_pickle", "False") == "False", path
                assert given.get("trust_remote_code", "False") == "False", path
                if re.fullmatch(r"(Auto\w+|kind)\.from_pretrained", ast.unparse(node.func)):
                    assert "trust_remote_code" in given, path  # else a person may be asked
                assert ast.unparse(node.func) not in {"torch.load", "pd.read_pickle"}, path
