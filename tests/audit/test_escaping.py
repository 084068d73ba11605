"""Whatever stands in texts and names, nothing of it runs in what a person opens."""

import base64
import csv
import re
import xml.etree.ElementTree as ET

import pytest

from memfoil import figures
from memfoil.figures import style

HOSTILE = "--></script><script>alert(1)</script><img src=x onerror=alert(1)> \"quotes\" 'too' &amp;"


def test_a_figure_shows_names_and_runs_none(tmp_path):
    figure, axes = style.panels(HOSTILE, HOSTILE)
    axes.flat[0].set_title(HOSTILE)
    axes.flat[0].plot([0, 1], [0, 1], label=HOSTILE)
    axes.flat[0].legend()
    figures.save(figure, tmp_path / "figure.svg")
    elements = {node.tag.rpartition("}")[2] for node in ET.parse(tmp_path / "figure.svg").iter()}
    assert not elements & {"script", "img", "foreignObject"}
    assert "<script" not in (tmp_path / "figure.svg").read_text()


@pytest.mark.workflow
def test_the_report_holds_texts_that_end_no_element(finished, tmp_path):
    run = finished.copy(tmp_path / "copy")
    results = run.folder / "results" / "small"
    pages = ["summary.md", "methods.md", "census/summary.md"]
    for path in [results / page for page in pages]:
        path.write_text(f"{path.read_text()}\n{HOSTILE}\n")
    claims = results / "report" / "testbed" / "claims.csv"
    columns = claims.read_text().splitlines()[0].count(",") + 1
    with claims.open("a") as file:
        csv.writer(file).writerow([HOSTILE] * columns)
    done = run.snakemake("--report", "report.html")
    assert done.returncode == 0, done.stderr
    report = (run.folder / "report.html").read_text()
    assert "alert(1)" not in report
    held = re.findall(r"data:(text/\w+);[^\"]*?base64,([A-Za-z0-9+/=]+)", report)
    kinds = [kind for kind, text in held if b"alert(1)" in base64.b64decode(text)]
    assert sorted(kinds) == ["text/csv", *["text/markdown"] * len(pages)]
