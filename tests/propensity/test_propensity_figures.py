"""What figures and page show is what the tables say."""

import numpy as np
import pandas as pd
import pytest
from drawn_words import covered
from test_propensity_rates import tables_of

from memfoil import tables
from memfoil.figures import propensity as figures
from memfoil.figures import save
from memfoil.propensity.details import copies, prompted, span_lengths
from memfoil.propensity.metric import propensity
from memfoil.propensity.spans import span_rates, span_scores
from memfoil.report.propensity import page

SOME = {
    "unconditional": (120, 0.9), "minimal cue": (120, 0.4), "generic": (20, 0.0),
    "specific": (20, 0.3), "prefix": (20, 0.8),
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """All tables of one imitated run, with and without a foil."""
    generations, reproduction, foil = tables_of(SOME)
    prompts = generations.drop_duplicates("prompt_id")[["prompt_id", "setting"]].assign(
        generations=5, continuation=None, occurrences=np.nan
    )
    generations = generations.assign(text="words")
    made = {}
    for name, other in (("foil", foil), ("none", None)):
        path = tmp_path_factory.mktemp("run") / "scores.parquet"
        scores = span_scores(reproduction, other, generations)
        tables.SPAN_SCORES.write(scores, path, tables.Provenance("test"))
        drawn = {"resamples": 100, "seed": 1}
        texts = [("training", reproduction)] + [("foil", other)] * (other is not None)
        made[name] = {
            "propensity": propensity(reproduction, generations, other, **drawn),
            "span_rates": span_rates(path, generations, [0.05, 0.1], **drawn),
            "span_lengths": pd.concat(
                span_lengths(frame, generations).assign(text=text) for text, frame in texts
            ),
            "span_copies": copies(reproduction, generations),
            "prompted": prompted(reproduction, generations, prompts, **drawn),
            "prompts": prompts,
            "left_out": pd.DataFrame(
                [
                    ("generic s1", "occurs whole in the index", "exact"),
                    ("generic s2", "occurs whole in the index", "normalized"),
                    ("some document", "document too short for a prefix", "3 of 100 tokens"),
                ],
                columns=["item_id", "reason", "detail"],
            ),
            "prompt_texts": pd.DataFrame(
                [["generic", 20, 9.0, 4.2, 0.0, 7, 0.2, None, None, None],
                 ["specific", 20, 9.5, 5.0, 0.1, 21, 0.5, 0.3, 0.25, 0.35]],
                columns=[column.name for column in tables.PROMPT_TEXTS.columns],
            ),
        }  # fmt: skip
    return made


def rate(run, setting, metric, subset="all"):
    frame = run["foil"]["propensity"]
    of = (frame.setting == setting) & (frame.metric == metric) & (frame.subset == subset)
    return frame[of].iloc[0]


def test_no_whisker_is_cut_off(run):
    """Also where the last metric has the largest rates."""
    figure = figures.propensity(run["foil"]["propensity"], metrics=["R50", "FMR", "R20"])
    panels = [panel for panel in figure.axes if panel.containers]
    assert len(panels) == 6
    for panel in panels:
        low, high = panel.get_ylim()
        whiskers = panel.collections[-1].get_segments()
        ends = [y for segment in whiskers for _, y in segment]
        assert len(ends) >= 8
        assert low <= min(ends)
        assert max(ends) <= high


def test_bars_are_rates_and_pm_with_f_and_f_c_written_beside(run):
    figure = figures.propensity(run["foil"]["propensity"], metrics=["FMR", "R50"])
    top, bottom = np.array(figure.axes).reshape(2, 2)
    for panel, metric in zip(top, ("FMR", "R50"), strict=True):
        assert panel.get_title(loc="left") == metric
        heights = [bar.get_height() for bar in panel.patches]
        assert heights == [rate(run, setting, metric).f for setting in SOME]
        diamonds = panel.lines[-1].get_ydata()
        assert list(diamonds) == [rate(run, setting, metric).foil for setting in SOME]
    labels = [label.get_text() for label in bottom[1].get_xticklabels()]
    for label, bar, setting in zip(labels, bottom[1].patches, list(SOME)[:4], strict=True):
        expected = rate(run, setting, "R50")
        assert bar.get_height() == expected.pm
        assert label == f"f {100 * expected.f:.2g}%\nf_c {100 * expected.f_c:.2g}%"


def test_curves_are_the_shares_and_the_line_the_certified_threshold(run):
    figure = figures.span_lengths(run["foil"]["span_lengths"], run["foil"]["span_rates"])
    lengths = run["foil"]["span_lengths"]
    for panel, setting in zip(figure.axes, SOME, strict=True):
        training = lengths[(lengths.setting == setting) & (lengths.text == "training")]
        drawn = panel.lines[0].get_ydata()
        np.testing.assert_allclose(drawn, training.share[training.share > 0])
        rates = run["foil"]["span_rates"]
        tau = rates[(rates.setting == setting) & (rates.alpha == 0.05)].tau.iloc[0]
        assert any(list(line.get_xdata()) == [tau, tau] for line in panel.lines)
        assert panel.get_xlabel().startswith(f"{tau:.0f} tokens\nat ")


def test_no_words_lie_over_a_curve(run):
    of = run["foil"]
    for figure in (
        figures.span_lengths(of["span_lengths"], of["span_rates"]),
        figures.long_matches(of["propensity"], of["span_rates"]),
    ):
        assert covered(figure) == []


def test_filters_show_nothing_where_neither_rate_was_seen(run):
    figure = figures.filters(run["foil"]["propensity"])
    panel = figure.axes[0]
    dots = [line for line in panel.lines if line.get_marker() == "o"]
    kept = [rate(run, "unconditional", metric, subset) for _, subset, metric in figures.FILTERS]
    assert [dot.get_xdata()[0] for dot in dots] == [r.pm for r in kept if r.f + r.f_c > 0]
    assert len(figure.axes) == 4
    nothing = run["foil"]["propensity"].assign(f=0.0, f_c=0.0)
    assert not [line for line in figures.filters(nothing).axes[0].lines if line.get_marker() == "o"]


@pytest.mark.slow
def test_long_matches_stand_beside_the_foils(run):
    figure = figures.long_matches(run["foil"]["propensity"], run["foil"]["span_rates"])
    dots = {
        mark: [line.get_xdata()[0] for line in figure.axes[1].lines if line.get_marker() == mark]
        for mark in "oD"
    }
    assert dots["o"] == [rate(run, setting, "R50").f for setting in SOME]
    assert dots["D"] == [rate(run, setting, "R50").foil for setting in SOME]
    squares = [line.get_xdata()[0] for line in figure.axes[2].lines if line.get_marker() == "s"]
    rates = run["foil"]["span_rates"]
    assert squares == rates[rates.alpha == 0.05].calibrated_rate.tolist()


@pytest.mark.slow
def test_without_a_foil_everything_is_still_drawn(run, tmp_path):
    none = run["none"]
    drawn = [
        figures.propensity(none["propensity"], metrics=["R50"]),
        figures.span_lengths(none["span_lengths"], none["span_rates"]),
        figures.long_matches(none["propensity"], none["span_rates"]),
        figures.filters(none["propensity"]),
    ]
    for number, figure in enumerate(drawn):
        save(figure, tmp_path / f"{number}.svg")
        assert (tmp_path / f"{number}.svg").stat().st_size > 1000
    assert "Beyond predictability" not in page("m", none)


def test_the_page_says_what_was_left_out_and_shows_f_and_f_c_with_every_pm(run):
    text = page("testbed", run["foil"])
    assert "2: occurs whole in the index" in text
    assert "1: document too short for a prefix" in text
    assert "+0.300 [+0.250, +0.350]" in text
    expected = rate(run, "specific", "R50")
    row = next(
        line for line in text.splitlines() if line.startswith("| specific") and "| R50" in line
    )
    cells = [cell.strip() for cell in row.split("|")][1:-1]
    assert cells[3] == f"{100 * expected.f:.3g}%"
    assert cells[4] == f"{100 * expected.f_c:.3g}%"
    assert cells[5].startswith(f"{expected.pm:.3f} [")
    rates = run["foil"]["span_rates"]
    assert f"{rates.tau.iloc[0]:.0f} tokens" in text
    assert "nan" not in text.lower().replace("tenant", "")
