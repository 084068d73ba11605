"""One browser for all tests of the reader, and the page of a small book."""

import numpy as np
import pytest
from browsing import CHROMIUM, DRIVER, SCORES, SMALL, STARTS
from census_of import BUDGET, census
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from memfoil.report.reader import reader


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
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
