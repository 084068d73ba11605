"""Every figure has a caption, and every caption is clean reStructuredText after rendering."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from docutils.core import publish_parts
from docutils.utils import SystemMessage
from jinja2 import Environment

from memfoil import figures

ROOT = Path(__file__).parents[2]
CAPTIONS = sorted((ROOT / "workflow/report").glob("*.rst"))
CONFIG = yaml.safe_load((ROOT / "config/config.yaml").read_text())


def rendered(path: Path, config: dict, **wildcards: str) -> str:
    """The caption's HTML, as Snakemake makes it."""
    snakemake = SimpleNamespace(config=config, wildcards=SimpleNamespace(**wildcards))
    environment = Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False)
    text = environment.from_string(path.read_text()).render(snakemake=snakemake)
    try:
        # 2: a warning of docutils is an error here.
        return publish_parts(text, writer="html", settings_overrides={"halt_level": 2})["html_body"]
    except SystemMessage as error:
        raise AssertionError(f"{path.name}: {error}\n{text}") from error


@pytest.mark.parametrize("path", CAPTIONS, ids=lambda path: path.stem)
def test_a_caption_renders_with_and_without_a_model(path):
    for wildcards in ({"model": "testbed"}, {}):
        html = rendered(path, CONFIG, **wildcards)
        assert "{{" not in html
        assert "{%" not in html
        assert "Undefined" not in html


def test_every_figure_has_a_caption_that_says_what_is_guaranteed():
    names = {path.stem for path in CAPTIONS}
    for figure in set(figures.__all__) - {"save", "parrot_scores"}:  # a panel of prompt_searches
        assert figure in names
        html = rendered(ROOT / f"workflow/report/{figure}.rst", CONFIG)
        for part in ("Shown.", "Reading.", "Guarantee."):
            assert f"<strong>{part}</strong>" in html


def test_the_opening_names_the_pools_and_the_requested_rates():
    html = rendered(ROOT / "workflow/report/workflow.rst", CONFIG)
    for pool in CONFIG["pools"]:
        assert f"<li><p>{pool['name']}: {pool['role']}s</p>" in html or (
            f"<li>{pool['name']}: {pool['role']}s</li>" in html
        )
    assert "0.1%, 1%, 10%" in html
    assert "The truth is known here" in html


def test_the_opening_claims_no_known_truth_without_a_testbed():
    html = rendered(ROOT / "workflow/report/workflow.rst", CONFIG | {"testbed": None})
    assert "The truth is known here" not in html
