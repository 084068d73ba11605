"""All figures alike: none crashes or leaves its page, and the same tables give the same file."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from drawn_words import covered
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from memfoil import figures
from memfoil.figures import selection, style


def shows_something(artist) -> bool:
    """Whether a line or bar shows anything; reference lines across the panel do not count."""
    if isinstance(artist, Line2D):
        return len(artist.get_xdata()) > 0 and artist.get_transform() == artist.axes.transData
    return True


def one_pool_each(run):
    """A run as most are: one pool of candidates, one of controls, no known repetitions."""
    sequences = run.sequences[run.sequences["pool"].isin(["seen once", "held-out"])]
    tables = {}
    for name in ("thresholds", "rates", "operating_points", "claims", "validity", "match"):
        frame = getattr(run, name)
        tables[name] = frame[frame["control_pool"] == "held-out"]
    tables["rates"] = tables["rates"][tables["rates"]["stratum"].isin(["all", "seen once"])]
    return dataclasses.replace(run, sequences=sequences, **tables)


def emptied(run):
    """The same tables without a row."""
    tables = {field.name: getattr(run, field.name).iloc[:0] for field in dataclasses.fields(run)}
    return dataclasses.replace(run, **tables)


def spills(figure: Figure) -> dict[str, float]:
    """By how many inches what is drawn reaches over each edge of the figure."""
    figure.draw_without_rendering()
    box = figure.get_tightbbox(figure.canvas.get_renderer())
    width, height = figure.get_size_inches()
    over = {"left": -box.x0, "right": box.x1 - width, "bottom": -box.y0, "top": box.y1 - height}
    return {edge: inches for edge, inches in over.items() if inches > 0.005}


ALL = "as it should be"
WITH_MANY_WORDS = {
    ALL: ("run", "base", None),
    "mostly zeros": ("run", "top-40", {"tail_distribution", "suffix_sweep", "control_pools"}),
    "too few controls": ("small_run", "base", {"validity", "suffix_sweep", "decontamination"}),
}
CASES = [pytest.param(case, marks=[pytest.mark.slow] * (case == ALL)) for case in WITH_MANY_WORDS]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("error")
def test_nothing_reaches_over_the_edge_of_a_figure(request, every_figure, case):
    name_of_run, procedure, names = WITH_MANY_WORDS[case]
    for name, draw in every_figure(request.getfixturevalue(name_of_run), procedure).items():
        if names is None or name in names:
            figure = draw()
            assert figure.get_figwidth() == style.WIDTH
            assert spills(figure) == {}, name


@pytest.mark.parametrize("case", CASES)
def test_no_words_lie_over_a_curve(request, every_figure, case):
    name_of_run, procedure, names = WITH_MANY_WORDS[case]
    for name, draw in every_figure(request.getfixturevalue(name_of_run), procedure).items():
        if names is None or name in names:
            assert covered(draw()) == [], name


EXTREMES = {
    "all zeros and ones": (lambda run: run, "greedy"),
    "a procedure that was not run": (lambda run: run, "top-10"),
    "one pool of each": (one_pool_each, "base"),
    "empty tables": (emptied, "base"),
}


@pytest.mark.parametrize("case", EXTREMES)
@pytest.mark.filterwarnings("error")
def test_extreme_tables_are_drawn_with_a_word_in_every_empty_panel(small_run, every_figure, case):
    prepare, procedure = EXTREMES[case]
    for name, draw in every_figure(prepare(small_run), procedure).items():
        for panel in draw().axes:
            silent = not panel.texts and not panel.get_title(loc="right")
            marks = [artist for artist in (*panel.lines, *panel.patches) if shows_something(artist)]
            assert marks or not silent, f"{name}: an empty panel without a word"


@pytest.mark.parametrize(("name", "kind"), [("query_budget", "svg"), ("match_check", "png")])
@pytest.mark.slow
def test_the_same_tables_give_the_same_bytes_whatever_the_settings(
    run, every_figure, tmp_path, name, kind
):
    paths = tmp_path / f"first.{kind}", tmp_path / f"second.{kind}"
    for path, size in zip(paths, (10.0, 25.0), strict=True):
        with mpl.rc_context({"font.size": size, "svg.hashsalt": None, "axes.grid": False}):
            figures.save(every_figure(run)[name](), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_files_are_what_their_name_says_without_a_clock_time(run, tmp_path):
    figure = figures.match_check(run.match)
    for kind in ("svg", "png"):
        figures.save(figure, tmp_path / f"match.{kind}")
    assert (tmp_path / "match.png").read_bytes().startswith(b"\x89PNG")
    assert ET.parse(tmp_path / "match.svg").getroot().tag.endswith("svg")
    assert "dc:date" not in (tmp_path / "match.svg").read_text()


def test_a_save_that_fails_leaves_the_old_file(run, tmp_path, monkeypatch):
    path = tmp_path / "match.svg"
    path.write_text("old")
    figure = figures.match_check(run.match)

    def full_disk(*args, **kwargs):
        args[0].write_text("half of a fig")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figure, "savefig", full_disk)
    with pytest.raises(OSError, match="No space"):
        figures.save(figure, path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["match.svg"]


@pytest.mark.slow
def test_importing_the_figures_opens_no_display_backend():
    code = "import sys, memfoil.figures; print('matplotlib.pyplot' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def contrast(one: str, two: str) -> float:
    """Distance of two colours in linear RGB."""
    values = [np.array(mpl.colors.to_rgb(color)) ** 2.2 for color in (one, two)]
    return float(np.linalg.norm(values[0] - values[1]))


def as_seen_without_red_cones(color: str) -> str:
    """A colour as a protanope sees it (Machado et al. 2009, severity 1)."""
    matrix = np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    )  # fmt: skip
    linear = matrix @ (np.array(mpl.colors.to_rgb(color)) ** 2.2)
    return mpl.colors.to_hex(np.clip(linear, 0, 1) ** (1 / 2.2))


def test_candidates_and_controls_are_told_apart_without_red_cones():
    colors = [style.CANDIDATES[0], style.CANDIDATES[1], *(c for c, _ in style.CONTROLS.values())]
    seen = [as_seen_without_red_cones(color) for color in colors]
    for i, one in enumerate(seen):
        for two in seen[i + 1 :]:
            assert contrast(one, two) > 0.1


def test_a_pool_keeps_its_colour_whatever_else_is_drawn():
    alone = style.control_marks(["post-cutoff"])["post-cutoff"]
    together = style.control_marks(["held-out", "post-cutoff", "wikipedia"])
    assert together["post-cutoff"] == alone
    assert len({mark["color"] for mark in together.values()}) == 3


@pytest.mark.parametrize(
    ("procedure", "said"),
    [
        ("base", "sampling at temperature 1"),
        ("top-40", "top-40 sampling at temperature 1"),
        ("top-p-0.9", "top-p-0.9 sampling at temperature 1"),
        ("temperature-0.7+top-40", "temperature-0.7+top-40 sampling"),
    ],
)
def test_a_procedure_is_named_with_its_own_temperature(procedure, said):
    assert selection.procedure_named(procedure) == said
