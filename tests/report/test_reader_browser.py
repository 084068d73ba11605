"""The reader in a real browser: what a person sees, points at, slides and jumps to."""

import math
import re
import shutil
import time

import numpy as np
import pandas as pd
import pytest
from census_of import BUDGET, PREFIX, SUFFIX, TAU, census, random_scores
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from memfoil.census.coverage import heat, runs
from memfoil.report.reader import Book, reader
from memfoil.stats.budgets import log10_queries
from memfoil.stats.census import LOG_10, clears

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER),
        reason="no browser: install Debian's chromium and chromium-driver to test the reader",
    ),
]
LEVELS = 7
GENEROUS = 15  # seconds: three are wanted, but a busy machine must not fail
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


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "window-size=1280,900"):
        options.add_argument(f"--{argument}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A page of a small book, and for every procedure the naive score of each character."""
    book, frame, thresholds = census(SMALL, SCORES, STARTS)
    path = tmp_path_factory.mktemp("small") / "reader.html"
    path.write_text(reader(book, frame, thresholds, BUDGET, show_text=True))
    scores = {}
    for procedure, rows in frame.groupby("procedure"):
        scores[procedure] = np.repeat(rows["log_score"], rows["end_char"] - rows["start_char"])
    return path, {name: column.to_numpy() for name, column in scores.items()}


@pytest.fixture
def opened(browser, small):
    browser.get(small[0].as_uri())
    yield browser
    assert browser.get_log("browser") == []


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


def long_book(words):
    """A book of so many words whose best window changes at almost every token."""
    rng = np.random.default_rng(3)
    vocabulary = ["".join(rng.choice(list("etaoinshrdlu"), rng.integers(2, 9))) for _ in range(999)]
    drawn = rng.choice(vocabulary, words)
    text = "".join(
        word + ("\n\n" if i % 83 == 82 else " ") for i, word in enumerate(drawn.tolist())
    )
    starts = np.arange(0, len(text) - 520, 4)
    suffix, end = starts + 250, starts + 250 + rng.integers(200, 260, len(starts))
    scores = LOG_10 * (-14 + 9 * np.sin(starts / 900) + rng.normal(0, 0.05, len(starts))).clip(
        -40, -0.1
    )
    best = heat(suffix, end, scores, len(text))
    edges = runs(best.row)
    ids = np.array([f"long:{i}" for i in range(len(starts))])
    windows = pd.DataFrame(
        {
            "window_id": ids,
            "start_char": starts,
            "suffix_start_char": suffix,
            "end_char": end,
        }
    )
    covered = best.row[edges[:-1]] >= 0
    frame = pd.DataFrame(
        {
            "start_char": edges[:-1],
            "end_char": edges[1:],
            "window_id": pd.Series(ids[best.row[edges[:-1]]]).where(covered),
            "log_score": best.log_score[edges[:-1]],
        }
    ).assign(pair="pair", model="tiny", prefix_tokens=50)
    frame = pd.concat([frame.assign(procedure=name) for name in ("base", "top-40")])
    _, _, thresholds = census(SMALL[:200], {"base": [-1.0], "top-40": [-1.0]}, [0])
    return Book("pair", "tiny", "long", text, windows), frame, thresholds


def test_a_book_of_200_000_words_opens_scrolls_jumps_and_tells_its_scores(
    browser, tmp_path, record_property, capsys
):
    book, frame, thresholds = long_book(200_000)
    path = tmp_path / "reader.html"
    path.write_text(reader(book, frame, thresholds, BUDGET, show_text=True))
    start = time.perf_counter()
    browser.get(path.as_uri())
    settle(browser, 2)
    opening = time.perf_counter() - start
    elements = browser.execute_script("return document.getElementsByTagName('*').length")
    sliding = browser.execute_async_script(
        "const done = arguments[0], start = performance.now(); state.delta = 3; refresh();"
        "requestAnimationFrame(() => done(performance.now() - start));"
    )
    gaps = browser.execute_async_script(
        """
        const done = arguments[0], gaps = [];
        let last = performance.now(), left = 120;
        const frame = now => {
          gaps.push(now - last);
          last = now;
          scrollBy({ top: 400, behavior: "instant" });
          if (left-- > 0) requestAnimationFrame(frame);
          else done(gaps.slice(1));
        };
        requestAnimationFrame(frame);"""
    )
    figures = {
        "megabytes": path.stat().st_size / 1e6,
        "runs": len(frame) // 2,
        "seconds to open": opening,
        "elements": elements,
        "ms to move a slider": sliding,
        "ms of a frame while scrolling, median": float(np.median(gaps)),
        "95%": float(np.quantile(gaps, 0.95)),
    }
    with capsys.disabled():
        print("\n" + "; ".join(f"{name} {value:.4g}" for name, value in figures.items()))
    assert opening < GENEROUS
    assert elements < 60_000
    assert np.median(gaps) < 500
    assert browser.execute_script("return scrollY") > 30_000
    first, last = jump(browser, 0.7)
    assert first - 2500 <= 0.7 * len(book.text) <= last + 2500
    character = next(c for c in range((first + last) // 2, last) if book.text[c].isalpha())
    point_at(browser, character)
    over = (frame["start_char"] <= character) & (character < frame["end_char"])
    delta = frame.loc[over, "log_score"].iloc[0] / LOG_10 - TAU
    assert f"margin Δ {delta:.1f}".replace("-", "−") in text_of(browser, "tip").replace("\n", " ")
    assert browser.get_log("browser") == []
