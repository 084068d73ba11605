"""Documents cut into passages: exact stretches, nothing lost unsaid."""

import subprocess
import sys

import pytest
from dated_passages import documents
from hypothesis import given, settings
from hypothesis import strategies as st

from memfoil.errors import InvalidConfiguration, InvalidDocuments
from memfoil.sampling.passages import REMAINDER, SHORT_DOCUMENT, cut

words = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=5)
spaces = st.sampled_from([" ", "\n\n", "\t", " \u3000 ", "\r\n", "\u00a0"])


@settings(max_examples=40)
@given(st.lists(st.tuples(words, spaces), max_size=40), st.integers(1, 6))
def test_passages_are_exact_stretches_that_follow_each_other(pieces, n):
    text = "".join(word + space for word, space in pieces)
    filler = " ".join("w" * 1 for _ in range(n))
    frame, left_out = cut(documents([text, filler]), n)
    mine = frame[frame["document_id"] == "d0"]
    for passage in mine.itertuples():
        assert passage.text == text[passage.start_char : passage.end_char]
        assert len(passage.text.split()) == n
        assert passage.text.strip() == passage.text
        assert passage.passage_id == f"d0:{passage.start_char}-{passage.end_char}"
    cut_words = [word for passage in mine["text"] for word in passage.split()]
    assert cut_words == text.split()[: len(text.split()) // n * n]
    # every word is in a passage or in what was left out
    rest = len(text.split()) % n
    listed = left_out[left_out["item_id"].str.startswith("d0")]
    if rest or not len(mine):
        assert listed["detail"].tolist() == [f"{rest} of {n} words"]
        assert listed["reason"].iloc[0] == (REMAINDER if len(mine) else SHORT_DOCUMENT)
    else:
        assert listed.empty


def test_documents_all_too_short_are_refused_with_the_longest_length():
    with pytest.raises(InvalidDocuments, match=r"no document has the 9 words .* longest has 3"):
        cut(documents(["a b c", "a"]), 9)


def test_words_of_a_passage_must_be_positive():
    with pytest.raises(InvalidConfiguration, match="words is 0"):
        cut(documents(["a b c"]), 0)


@pytest.mark.slow
def test_a_long_document_is_not_copied_for_each_of_its_passages():
    code = (
        "import resource, pandas as pd\n"
        "from memfoil.sampling.passages import cut\n"
        "d = pd.DataFrame({'document_id': ['d'], 'text': ['word ' * 200_000],\n"
        "    'date': pd.to_datetime(['2000-01-01']), 'source': ['s']})\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "print(len(cut(d, 10)[0]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "20000\n", done.stderr
