import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import TEXT, small_tokenizer

from memfoil.encoding import encode
from memfoil.sampling.sequences import sequences

TOKENIZER = small_tokenizer("<s> $A")
texts = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(
            ["the ", " cat", "\n\n", "  ", "漢字", "🙂", "e\u0301", "<s>", "</s>", ".\n"]
        ),
    ),
    max_size=12,
).map("".join)


@settings(deadline=None)
@given(texts)
def test_tokens_cover_the_text_without_a_gap_and_decode_to_it(text):
    (encoded,) = encode(TOKENIZER, [text])
    assert TOKENIZER.decode(encoded.token_ids, clean_up_tokenization_spaces=False) == text
    assert encoded.ends == sorted(encoded.ends)
    assert encoded.ends[-1:] == [len(text)][: len(encoded.ends)]


@settings(deadline=None)
@given(texts)
def test_the_first_tokens_are_the_text_up_to_their_end(text):
    """Byte for byte, save a character that the cut goes through, which the text has whole."""
    (encoded,) = encode(TOKENIZER, [text])
    pieces = TOKENIZER.convert_ids_to_tokens(encoded.token_ids)
    alphabet = {c: b for b, c in _byte_characters().items()}
    for n, end in enumerate(encoded.ends, start=1):
        covered = bytes(alphabet[c] for piece in pieces[:n] for c in piece)
        whole = text[:end].encode()
        assert whole.startswith(covered)
        assert len(covered) > len(text[: end - 1].encode())


@settings(deadline=None)
@given(texts)
def test_a_token_starts_at_the_character_that_holds_its_first_byte(text):
    (encoded,) = encode(TOKENIZER, [text])
    pieces = TOKENIZER.convert_ids_to_tokens(encoded.token_ids)
    before = 0
    for piece, start in zip(pieces, encoded.starts, strict=True):
        assert len(text[:start].encode()) <= before < len(text[: start + 1].encode())
        before += len(piece)


def _byte_characters():
    """GPT-2's printable stand-ins for the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(others)}


@settings(deadline=None)
@given(texts)
def test_special_tokens_are_never_made_of_text(text):
    (encoded,) = encode(TOKENIZER, [text])
    assert not {0, 1} & set(encoded.token_ids)


def test_white_space_is_not_trimmed_off_as_the_tokenizer_itself_does():
    text = "the cat  "
    trimmed = TOKENIZER(text, return_offsets_mapping=True, add_special_tokens=False)
    (encoded,) = encode(TOKENIZER, [text])
    starts = [0, *encoded.ends[:-1]]
    spans = list(zip(starts, encoded.ends, strict=True))
    assert encoded.token_ids == trimmed["input_ids"]
    assert "".join(text[a:b] for a, b in spans) == text
    assert "".join(text[a:b] for a, b in trimmed["offset_mapping"]) != text


def test_truncation_left_in_a_tokenizer_shortens_nothing():
    tokenizer = small_tokenizer("<s> $A")
    tokenizer.backend_tokenizer.enable_truncation(3)
    tokenizer.backend_tokenizer.enable_padding(length=50)
    (encoded,) = encode(tokenizer, TEXT[:1])
    assert encoded == encode(TOKENIZER, TEXT[:1])[0]
    assert len(encoded.token_ids) > 3


@pytest.mark.parametrize("prefix", [1, 5, 11])
def test_sequences_hold_the_exact_characters_of_multi_byte_text(prefix):
    text = "漢字漢字 blåbærgrød 🙂🙂 the cat sat on the mat"
    passages = pd.DataFrame(
        {"passage_id": ["p"], "document_id": "d", "date": pd.Timestamp("2000-01-01"),
         "source": "s", "text": [text], "start_char": 0, "end_char": len(text)}
    )  # fmt: skip
    draws = pd.DataFrame({"passage_id": ["p"], "pool": "c", "role": "control", "draw": 1})
    rows, _ = sequences(draws, passages, TOKENIZER, prefix_tokens=prefix, suffix_tokens=9)
    row = rows.iloc[0]
    assert text.startswith(row["text"])
    assert len(row["token_ids"]) == prefix + 9
    decoded = TOKENIZER.decode(row["token_ids"], clean_up_tokenization_spaces=False)
    assert row["text"].startswith(decoded.rstrip("\ufffd"))
    assert len(row["text"]) - len(decoded.rstrip("\ufffd")) <= 1
