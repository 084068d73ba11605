"""A long book in a real browser: it opens, scrolls and answers at once."""

import time

import numpy as np
import pandas as pd
from browsing import NEEDS_BROWSER, SMALL, jump, point_at, settle, text_of
from census_of import BUDGET, TAU, census

from memfoil.census.coverage import heat, runs
from memfoil.report.reader import Book, reader
from memfoil.stats.census import LOG_10

pytestmark = NEEDS_BROWSER
GENEROUS = 15  # seconds: three are wanted, but a busy machine must not fail


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
