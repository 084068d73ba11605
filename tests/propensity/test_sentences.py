"""Where prompts come from: sentences, exports, passages, common words."""

import bz2

import pytest

from memfoil.errors import InvalidConfiguration, InvalidDocuments
from memfoil.propensity.sentences import (
    common_share,
    common_words,
    everyday,
    tatoeba,
    whole_sentences,
)

EXPORT = (
    "1276\teng\tLet's try something.\n"
    "77\tdan\tDet regner i dag.\n"
    "1277\teng\tI have to go to sleep.\tCK\t2008-01-01\t2010-02-02\n"
)


def test_the_everyday_sentences_are_hundreds_and_each_is_one_sentence():
    frame = everyday()
    assert len(frame) >= 400
    assert frame["text"].is_unique
    assert frame["sentence_id"].is_unique
    words = common_words("en")
    for text in frame["text"]:
        assert text[0].isupper(), text
        assert text[-1] in ".?!", text
        assert len(whole_sentences(f"Before. {text}")) == 1, text
        assert 4 <= len(text.split()) <= 15, text
    assert frame["text"].map(lambda text: common_share(text, words)).mean() > 0.35


@pytest.mark.parametrize("packed", [False, True])
def test_an_export_of_tatoeba_is_read(tmp_path, packed):
    path = tmp_path / ("sentences.csv" + ".bz2" * packed)
    path.write_bytes(bz2.compress(EXPORT.encode()) if packed else EXPORT.encode())
    english = tatoeba(path, "en")
    assert english["sentence_id"].tolist() == ["tatoeba 1276", "tatoeba 1277"]
    assert english["text"].tolist() == ["Let's try something.", "I have to go to sleep."]
    assert tatoeba(path, "da")["text"].tolist() == ["Det regner i dag."]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"1,eng,No tabs here\n", "line 1.*between tabs"),
        (b"id\tlang\ttext\n", "line 1"),
        (b"1\teng\tFine.\n2\teng\n", "line 2"),
        (EXPORT.encode().replace(b"eng", b"fra"), "no sentence in en"),
        (b"", "no sentence"),
        (b"1\teng\tcaf\xe9\n", "not UTF-8"),
    ],
)
def test_a_file_that_is_no_export_is_one_line(tmp_path, content, said):
    path = tmp_path / "sentences.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidDocuments, match=said) as caught:
        tatoeba(path, "en")
    assert str(path) in str(caught.value)


def test_a_missing_or_damaged_export_is_one_line(tmp_path):
    with pytest.raises(InvalidDocuments, match="No such file"):
        tatoeba(tmp_path / "none.tsv", "en")
    (tmp_path / "x.tsv.bz2").write_bytes(b"not bzip2")
    with pytest.raises(InvalidDocuments, match="cannot be read"):
        tatoeba(tmp_path / "x.tsv.bz2", "en")


def test_only_whole_sentences_of_a_passage_are_taken():
    text = (
        "tail of a sentence. First whole one! Is this another? He said “yes.” Then 3.5 miles "
        "more.\nA line of its own.\nsmall letter. And this has no end"
    )
    assert whole_sentences(text) == [
        "First whole one!",
        "Is this another?",
        "He said “yes.”",
        "Then 3.5 miles more.",
        "A line of its own.",
    ]


def test_an_abbreviation_ends_no_sentence():
    text = "Before. Mr. Speaker, we meet again. Said the U.S. Senate to them. Done."
    assert "Mr." not in whole_sentences(text)
    assert not any(s.endswith("U.S.") for s in whole_sentences(text))
    assert whole_sentences("") == whole_sentences("One only.") == []


def test_common_words_are_frequent_and_of_the_language():
    english = common_words("en")
    assert len(english) == 100
    assert list(english)[:2] == ["the", "to"]
    assert english["the"] > 0.03
    assert list(english.values()) == sorted(english.values(), reverse=True)
    assert "det" in common_words("da")


def test_the_share_of_common_words_tells_languages_apart():
    words = common_words("en")
    assert common_share("It's what I have been waiting for.", words) > 0.4
    assert common_share("Det regner stadig udenfor vinduet.", words) < 0.2
    assert common_share("42 !!", words) == 0


@pytest.mark.parametrize("language", ["xx", "not a tag", ""])
def test_an_unknown_language_is_one_line(language):
    with pytest.raises(InvalidConfiguration, match="not a language of wordfreq"):
        common_words(language)
