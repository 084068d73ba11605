import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import huggingface_hub.constants
import pytest
import torch
from safetensors.torch import load_file, save_file
from small_models import small_network, small_tokenizer
from transformers import CohereConfig, CohereForCausalLM, Gemma2Config, Gemma2ForCausalLM

from memfoil.errors import InvalidConfiguration, InvalidModel
from memfoil.models import Sequence, hub_input, load, require_device

SEQUENCE = Sequence("one", list(range(10, 30)), 10)


def edit_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def edit_weights(folder, change):
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path, {"format": "pt"})


def fill_with_nan(weights):
    weights["model.layers.1.mlp.down_proj.weight"][3, 3] = torch.nan


def remove_one(weights):
    del weights["model.layers.1.mlp.down_proj.weight"]


def test_a_model_that_is_whole_is_loaded_for_inference(model_folders):
    for kind in ("llama", "gpt2"):
        model = load(model_folders[kind])
        assert not model.network.training
        assert model.network.dtype == torch.float32
        assert model.context == 64
        assert not any(p.requires_grad for p in model.network.parameters())
        assert model.score([SEQUENCE], (4,)).log_mass.shape == (10, 1)


def zero_the_second_half(folder):
    """What a file system makes of a file that it had not written when the machine stopped."""
    path = folder / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2].ljust(len(content), b"\0"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: shutil.rmtree(f), "no such folder"),
        (lambda f: (f / "config.json").unlink(), "no config.json"),
        (lambda f: (f / "config.json").write_text("{"), "cannot be loaded"),
        (lambda f: edit_config(f, model_type="nonesuch"), "cannot be loaded.*nonesuch"),
        (lambda f: (f / "tokenizer.json").unlink(), "no tokenizer"),
        (lambda f: (f / "model.safetensors").unlink(), "no weights in safetensors"),
        (lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"), "no weights in"),
        (
            lambda f: (f / "model.safetensors").rename(f / "model.safetensors.incomplete"),
            "download has not ended",
        ),
        (lambda f: edit_weights(f, remove_one), "down_proj.weight is missing or of another shape"),
        (lambda f: edit_config(f, intermediate_size=47), r"layers.0.mlp.* shape \(6 in all"),
        (lambda f: edit_config(f, vocab_size=299), r"lm_head.weight .* another shape \(2 in all"),
        (lambda f: edit_config(f, num_hidden_layers=3), r"model.layers.2.* is missing"),
        (lambda f: edit_config(f, num_hidden_layers=1), r"model.layers.1.* has no place"),
        (lambda f: edit_config(f, num_attention_heads=7), "cannot be loaded"),
        (lambda f: edit_config(f, num_attention_heads="x"), "cannot be loaded"),
        (zero_the_second_half, "holds nothing but zeros"),
    ],
)  # fmt: skip
def test_an_incomplete_or_foreign_folder_is_refused_in_one_line(llama_copy, damage, message):
    damage(llama_copy)
    with pytest.raises(InvalidModel, match=message) as caught:
        load(llama_copy)
    assert str(caught.value).startswith(str(llama_copy))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content", [lambda b: b[: len(b) // 2], lambda b: bytes(len(b)), lambda b: b""]
)
def test_truncated_or_zero_filled_weights_are_refused(llama_copy, content):
    path = llama_copy / "model.safetensors"
    path.write_bytes(content(path.read_bytes()))
    with pytest.raises(InvalidModel, match="model cannot be loaded") as caught:
        load(llama_copy)
    assert "\n" not in str(caught.value)


def test_a_tokenizer_larger_than_the_model_is_refused(llama_copy):
    small_network("llama", 290).save_pretrained(llama_copy)
    with pytest.raises(InvalidModel, match="ids up to 299, the model only 290 embeddings"):
        load(llama_copy)


def test_more_embeddings_than_tokens_are_usual_and_fine(llama_copy):
    small_network("llama", 320).save_pretrained(llama_copy)
    assert load(llama_copy).vocabulary == 320


def test_a_model_folder_never_runs_its_own_code(llama_copy):
    edit_config(
        llama_copy,
        model_type="mine",
        auto_map={"AutoConfig": "code.C", "AutoModelForCausalLM": "code.M"},
    )
    (llama_copy / "code.py").write_text("raise SystemExit('ran')")
    with pytest.raises(InvalidModel, match="cannot be loaded"):
        load(llama_copy)


def test_nan_weights_are_found_when_scoring_and_the_sequence_is_named(llama_copy):
    edit_weights(llama_copy, fill_with_nan)
    with pytest.raises(InvalidModel, match="logits are NaN in sequence one"):
        load(llama_copy).score([SEQUENCE], (4,))


@pytest.mark.parametrize(
    ("config", "network"),
    [
        (Gemma2Config(head_dim=8, final_logit_softcapping=5.0), Gemma2ForCausalLM),
        (CohereConfig(logit_scale=0.06), CohereForCausalLM),
    ],
)
def test_models_that_change_logits_after_the_output_layer_are_refused(tmp_path, config, network):
    sizes = {"vocab_size": 300, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1}
    for name, value in {**sizes, "num_attention_heads": 4, "num_key_value_heads": 4}.items():
        setattr(config, name, value)
    config.layer_types = None if network is CohereForCausalLM else ["full_attention"]
    config.pad_token_id = 0
    network(config).save_pretrained(tmp_path)
    small_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(InvalidModel, match="changes its logits after the output layer"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dtype": "float31"}, "dtype 'float31' is unknown"),
        ({"start_of_text": "<bos>"}, "start_of_text '<bos>'"),
        pytest.param(
            {"device": "cuda"},
            "torch sees 0 GPUs",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
        ({"device": "gpu0"}, "device 'gpu0'"),
    ],
)
def test_settings_that_cannot_be_had_are_refused(model_folders, settings, message):
    with pytest.raises(InvalidConfiguration, match=message):
        load(model_folders["llama"], **settings)


class Hub(BaseHTTPRequestHandler):
    """A model hub that answers every question with one refusal."""

    status, code = 404, ""

    def do_GET(self):
        self.send_response(self.status)
        self.send_header("X-Error-Code", self.code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_):
        pass


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (404, "RevisionNotFound", "the hub has no such revision; take one of those"),
        (403, "GatedRepo", "the model is gated; accept its licence at .*/some/model, then log in"),
        (401, "RepoNotFound", "the hub has no such model, or not for you; check the name"),
        (503, "", "not in the local cache, and not to be had from the hub"),
    ],
)
def test_what_the_hub_refuses_is_said_with_what_to_do(tmp_path, monkeypatch, status, code, message):
    monkeypatch.setattr(Hub, "status", status)
    monkeypatch.setattr(Hub, "code", code)
    with HTTPServer(("127.0.0.1", 0), Hub) as hub:
        threading.Thread(target=hub.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{hub.server_port}"
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", address)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        with pytest.raises(InvalidModel, match=f"some/model at revision v1: .*{message}") as caught:
            load("some/model", revision="v1")
        hub.shutdown()
    assert "\n" not in str(caught.value)


def test_a_revision_means_the_hub_and_its_cache(model_folders, tmp_path, monkeypatch):
    commit = "0123456789abcdef0123456789abcdef01234567"
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(InvalidModel, match=f"some/model at revision {commit}: not in the local"):
        load("some/model", revision=commit)
    shutil.copytree(model_folders["llama"], tmp_path / "models--some--model" / "snapshots" / commit)
    assert load("some/model", revision=commit).vocabulary == 300
    with pytest.raises(InvalidModel, match="needs a revision beside its name"):
        load("some/model")


def test_fewer_gpus_than_a_model_is_shared_by_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert require_device("cuda", 2).type == "cuda"
    assert require_device("cpu", 3).type == "cpu"
    with pytest.raises(InvalidConfiguration, match="gpus is 3, but torch sees 2 here"):
        require_device("cuda", 3)


def test_a_branch_of_the_hub_is_named_by_the_commit_it_led_to(model_folders, tmp_path, monkeypatch):
    commit = "0123456789abcdef0123456789abcdef01234567"
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    cached = tmp_path / "models--some--model"
    shutil.copytree(model_folders["llama"], cached / "snapshots" / commit)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(commit)
    with pytest.warns(UserWarning, match=f"it is {commit} now"):
        model = load("some/model", revision="main")
    assert hub_input("some/model", "main", model.folder) == {"outside:01234567:some/model": commit}
    assert hub_input("a/folder", None, model_folders["llama"]) == {}
