"""Which index may be searched with which tokenizer, and what is said of one that may not."""

import shutil

import pandas as pd
import pytest
import yaml

from memfoil.errors import InvalidIndex
from memfoil.index import RemoteIndex
from memfoil.propensity.corpus import open_for
from memfoil.testbed import train_tokenizer
from memfoil.tracing import maximal_spans


def test_an_index_of_another_tokenizer_is_refused_by_name(index, tokenizer, training):
    assert open_for(index.folder, tokenizer).n_documents == 240
    other = train_tokenizer(training["text"], vocab_size=300)
    with pytest.raises(InvalidIndex, match="built with the tokenizer") as caught:
        open_for(index.folder, other)
    assert str(index.folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_index_that_infini_gram_made_takes_the_tokenizers_vocabulary(index, tokenizer, tmp_path):
    folder = shutil.copytree(index.folder, tmp_path / "theirs")
    (folder / "memfoil.json").unlink()
    opened = open_for(folder, tokenizer)
    assert opened.vocab_size == len(tokenizer)
    assert (
        opened.longest_matches([[5, 6]])[0].tolist() == index.longest_matches([[5, 6]])[0].tolist()
    )


def test_a_missing_shard_is_one_line(index, tokenizer, tmp_path):
    folder = shutil.copytree(index.folder, tmp_path / "broken")
    for path in folder.glob("*.1"):
        path.unlink()
    with pytest.raises(InvalidIndex) as caught:
        open_for(folder, tokenizer)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(InvalidIndex, match="no such folder"):
        open_for(tmp_path / "nowhere", tokenizer)


def test_a_file_describes_a_hosted_index(tokenizer, tmp_path):
    path = tmp_path / "hosted.yaml"
    settings = {"endpoint": "http://127.0.0.1:9/", "index": "x", "vocab_size": len(tokenizer)}
    path.write_text(yaml.safe_dump(settings | {"cache": "kept.sqlite"}))
    assert isinstance(open_for(path, tokenizer), RemoteIndex)
    path.write_text(yaml.safe_dump(settings | {"cache": "kept.sqlite", "tokenizer": "llama"}))
    with pytest.raises(InvalidIndex, match="built with the tokenizer llama"):
        open_for(path, tokenizer)


def test_ids_that_the_index_does_not_have_are_refused_by_name(index):
    frame = pd.DataFrame({"generation_id": ["g"], "token_ids": [[1, 9999]]})
    with pytest.raises(InvalidIndex, match="generation g, token 1: id 9999"):
        list(maximal_spans(frame, index))
