"""The text of tokens; where words and sentences end."""

import numpy as np
import pytest

from memfoil.tracing import words


def test_pieces_put_together_are_the_text(any_reader):
    text = "The clocks were striking. Winston said: a bright cold day"
    ids = np.array(any_reader.tokenizer.encode(text, add_special_tokens=False))
    joined = "".join(any_reader.pieces[id_] for id_ in ids)
    assert joined.lstrip() == text
    assert any_reader.texts([ids, ids[3:]]) == [
        joined,
        "".join(any_reader.pieces[i] for i in ids[3:]),
    ]


def test_a_text_keeps_the_space_in_front(any_reader):
    ids = np.array(any_reader.tokenizer.encode("cold day", add_special_tokens=False))
    texts = any_reader.texts([ids[-1:], ids[:0]])
    assert texts[0].endswith("day") or texts[0].endswith("y")
    assert texts[1] == ""


def marked(rule, *texts):
    """The texts with a bar at every flagged place."""
    flags = rule(texts)
    assert len(flags) == len(texts) + 1
    bars = ["|" if flag else "" for flag in flags]
    return "".join(bar + text for bar, text in zip(bars, [*texts, ""], strict=True))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((" str", "iking", " thir", "teen", "."), "| striking| thirteen|.|"),
        (("don", "'", "t"), "|don|'|t|"),
        (("snake", "_", "case"), "|snake_case|"),
        ((" caf", "\ufffd", "\ufffd", " au"), "| caf\ufffd\ufffd| au|"),
        (("\n", "\n", "x"), "|\n|\n|x|"),
        (("x",), "|x|"),
        ((), "|"),
    ],
)
def test_words(texts, expected):
    assert marked(words.word_bounds, *texts) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("It rains", ".", " Stay", " in", "!"), "|It rains.| Stay in!|"),
        (("pi is 3", ".", "14", "."), "|pi is 3.14.|"),
        ((" he said", ".", "”", " Then", " he"), "| he said.”| Then he|"),
        (("one\n", "two", "\n", "three"), "|one\n|two\n|three|"),
        (("一", "。", "二"), "|一。|二|"),
        (("end. Be", "gin", " x"), "|end. Be|gin x|"),
        ((" Mr", ".", " Smith"), "| Mr.| Smith|"),
        ((), "|"),
    ],
)
def test_sentences(texts, expected):
    assert marked(words.sentence_ends, *texts) == expected


def test_word_starts_are_tokens_with_white_space():
    texts = ("It", " rains", ",", "\n", "and", " po", "urs")
    assert marked(words.word_starts, *texts) == "|It| rains,|\nand| pours|"


def test_delimiters_are_tokens():
    texts = ("pi is 3", ".", "14", " end", ".\n", " x!", "a.b")
    assert marked(words.delimiters, *texts) == "|pi is 3.|14 end.\n| x!a.b|"


def test_places_of_sequences_end_to_end():
    pieces = ["ab", "cd", " ef"]
    ids, bounds = np.array([0, 1, 1, 2]), np.array([0, 2, 2, 4])
    flags = words.places(words.word_bounds, pieces, ids, bounds)
    assert flags.tolist() == [True, False, True, True, True]
