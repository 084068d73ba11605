"""MiniPrompt against a world that is known: prompts of at least so many tokens exist."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfoil.prompts.compression import compression_ratio, miniprompt, shared_words


def lengths_tried(needed: int, target_tokens: int, longest: float = 5):
    tried: list[tuple[int, int]] = []

    def attempt(tokens: int, steps: int) -> bool:
        tried.append((tokens, steps))
        return tokens >= needed

    shortest = miniprompt(attempt, target_tokens, steps=200, longest=longest)
    return shortest, tried


@pytest.mark.parametrize(
    ("needed", "tried"),
    [
        (1, [5, 4, 3, 2, 1]),
        (4, [5, 4, 3]),
        (7, [5, 10, 9, 8, 7, 6]),
        (11, [5, 10, 15, 14, 13, 12, 11]),
    ],
)
def test_the_lengths_that_miniprompt_tries(needed, tried):
    shortest, steps = lengths_tried(needed, target_tokens=20)
    assert shortest == needed
    assert [tokens for tokens, _ in steps] == tried


def test_each_failure_gives_the_next_attempts_a_fifth_more_steps():
    _, tried = lengths_tried(12, target_tokens=20)
    assert [steps for _, steps in tried] == [200, 240, 288, 288, 288, 288, 288]


@given(st.integers(1, 200), st.integers(2, 60), st.sampled_from([1.0, 3.0, 5.0]))
def test_the_shortest_prompt_is_found_wherever_the_search_may_look(needed, target, longest):
    shortest, tried = lengths_tried(needed, target, longest)
    limit = longest * target
    assert max(tokens for tokens, _ in tried) < max(limit, 6)
    reachable = max(5, 5 * ((int(limit) - (limit == int(limit))) // 5))
    assert shortest == (needed if needed <= reachable else None)
    assert len(tried) == len({tokens for tokens, _ in tried})


def test_published_ratios():
    assert round(compression_ratio(17, 14), 2) == 1.21
    assert round(compression_ratio(23, 22), 2) == 1.05
    assert compression_ratio(12, None) == 0


def test_words_of_the_target_in_its_prompt_are_named():
    target = "You miss 100% of the shots you don't take."
    assert shared_words("xx Shots!! TAKE of", target) == ["of", "shots", "take"]
    assert shared_words("shotgun mistake", target) == []
