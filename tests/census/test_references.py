"""Folders of texts become something that controls can be looked up in."""

import pytest
from small_models import small_tokenizer

from memfoil.census.references import corpus
from memfoil.encoding import encode
from memfoil.errors import InvalidDocuments
from memfoil.tables import CORPUS, Provenance

TOKENIZER = small_tokenizer()


def test_every_text_of_a_folder_and_the_folders_in_it_is_a_document(tmp_path):
    (tmp_path / "poems").mkdir()
    (tmp_path / "poems" / "a.txt").write_text("the cat sat\n")
    (tmp_path / "b.md").write_text("# the *dog*\n")
    (tmp_path / "picture.png").write_bytes(b"\xff\xd8")
    frame = corpus(tmp_path, TOKENIZER)
    assert frame["document_id"].tolist() == ["b.md", "poems/a.txt"]
    expected = [one.token_ids for one in encode(TOKENIZER, ["the dog\n", "the cat sat\n"])]
    assert [ids.tolist() for ids in frame["token_ids"]] == expected
    CORPUS.write(frame, tmp_path / "corpus.parquet", Provenance("test"))


def test_a_folder_without_a_text_or_with_a_broken_one_is_refused(tmp_path):
    with pytest.raises(InvalidDocuments, match=r"no text \(\.txt, \.md\) in this folder"):
        corpus(tmp_path, TOKENIZER)
    (tmp_path / "a.txt").write_bytes("café".encode("latin-1"))
    with pytest.raises(InvalidDocuments, match=r"a\.txt: byte 3 \(0xe9\) is not UTF-8"):
        corpus(tmp_path, TOKENIZER)
