import json
import shutil

import pytest
from small_models import small_network, small_tokenizer

from memfoil.errors import InvalidConfiguration, InvalidModel
from memfoil.models import load, load_tokenizer, save_tokenizer, start_of_text, tokenizer_digest


@pytest.mark.parametrize(
    ("template", "ids"),
    [("<s> $A", (0,)), ("<s> $A </s>", (0,)), ("$A </s>", ()), ("<s> </s> $A", (0, 1)), (None, ())],
)
def test_auto_is_what_the_tokenizer_itself_puts_in_front(template, ids):
    assert start_of_text(small_tokenizer(template), "auto") == ids


def test_explicit_rules_do_not_look_at_the_template():
    for template in ("<s> $A", None):
        tokenizer = small_tokenizer(template)
        assert start_of_text(tokenizer, "none") == ()
        assert start_of_text(tokenizer, "bos") == (0,)
        assert start_of_text(tokenizer, "</s>") == (1,)


def test_a_token_that_is_not_there_is_refused():
    tokenizer = small_tokenizer()
    with pytest.raises(InvalidConfiguration, match=r"start_of_text '<bos>'"):
        start_of_text(tokenizer, "<bos>")
    tokenizer.bos_token = None
    with pytest.raises(InvalidConfiguration, match=r"start_of_text 'bos'"):
        start_of_text(tokenizer, "bos")


def test_a_saved_tokenizer_comes_back_with_its_rule(model_folders):
    assert start_of_text(load_tokenizer(model_folders["llama"]), "auto") == (0,)
    assert start_of_text(load_tokenizer(model_folders["gpt2"]), "auto") == ()


def test_copies_of_a_tokenizer_share_a_digest_and_others_do_not(model_folders):
    digest = tokenizer_digest(load_tokenizer(model_folders["llama"]))
    assert tokenizer_digest(small_tokenizer(None)) == digest  # the template is no part of it
    assert tokenizer_digest(small_tokenizer(vocabulary=299)) != digest


def test_a_folder_without_a_tokenizer_is_refused(llama_copy, tmp_path):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (llama_copy / name).unlink(missing_ok=True)
    with pytest.raises(InvalidModel, match=f"{llama_copy}: no tokenizer in this folder"):
        load_tokenizer(llama_copy)
    with pytest.raises(InvalidModel, match="no such folder"):
        load_tokenizer(tmp_path / "none")


@pytest.mark.parametrize("content", ["", "{", "{}", json.dumps({"model": {"type": "BPE"}})])
def test_a_damaged_tokenizer_is_refused_in_one_line(llama_copy, content):
    (llama_copy / "tokenizer.json").write_text(content)
    with pytest.raises(InvalidModel, match=r"cannot be read: \w+: .*put the") as caught:
        load_tokenizer(llama_copy)
    assert "\n" not in str(caught.value)


def test_a_tokenizer_alone_is_enough(model_folders, tmp_path):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(model_folders["llama"] / name, tmp_path)
    assert len(load_tokenizer(tmp_path)) == 300


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
def test_a_tokenizer_that_cannot_be_written_is_one_line(tmp_path, name):
    (tmp_path / name).mkdir()  # refused by the file system, as on a full disk
    with pytest.raises(InvalidModel, match=f"{tmp_path}: tokenizer cannot be written: .*directory"):
        save_tokenizer(small_tokenizer(), tmp_path)


@pytest.mark.parametrize(
    ("vocabulary", "said"),
    [(330, None), (299, "ids up to 299, the model only 299"), (400, "ids up to 299 only, the")],
)
def test_a_tokenizer_of_another_size_is_another_models(tmp_path, vocabulary, said):
    small_network("llama", vocabulary).save_pretrained(tmp_path)
    small_tokenizer().save_pretrained(tmp_path)
    if said:
        with pytest.raises(InvalidModel, match=f"{said} .*another model's tokenizer"):
            load(tmp_path)
    else:
        load(tmp_path)


def test_special_tokens_that_are_others_to_the_model_are_warned_of(llama_copy, recwarn):
    load(llama_copy)
    config = json.loads((llama_copy / "config.json").read_text())
    for ends, known in (((7, 8), False), ((0, 8), True), ((7, [8, 1]), True), ((None, 8), True)):
        config |= dict(zip(("bos_token_id", "eos_token_id"), ends, strict=True))
        (llama_copy / "config.json").write_text(json.dumps(config))
        recwarn.clear()
        load(llama_copy)
        said = [str(each.message) for each in recwarn if "agree on no special" in str(each.message)]
        assert bool(said) != known, ends
