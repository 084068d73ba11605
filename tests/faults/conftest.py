"""The fault table: every fault that a test tries is counted, and the table printed at the end."""

from collections import Counter
from contextlib import contextmanager

import pytest

TRIED, SURVIVED = Counter(), Counter()


@pytest.fixture
def tried():
    """`with tried(fault):` a fault that is lost unless the block ends."""

    @contextmanager
    def attempt(fault, times=1):
        TRIED[fault] += times
        yield
        SURVIVED[fault] += times

    return attempt


def pytest_terminal_summary(terminalreporter):
    if not TRIED:
        return
    lines = ["", "| fault | tried | survived | lost |", "|---|---|---|---|"]
    lines += [
        f"| {fault} | {times} | {SURVIVED[fault]} | {times - SURVIVED[fault]} |"
        for fault, times in TRIED.items()
    ]
    total, well = TRIED.total(), SURVIVED.total()
    lines.append(f"| **all** | {total} | {well} | {total - well} |")
    terminalreporter.write_line("\n".join(lines))
