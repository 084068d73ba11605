"""Two runs that differ in nothing but the backend of their model."""

import importlib.util

import numpy as np
import pytest

from memfoil import tables

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(
        importlib.util.find_spec("vllm") is None,
        reason="vLLM is not installed here: make test runs these from .venv-vllm on Linux x86-64",
    ),
]

TARGET = "results/small/scores/testbed.parquet"
POLICIES = ["top-40+top-p-0.9", "temperature-0.7+top-40+top-p-0.95"]


def scored(run):
    run.configfile = run.folder / "mine.yaml"
    done = run.snakemake("--cores", "1", TARGET)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = run.folder / "results/small"
    return (
        tables.TOKEN_SCORES.read(folder / "token_scores/testbed.parquet"),
        tables.SCORES.read(folder / "scores/testbed.parquet"),
    )


def test_torch_and_vllm_give_a_run_the_same_scores(fresh):
    given = fresh.configfile.read_text()
    (fresh.folder / "mine.yaml").write_text(
        given.replace(
            "calibration: {", f"calibration: {{procedures: [base, {', '.join(POLICIES)}], "
        )
        + f"scoring: {{policies: [{', '.join(POLICIES)}]}}\n"
    )
    tokens, scores = scored(fresh)
    models = fresh.folder / "config/models.yaml"
    models.write_text(
        models.read_text().replace("source: testbed\n", "source: testbed\n  backend: vllm\n", 1)
    )
    assert fresh.planned(TARGET) == {"score", "scores"}
    vllm_tokens, vllm_scores = scored(fresh)

    assert vllm_tokens["sequence_id"].equals(tokens["sequence_id"])
    np.testing.assert_allclose(
        vllm_tokens["log_probability"], tokens["log_probability"], rtol=0, atol=1e-4
    )
    assert (vllm_tokens["rank"] == tokens["rank"]).mean() > 0.999
    for name in ("log_mass_top_40", "log_probability_temperature_0.7_top_40_top_p_0.95"):
        there = vllm_tokens[name].notna()
        assert there.sum() > 200
        one, other = (np.exp(each.loc[there, name]) for each in (vllm_tokens, tokens))
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)
    key = list(tables.SCORES.key)
    one, other = (each.set_index(key)["log_score"] for each in (vllm_scores, scores))
    possible = np.isfinite(one) == np.isfinite(other[one.index])
    assert possible.mean() > 0.999  # but for a tie at an edge
    both = np.isfinite(one) & possible
    assert both.groupby("procedure").sum().min() > 20
    np.testing.assert_allclose(one[both], other[one.index][both], rtol=0, atol=1e-3)
