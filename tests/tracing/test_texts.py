"""What is a loop, a degenerate output, code."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfoil.tracing import texts

PROSE = (
    "The committee met in the spring of that year, and it was agreed by all who were present that "
    "nothing further could be done; the letters were returned to their owners the next morning."
)


def loop_by_definition(text):
    text = " ".join(text.split())
    n = len(text)
    return any(
        n >= 3 * p and sum(text[i] == text[i + p] for i in range(n - p)) >= 0.9 * (n - p) - 1e-9
        for p in range(1, 201)
    )


@given(st.text("ab \n", max_size=60))
def test_loops_are_those_of_the_definition(text):
    assert texts.is_loop(text) == loop_by_definition(text)


@pytest.mark.parametrize(
    ("text", "loop"),
    [
        ("I'm sorry. " * 5, True),
        ("I'm sorry.\n\n" * 5, True),
        ("I'm sorry. " * 2, False),
        ("abcdefghij" * 2 + "abcdefghi", False),
        ("abcdefghij" * 3, True),
        (PROSE, False),
        ("x" * 199 + "y" + ("x" * 199 + "y") * 2, True),
        ("", False),
        ("ab", False),
    ],
)
def test_loops(text, loop):
    assert texts.is_loop(text) is loop


def test_a_unit_of_201_characters_is_too_long():
    unit = "".join(chr(0x4E00 + i) for i in range(201))
    assert texts.is_loop(unit[:200] * 3)
    assert not texts.is_loop(unit * 3)


def test_a_tenth_of_the_characters_may_differ():
    text = list("abcdefghij" * 11)
    text[50] = text[70] = "?"
    assert texts.is_loop("".join(text))
    for at in range(0, 110, 10):
        text[at] = chr(ord("A") + at // 10)
    text[33] = "?"
    assert not texts.is_loop("".join(text))


def test_ratio_is_of_bytes():
    assert texts.zlib_ratio("é" * 100) == len(zlib.compress(b"\xc3\xa9" * 100)) / 200
    assert texts.zlib_ratio("") == 1.0


@pytest.mark.parametrize(
    ("text", "degenerate"),
    [
        ("|\n" * 300, True),
        ("| --- " * 200, True),
        ("I'm sorry. " * 100, False),
        ("|" * 8, False),
        (PROSE, False),
        ("", False),
        (" \n" * 400, False),
    ],
)
def test_degenerate(text, degenerate):
    assert texts.is_degenerate(text) is degenerate


CODE = """import os
from pathlib import Path

def read(path):
    if not path:
        return None
    return open(path).read()
"""
JAVASCRIPT = """const a = require("fs");
function run(x) {
  return x + 1;
}
"""
VERSE = """Let us go then, you and I,
When the evening is spread out against the sky;
Let us go, through certain half-deserted streets,
The muttering retreats
Of restless nights in one-night cheap hotels
"""


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (CODE, True),
        (JAVASCRIPT, True),
        ("<div>\n<p>Hello</p>\n</div>\n<br/>", True),
        ("1 2 3 4 5 6 7 8 9 10 11 12", True),
        (PROSE, False),
        ("\n".join([PROSE] * 5), False),
        (VERSE, False),
        ("For the boy, it was clear:\nthe return was late.\nIf only he had known.", False),
        ("He said: 'import duties rose.'\nFrom Paris to Rome.\nUsing care.\nWhile at sea.", False),
        ("", False),
        ("\n\n", False),
    ],
)
def test_code(text, code):
    assert texts.is_code_like(text) is code


def test_three_code_lines_in_ten_are_enough():
    prose = ["The evening was long and nobody spoke of it again"] * 7
    assert texts.is_code_like("\n".join([*prose, "x = f(1);", "y = g(2);", "}"]))
    assert not texts.is_code_like("\n".join([*prose, prose[0], "x = f(1);", "y = g(2);", "}"]))


def test_normal_form():
    assert texts.normalized("ﬁrst\u00a0 line\r\n second\tline ") == "first line second line"
