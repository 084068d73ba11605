"""Texts that are no usual book, in a real browser: hostile, without paragraphs, left out."""

import numpy as np
import pytest
from browsing import (
    NEEDS_BROWSER,
    SCORES,
    SMALL,
    STARTS,
    box_of,
    expected_levels,
    passages,
    settle,
    shown,
    text_of,
)
from census_of import BUDGET, PREFIX, SUFFIX, census, random_scores
from selenium.webdriver.common.by import By

from memfoil.report.reader import reader

pytestmark = NEEDS_BROWSER


def test_hostile_text_is_text(browser, tmp_path):
    hostile = (
        "</script><script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"
    )
    text = (hostile + " & <b>bold</b>\n\n") * 4
    starts = range(0, len(text) - 100, 9)
    book, frame, thresholds = census(text, {"base": random_scores(len(starts), 5)}, starts)
    book = book._replace(document_id=hostile)
    path = tmp_path / "reader.html"
    path.write_text(reader(book, frame, thresholds, BUDGET, show_text=True))
    browser.get(path.as_uri())
    settle(browser)
    assert browser.title.startswith(hostile)
    assert shown(browser)[0][1] == text.split("\n\n")[0]
    assert browser.execute_script("return main.querySelectorAll('img, script, b').length") == 0
    assert text_of(browser, "name").startswith(hostile)
    assert browser.get_log("browser") == []


@pytest.mark.parametrize(
    "text",
    [
        "\n\n \n\n" + "    An indented line,\n    and another.\n \n\t\n" * 9 + "\n" * 200,
        "漢字🙂" * 2500,
        "no_space" * 900,
        "One line\nafter another\n" * 400,
    ],
    ids=["blank lines", "no space, wide", "no space", "one long paragraph"],
)
def test_texts_without_the_usual_paragraphs(browser, tmp_path, text):
    scores = np.full(3, -1.0)
    starts = [0, len(text) // 2, len(text) - PREFIX - SUFFIX]
    page = reader(*census(text, {"base": scores}, starts), BUDGET, show_text=True)
    path = tmp_path / "reader.html"
    path.write_text(page)
    browser.get(path.as_uri())
    found = shown(browser)
    for (start, block, levels), following in zip(found, [*found[1:], [len(text)]], strict=True):
        assert text[start : following[0]].rstrip("\n\t ") == block
        inside = [
            any(0 <= start + i - s - PREFIX < SUFFIX for s in starts) for i in range(len(block))
        ]
        assert [level > 0 for level in levels] == inside
    body = browser.find_element(By.TAG_NAME, "body")
    for number in range(3):
        body.send_keys("n")
        settle(browser)
        assert text_of(browser, "where") == f"{number + 1} of 3"
        assert 0 < box_of(browser, starts[number] + PREFIX)[1] < 900
    assert browser.get_log("browser") == []


def test_without_its_text_the_positions_stay(browser, small, tmp_path):
    book, frame, thresholds = census(SMALL, SCORES, STARTS)
    path = tmp_path / "reader.html"
    path.write_text(reader(book, frame, thresholds, BUDGET, show_text=False))
    browser.get(path.as_uri())
    levels = expected_levels(small[1]["base"], 0, 5)
    found = shown(browser)
    assert {character for _, text, _ in found for character in text} == {"·"}
    assert [level for _, _, block in found for level in block] == levels.tolist()
    assert "left out" in browser.find_element(By.CLASS_NAME, "notice").text
    browser.find_element(By.TAG_NAME, "body").send_keys("n")
    settle(browser)
    _, top, _, bottom = box_of(browser, passages(levels)[0][0])
    assert 0 < top < bottom <= 900
    assert browser.get_log("browser") == []
