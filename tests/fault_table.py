"""The fault table: every fault that a test tries is counted, and the table printed at the end.

A test may run in another process than the one that prints: counts travel with its report.
"""

from collections import Counter
from contextlib import contextmanager


def trying(record_property):
    """`with tried(fault):` a fault that is lost unless the block ends."""

    @contextmanager
    def attempt(fault, times=1):
        record_property("tried", [fault, times])
        yield
        record_property("survived", [fault, times])

    return attempt


def counted(reports):
    """How often each fault was tried, and survived, in these reports."""
    counts = {"tried": Counter(), "survived": Counter()}
    for report in reports:
        for name, value in report.user_properties:
            if name in counts:
                fault, times = value
                counts[name][fault] += times
    return counts["tried"], counts["survived"]


def pytest_terminal_summary(terminalreporter):
    ended = [terminalreporter.stats.get(how, []) for how in ("passed", "failed")]
    tried, survived = counted(report for reports in ended for report in reports)
    if not tried:
        return
    lines = ["", "| fault | tried | survived | lost |", "|---|---|---|---|"]
    lines += [
        f"| {fault} | {times} | {survived[fault]} | {times - survived[fault]} |"
        for fault, times in tried.items()
    ]
    total, well = tried.total(), survived.total()
    lines.append(f"| **all** | {total} | {well} | {total - well} |")
    terminalreporter.write_line("\n".join(lines))
