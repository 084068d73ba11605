"""The reader in a real browser: what a person sees, points at, slides and jumps to."""

import math
import re

import pytest
from browsing import (
    LEVELS,
    NEEDS_BROWSER,
    SMALL,
    box_of,
    expected_levels,
    jump,
    passages,
    point_at,
    settle,
    shown,
    slide,
    text_of,
)
from census_of import BUDGET, PREFIX, SUFFIX, TAU
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from memfoil.stats.budgets import log10_queries
from memfoil.stats.census import LOG_10, clears

pytestmark = NEEDS_BROWSER


def test_the_whole_text_is_there_coloured_character_by_character(opened, small):
    levels = expected_levels(small[1]["base"], 0, 5)
    assert len(set(levels)) >= 8
    blocks = shown(opened)
    for (start, text, found), following in zip(blocks, [*blocks[1:], [len(SMALL)]], strict=True):
        assert SMALL[start : following[0]].rstrip() == text
        assert found == levels[start : start + len(text)].tolist(), text


def test_nothing_is_asked_of_a_network(opened):
    assert opened.execute_script("return performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize(
    ("delta", "budget"), [(0, 5), (2.5, 5), (0, 0), (6, 9), (11.9, 12), (0, 13)]
)
def test_sliders_move_the_bar_and_the_reach(opened, small, delta, budget):
    slide(opened, "delta", delta)
    slide(opened, "budget", budget)
    levels = expected_levels(small[1]["base"], delta, budget)
    start = 0
    for start, text, found in shown(opened):
        assert found == levels[start : start + len(text)].tolist()
    assert text_of(opened, "memorized") == f"{100 * (levels > 0).mean():.2f}%"
    assert text_of(opened, "reachable") == f"{100 * (levels > LEVELS).mean():.2f}%"
    n = len(passages(levels))
    assert text_of(opened, "where") == f"{n} passage{'' if n == 1 else 's'}"


def test_a_slider_obeys_the_keyboard(opened, small):
    slider = opened.find_element(By.ID, "delta")
    slider.send_keys(*[Keys.ARROW_RIGHT] * 7)
    settle(opened)
    assert text_of(opened, "delta-value") == "0.7"
    share = clears(small[1]["base"], TAU + 0.7).mean()
    assert text_of(opened, "memorized") == f"{100 * share:.2f}%"


def test_each_measurement_is_shown_by_itself(opened, small):
    menu = Select(opened.find_element(By.ID, "view"))
    assert [option.text.partition(";")[0] for option in menu.options] == [
        "verbatim, base",
        "near-verbatim",
        "verbatim, greedy",
    ]
    for number, (procedure, tau) in enumerate(
        [("base", TAU), ("near-verbatim", TAU), ("greedy", -math.inf)]
    ):
        menu.select_by_index(number)
        settle(opened)
        share = clears(small[1][procedure], tau).mean()
        assert text_of(opened, "memorized") == f"{100 * share:.2f}%"
        assert opened.find_element(By.ID, "delta").is_enabled() == (procedure != "greedy")


def test_pointing_at_a_character_tells_its_score(opened, small):
    scores = small[1]["base"]
    in_view = [c for c in range(0, 900, 29) if not SMALL[c].isspace()]
    seen = set()
    for character in in_view:
        if box_of(opened, character)[3] > 700:
            break
        point_at(opened, character)
        tip = text_of(opened, "tip")
        score = scores[character]
        if math.isnan(score):
            assert "in no suffix" in tip
            seen.add("none")
            continue
        log10 = score / LOG_10
        margin = "−∞" if math.isinf(log10) else f"{log10 - TAU:.1f}".replace("-", "−")
        assert f"margin Δ {margin}" in tip.replace("\n", " "), (character, tip)
        assert "threshold τ" in tip
        if clears(score, TAU):
            needed = float(log10_queries(score, BUDGET.success))
            said = "memorized, and within reach" if needed <= 5 else "out of this budget’s reach"
            assert said in tip
            if needed < 6:
                assert f"{round(10**needed):,} quer" in tip
            seen.add(said)
        else:
            assert "not memorized" in tip
            seen.add("not")
    assert len(seen) == 4, seen


def test_the_best_suffix_and_its_prefix_are_marked(opened):
    character = next(c for c in range(PREFIX + SUFFIX, 900) if SMALL[c].isalpha())
    point_at(opened, character)
    marked = opened.execute_script(
        "return ['prefix', 'suffix'].map(name => [...CSS.highlights.get(name)][0].toString())"
    )
    first, end = (
        int(number.replace(",", ""))
        for number in re.search(r"([\d,]+)–([\d,]+)", text_of(opened, "tip")).groups()
    )
    assert first <= character < end == first + SUFFIX

    def flat(text):
        return text.replace("\n", "")

    assert flat(marked[0]) == flat(SMALL[first - PREFIX : first])
    assert flat(marked[1]) == flat(SMALL[first:end])


def test_next_and_previous_passage_by_key_and_button(opened, small):
    slide(opened, "delta", 4)
    found = passages(expected_levels(small[1]["base"], 4, 5))
    assert len(found) > 4
    body = opened.find_element(By.TAG_NAME, "body")
    for number, (start, _) in enumerate(found[:4]):
        body.send_keys("n")
        settle(opened)
        assert text_of(opened, "where") == f"{number + 1} of {len(found)}"
        header = opened.find_element(By.TAG_NAME, "header").rect
        _, top, _, bottom = box_of(opened, start)
        assert header["height"] <= top < bottom <= 900
    opened.find_element(By.ID, "previous").click()
    settle(opened)
    assert text_of(opened, "where") == f"3 of {len(found)}"
    for _ in range(3):
        body.send_keys("p")
    settle(opened)
    assert text_of(opened, "where") == f"{len(found)} of {len(found)}"
    _, top, _, bottom = box_of(opened, found[-1][0])
    assert 0 < top < bottom <= 900


@pytest.mark.parametrize("part", [0.02, 0.5, 0.93])
def test_a_click_on_the_map_jumps(opened, part):
    first, last = jump(opened, part)
    assert first - 250 <= part * len(SMALL) <= last + 250
    assert last - first < len(SMALL) / 2
