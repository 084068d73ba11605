"""Windows and their characters, against the bytes of their tokens."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import small_tokenizer

from memfoil.census.windows import windows
from memfoil.errors import InvalidDocuments
from memfoil.tables import CENSUS_WINDOWS, LEFT_OUT, Provenance

TOKENIZER = small_tokenizer()
PIECES = st.sampled_from(
    ["the ", " cat", "\n\n", "   ", "漢字", "🙂", "e\u0301", "x", ".\n", "<s>", "blåbærgrød"]
)
TEXTS = st.lists(PIECES, min_size=1, max_size=60).map("".join)
STRIDES = st.one_of(
    st.integers(1, 9).map(lambda n: {"unit": "tokens", "step": n}),
    st.tuples(st.integers(1, 9), st.integers(20, 60)).map(
        lambda pair: {"unit": "characters", "step": pair[0], "slice": pair[1]}
    ),
)


def cut(text, stride, prefix=4, suffix=3):
    return windows("d", text, TOKENIZER, prefix_tokens=prefix, suffix_tokens=suffix, stride=stride)


def token_bytes(ids) -> bytes:
    pieces = TOKENIZER.convert_ids_to_tokens([int(i) for i in ids])
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    table = {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(others)}
    return bytes(table[c] for piece in pieces for c in piece)


@settings(max_examples=60, deadline=None)
@given(TEXTS, STRIDES)
def test_the_characters_of_a_window_are_those_its_tokens_have_a_byte_of(text, stride):
    """Byte by byte: white space merged into tokens, characters split over tokens."""
    try:
        frame, _ = cut(text, stride)
    except InvalidDocuments:
        return
    owner = np.repeat(np.arange(len(text)), [len(c.encode()) for c in text])
    raw = text.encode()
    for row in frame.itertuples():
        prefix, suffix = _split(row)
        first = np.searchsorted(owner, row.start_char)
        # a window may begin inside its first character: at one of its bytes
        begins = [b for b in range(first, first + 4) if raw[b:].startswith(prefix + suffix)]
        assert begins
        spans = {
            (owner[b], owner[b + len(prefix)], owner[b + len(prefix + suffix) - 1] + 1)
            for b in begins
        }
        assert (row.start_char, row.suffix_start_char, row.end_char) in spans


def _split(row):
    return token_bytes(row.token_ids[:4]), token_bytes(row.token_ids[4:])


@settings(max_examples=50, deadline=None)
@given(TEXTS, st.integers(1, 12))
def test_no_token_of_a_text_is_lost_between_the_windows_and_what_was_left_out(text, stride):
    try:
        frame, left_out = cut(text, {"unit": "tokens", "step": stride})
    except InvalidDocuments:
        return
    assert frame["window"].tolist() == list(range(len(frame)))
    assert len(left_out) <= 1
    end = frame["end_char"].iloc[-1]
    if left_out.empty:
        assert end == len(text) or stride > 7
    else:
        place, reason, detail = left_out.iloc[0]
        start, stop = map(int, place.removeprefix("d:").split("-"))
        assert end < stop == len(text)
        assert start <= end or stride > 7
        assert reason == "shorter than prefix and suffix"
        assert int(detail.split()[0]) < 7


def test_repeated_windows_are_kept_and_counted():
    frame, _ = cut("the cat sat on the mat. " * 6, {"unit": "tokens", "step": 1})
    content = [tuple(ids) for ids in frame["token_ids"]]
    assert frame["occurrences"].tolist() == [content.count(one) for one in content]
    assert frame["occurrences"].max() > 1


def test_character_windows_start_in_the_middle_of_words_as_the_slice_is_tokenized_alone():
    text = "the cat sat on the mat. the dog's bone was gone. " * 3
    frame, left_out = cut(text, {"unit": "characters", "step": 10, "slice": 40})
    starts = frame["start_char"].tolist()
    assert starts == list(range(0, 10 * len(starts), 10))
    for row in frame.itertuples():
        alone = TOKENIZER(text[row.start_char : row.start_char + 40], add_special_tokens=False)
        assert row.token_ids.tolist() == alone["input_ids"][:7]
    assert len(left_out) == 1


def test_a_slice_with_too_few_tokens_is_left_out_and_the_text_goes_on():
    text = "the cat sat on the mat" + " the" * 40
    frame, left_out = cut(text, {"unit": "characters", "step": 5, "slice": 22}, prefix=4, suffix=3)
    assert len(left_out) > 1
    assert left_out["item_id"].is_unique
    assert not frame.empty


@pytest.mark.parametrize(
    "stride", [{"unit": "tokens", "step": 5}, {"unit": "characters", "step": 10, "slice": 800}]
)
def test_a_document_shorter_than_a_window_is_refused(stride):
    with pytest.raises(InvalidDocuments, match="d: no window has the 50 tokens of a prefix"):
        cut("the cat sat on the mat.", stride, prefix=50, suffix=50)


def test_windows_fit_their_table(tmp_path):
    frame, left_out = cut("the cat sat on the mat. " * 6, {"unit": "tokens", "step": 2})
    CENSUS_WINDOWS.write(frame, tmp_path / "w.parquet", Provenance("test"))
    LEFT_OUT.write(left_out, tmp_path / "l.parquet", Provenance("test"))
    again = CENSUS_WINDOWS.read(tmp_path / "w.parquet")
    assert again["token_ids"].map(list).tolist() == frame["token_ids"].map(list).tolist()
