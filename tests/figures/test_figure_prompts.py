"""What the figures of prompt searches draw is what their tables say."""

import pandas as pd
import pytest

from memfoil import figures


def criteria() -> pd.DataFrame:
    base = {"decontaminated": None, "n_controls": None, "smallest_level": None, "alpha_n": None}
    rows = [
        {"criterion": "ACR > 1", "calibrated": False, "control_pool": None, **base,
         "pool": pool, "role": role, "targets": 4, "claims": claims, "low": 0.0, "high": 1.0}
        for pool, role, claims in (("planted", "candidate", 3), ("held-out", "control", 1))
    ] + [
        {"criterion": "ACR", "calibrated": True, "control_pool": "held-out",
         "decontaminated": clean, "n_controls": 4, "smallest_level": 0.2, "alpha_n": 0.2,
         "pool": "planted", "role": "candidate", "targets": 4, "claims": 2 + clean,
         "low": 0.0, "high": 1.0}
        for clean in (False, True)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def points(panel):
    lines = [line for line in panel.lines if line.get_linestyle() in ("none", "None")]
    return sorted(float(x) for line in lines for x in line.get_xdata())


def test_criteria_show_each_set_s_share_and_the_level_certified():
    figure = figures.prompt_criteria(criteria())
    published, calibrated = figure.axes
    assert points(published) == [0.25, 0.75]
    assert points(calibrated) == [0.75]
    words = " ".join(text.get_text() for text in figure.texts).replace("\n", " ")
    assert "4 held-out; certified rate 20%, no rate below 20% can be certified" in words


TARGETS = pd.DataFrame(
    {"sequence_id": ["a", "b"], "pool": ["planted", "held-out"], "role": ["candidate", "control"]}
)


def test_each_search_is_a_line_and_each_success_a_dot():
    key = {"procedure": "compression", "run": 1}
    losses = pd.DataFrame(
        [{**key, "sequence_id": name, "step": step, "loss": height - step, "lowest": height - step}
         for name, height in (("a", 3.0), ("b", 9.0)) for step in range(3)]
    )  # fmt: skip
    runs = pd.DataFrame([{**key, "sequence_id": n, "generated": n == "a"} for n in "ab"])
    planted, held_out = figures.prompt_searches(TARGETS, losses, runs).axes
    assert [len(line.get_xdata()) for line in planted.lines] == [3, 1]
    assert [len(line.get_xdata()) for line in held_out.lines] == [3]
    assert planted.get_ylim()[0] == 0
    assert held_out.get_ylim()[1] >= 9
    assert planted.get_title(loc="right") == "1 of 1 succeed"
    assert held_out.get_title(loc="right") == "0 of 1 succeed"


def test_the_lowest_panel_of_each_column_has_an_axis():
    names = [f"pool {number}" for number in range(5)]
    targets = pd.DataFrame({"sequence_id": names, "pool": names, "role": "candidate"})
    key = {"procedure": "compression", "run": 1}
    losses = pd.DataFrame(
        [{**key, "sequence_id": n, "step": 0, "loss": 1, "lowest": 1} for n in names]
    )
    runs = pd.DataFrame([{**key, "sequence_id": n, "generated": False} for n in names])
    panels = figures.prompt_searches(targets, losses, runs).axes
    labelled = [panel.get_xlabel() == "step" for panel in panels[:5]]
    assert labelled == [False, False, True, True, True]
    ticks = [panel.xaxis.get_tick_params()["labelbottom"] for panel in panels[:5]]
    assert ticks == labelled


def test_parrots_show_every_target_under_every_template():
    parrots = pd.DataFrame(
        [{"sequence_id": n, "template_id": t, "log_score": -2.302585 * (i + 1), "generated": i == 0}
         for t in ("repeat", "copy") for i, n in enumerate("ab")]
    )  # fmt: skip
    figure = figures.parrot_scores(TARGETS, parrots)
    for panel in figure.axes:
        assert points(panel) == [pytest.approx(-2), pytest.approx(-1)]


@pytest.mark.parametrize("name", ["criteria", "searches", "parrots"])
def test_empty_tables_still_give_a_figure(name, tmp_path):
    none = criteria().head(0).astype({"calibrated": bool})
    empty = {
        "criteria": lambda: figures.prompt_criteria(none),
        "searches": lambda: figures.prompt_searches(
            TARGETS,
            pd.DataFrame(columns=["procedure", "sequence_id", "run", "step", "loss", "lowest"]),
            pd.DataFrame(columns=["procedure", "sequence_id", "run", "generated"]),
        ),
        "parrots": lambda: figures.parrot_scores(
            TARGETS,
            pd.DataFrame(columns=["sequence_id", "template_id", "log_score", "generated"]),
        ),
    }
    figures.save(empty[name](), tmp_path / "figure.svg")
