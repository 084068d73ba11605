"""A GPU that is asked for and is not there stops a run before its first job."""

import pytest
import torch

pytestmark = pytest.mark.workflow


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_missed_before_anything_runs(fresh):
    models = fresh.folder / "config" / "models.yaml"
    text = models.read_text()
    models.write_text(text.replace("source: testbed\n", "source: testbed\n  device: cuda\n"))
    planned = fresh.snakemake("-n", "--quiet", "all")
    assert planned.returncode == 0, planned.stderr
    done = fresh.snakemake("--cores", "1")
    assert done.returncode == 2, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("memfoil: ")]
    assert "torch sees 0 GPUs here" in line
    assert "Traceback" not in done.stderr
    assert not (fresh.folder / "results").exists()
    # what needs no GPU still runs, and nothing is locked
    done = fresh.snakemake("--cores", "1", "results/small/documents.parquet")
    assert done.returncode == 0, done.stderr
