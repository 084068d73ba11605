"""What the pictures and the page of a census say is what its tables hold."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from test_census_results import BUDGET, LENGTH, case

from memfoil.census.case import positions
from memfoil.census.maps import heat_runs, truth
from memfoil.census.recovery import recovery
from memfoil.census.results import coverage, curves, thresholds
from memfoil.figures import census as figures
from memfoil.report.census import summary
from memfoil.report.markdown import power

BOOK = [(-3.5, -3.5), (-8.2, -7.1), (-50.0, -50.0), (-2.5, -2.5)]
CONTROL = [(-30.2, -20.2), (-2.6, -2.6), (-33.0, -25.0)]
MADE = [case(BOOK, CONTROL, leaving=[1], pair="p"), case([(-60.0, -60.0)], CONTROL[:1], pair="q")]
TAUS = thresholds(MADE, 1)


def test_bars_are_the_coverage_of_the_table_split_at_the_budget():
    table = coverage(MADE, TAUS, BUDGET)
    panel = figures.census_coverage(table, prefix_tokens=1).axes[0]
    labels = [label.get_text() for label in panel.get_yticklabels()]
    used = table[table["threshold"] != "global"].set_index(["pair", "procedure"])
    for row, label in enumerate(labels):
        wanted = used.loc[tuple(label.split(": "))]
        widths = [
            p.get_width() for p in panel.patches if abs(p.get_y() + p.get_height() / 2 - row) < 0.1
        ]
        assert sorted(widths) == pytest.approx(sorted(wanted[["reachable", "unreachable"]]))
        assert sum(widths) == pytest.approx(wanted["coverage"])


def test_histograms_are_shares_of_windows_and_lines_stand_at_both_thresholds():
    panel = figures.census_scores(positions(MADE, 1), TAUS, procedure="base").axes[0]
    document, before, after = (np.unique(p.get_path().vertices[:, 1]) for p in panel.patches)
    # no two windows share a bin, so the highest bar is one window of 4, of 3, of 2
    assert document.max() == pytest.approx(1 / 4)
    assert before.max() == pytest.approx(1 / 3)
    assert after.max() == pytest.approx(1 / 2)
    assert [line.get_xdata()[0] for line in panel.lines] == [-2, -30]


def test_curves_are_those_of_the_table_and_a_threshold_of_zero_has_no_margin():
    made = [case(BOOK, [(-math.inf, -20.2)])]
    table = curves(made, thresholds(made, 1), BUDGET)
    assert set(table.loc[table["procedure"] == "base", "curve"]) == {"threshold", "budget"}
    figure = figures.census_budget(table, prefix_tokens=1, query_budget=1000)
    own = table[(table["curve"] == "budget") & (table["procedure"] == "base")]
    line = figure.axes[0].lines[0]
    assert line.get_xdata().tolist() == own["x"].tolist()
    assert line.get_ydata().tolist() == own["coverage"].tolist()
    assert figure.axes[0].lines[-1].get_xdata()[0] == 3
    (margin,) = figures.census_margin(table, prefix_tokens=1).axes
    (remark,) = [text.get_text() for text in margin.texts]
    assert remark == "no margin over a threshold of zero: base"


@given(st.lists(st.tuples(st.integers(1, 9), st.sampled_from([None, -5.0, -2.0])), min_size=1))
def test_a_heat_strip_has_the_best_of_every_stretch(spans):
    ends = np.cumsum([n for n, _ in spans])
    runs = pd.DataFrame(
        {
            "start_char": [0, *ends[:-1]],
            "end_char": ends,
            "log_score": [np.nan if power is None else power * np.log(10) for _, power in spans],
        }
    )
    scores = [power for n, power in spans for _ in range(n)]
    strip = figures.heat_strip(runs, columns=7)
    for column in range(7):
        inside = [
            s for i, s in enumerate(scores) if i * 7 // len(scores) == column and s is not None
        ]
        if inside:
            assert strip[column] == pytest.approx(max(inside))
        elif any(i * 7 // len(scores) == column for i in range(len(scores))):
            assert np.isnan(strip[column])


def test_a_strip_tells_just_above_the_threshold_from_below_it():
    scores = [(-30.0 + 1e-6, 0), (-30.0 - 1e-6, 0)]
    made = [case(scores, [(-30.0, -30.0)], pair="p")]
    heat = heat_runs(made, BUDGET)
    figure = figures.census_heat(heat, thresholds(made, 1), procedure="base", prefix_tokens=1)
    (image,) = figure.axes[0].images
    colours = {to_hex(colour) for colour in image.to_rgba(image.get_array())[0]}
    assert {figures.BELOW.lower(), to_hex(figures.COLD_TO_HOT(0.0))} <= colours


def test_a_heat_strip_and_a_scatter_are_drawn_for_every_pair():
    heat = heat_runs(MADE, BUDGET)
    figure = figures.census_heat(heat, TAUS, procedure="base", prefix_tokens=1)
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == ["p", "q"]
    assert all(axes.images for axes in figure.axes[:2])
    assert not any("nothing to show" in text.get_text() for a in figure.axes for text in a.texts)
    scatter = figures.census_positions(positions(MADE, 1), TAUS, procedure="base")
    dots = [line for line in scatter.axes[1].lines if to_hex(line.get_color()) != "#262626"]
    assert [len(line.get_xdata()) for line in dots] == [2, 1]


def page(warnings=()):
    controls = pd.DataFrame(
        {
            "model": "m", "pair": ["p", "p", "q"], "verdict": ["exact", "none found", "none found"],
            "member": [True, False, False], "review": [None, None, "non-member"],
            "leaves": [True, False, False], "log_score": [-1.0, -20.0 * np.log(10), -3.0],
        }
    )  # fmt: skip
    beams = pd.DataFrame(
        {
            "window_id": ["b:0"], "prefix_tokens": 1,
            "top_distance": pd.array([0], dtype="Int64"),
            "pool_distance": pd.array([0], dtype="Int64"),
        }
    )  # fmt: skip
    near = pd.DataFrame({"prefix_tokens": [1], "forward_tokens": [99], "sampling_tokens": [100]})
    passages = pd.DataFrame(
        {"passage_id": ["b:0"], "document_id": ["b"], "start_char": [0], "end_char": [LENGTH]}
    )
    splits = pd.DataFrame({"passage_id": ["b:0"], "repetitions": [4]})
    left_out = pd.DataFrame({"reason": ["short"], "items": [2], "list": ["a.parquet"]})
    return summary(
        TAUS, coverage(MADE, TAUS, BUDGET),
        recovery(MADE, [beams, beams], TAUS, BUDGET, decoding="base"),
        truth(MADE, TAUS, passages, splits), controls, near, left_out, warnings,
    )  # fmt: skip


def cells(text, *starts):
    (line,) = [
        line for line in text.splitlines()
        if [cell.strip() for cell in line.split("|")[1 : len(starts) + 1]] == list(starts)
    ]  # fmt: skip
    return [cell.strip() for cell in line.split("|")[1:-1]]


def test_the_page_says_measured_maximum_and_holds_the_numbers():
    text = page()
    assert "measured maximum, not a certified level" in text
    row = coverage(MADE, TAUS, BUDGET).set_index(["pair", "procedure", "threshold"])
    share = row.loc[("p", "base", "book"), "coverage"]
    found = cells(text, "p", "m", "1", "base", "book")
    assert found[5:9] == ["1e-30", "4", "3", f"{100 * share:.3g}%"]
    assert cells(text, "p", "m", "1", "base", "1e-2", "1e-30")[6:9] == ["1e-30", "2", "1"]
    assert cells(text, "m", "p") == ["m", "p", "2", "1", "0", "1", "0", "1", "1", "1e-20"]
    assert cells(text, "m", "q")[-2:] == ["0", ""]
    assert cells(text, "1", "99.0") == ["1", "99.0", "100.0"]


def test_warnings_stand_at_the_top():
    lines = page(["pair p: the control c is dated 1900-01-01"]).splitlines()
    assert lines[2] == "> **Warning:** pair p: the control c is dated 1900-01-01."
    assert "Warning" not in page()


@pytest.mark.parametrize(
    ("log10", "text"),
    [
        (-21.0, "1e-21"),
        (-21.7, "1e-22"),
        (0.0, "1"),
        (-math.inf, "0"),
        (math.inf, "none"),
        (math.nan, ""),
        (-0.5, "3.2e-01"),
    ],
)
def test_below_1e_20_only_the_exponent_is_shown(log10, text):
    assert power(log10) == text
