"""A page of the reader, opened, looked at and moved about in a real browser."""

import shutil

import numpy as np
import pytest
from census_of import BUDGET, TAU, random_scores
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from memfoil.stats.budgets import log10_queries
from memfoil.stats.census import LOG_10, clears

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NEEDS_BROWSER = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER),
        reason="no browser: install Debian's chromium and chromium-driver to test the reader",
    ),
]
LEVELS = 7
PARAGRAPH = (
    "The reader of a book sees what a model knows of it, {} characters in 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 🙂 too.\n\n"
)
SMALL = "".join(PARAGRAPH.format(i) for i in range(60))
STARTS = range(0, len(SMALL) - 600, 13)
SCORES = {
    "base": random_scores(len(STARTS), 11),
    "near-verbatim": random_scores(len(STARTS), 12),
    "greedy": np.where(np.arange(len(STARTS)) % 9 == 4, 0.0, -np.inf),
}


def shown(browser):
    """Text of every block, and for each of its characters the class of colour."""
    return browser.execute_script(
        """
        return blocks.map(block => {
          paint(block);
          const levels = [];
          const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            const span = walker.currentNode.parentElement;
            for (const _ of walker.currentNode.data) levels.push(Number(span.dataset.level ?? 0));
          }
          return [block.start, block.textContent, levels];
        });"""
    )


def expected_levels(log_scores, delta, log10_budget, tau=TAU):
    """Not memorized, or by score; those within reach after all others."""
    bar = tau + delta
    memorized = clears(log_scores, bar)
    place = np.floor(LEVELS * (log_scores / LOG_10 - TAU) / -TAU)
    levels = 1 + np.clip(np.nan_to_num(place, neginf=0), 0, LEVELS - 1)
    known = np.nan_to_num(log_scores, nan=-np.inf)
    reached = log10_queries(known, BUDGET.success) <= log10_budget + 1e-12
    return np.where(memorized, levels + LEVELS * reached, 0).astype(int)


def slide(browser, name, value):
    browser.execute_script(
        "const slider = document.getElementById(arguments[0]); slider.value = arguments[1];"
        "slider.dispatchEvent(new Event('input'));",
        name,
        value,
    )
    settle(browser)


def settle(browser, frames=12):
    browser.execute_async_script(
        "const done = arguments[1]; let left = arguments[0];"
        "const wait = () => left-- > 0 ? requestAnimationFrame(wait) : done(); wait();",
        frames,
    )


def text_of(browser, name):
    return browser.find_element(By.ID, name).text


def box_of(browser, character):
    """Where a character is in the window: left, top, right, bottom."""
    return browser.execute_script(
        "const box = rangeOf(arguments[0], arguments[0] + 1).getBoundingClientRect();"
        "return [box.left, box.top, box.right, box.bottom];",
        character,
    )


def point_at(browser, character):
    left, top, right, bottom = box_of(browser, character)
    actions = ActionChains(browser)
    actions.w3c_actions.pointer_action.move_to_location(
        round((left + right) / 2), round((top + bottom) / 2)
    )
    actions.perform()
    settle(browser, 4)


def jump(browser, part):
    """Click on the map; the first and the last character then in view."""
    strip = browser.find_element(By.ID, "map")
    offset = round((part - 0.5) * strip.rect["height"])
    ActionChains(browser).move_to_element_with_offset(strip, 0, offset).click().perform()
    settle(browser)
    return browser.execute_script("return [topCharacter(), characterAt(innerHeight)]")


def passages(levels):
    edges = np.flatnonzero(np.diff(np.concatenate([[0], levels > 0, [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
