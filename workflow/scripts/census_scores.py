from memfoil.census.scores import score_windows
from memfoil.models import load_backend
from memfoil.workflow import stage

with stage(snakemake) as job:
    score_windows(
        load_backend(**job.params.model),
        job.input.windows,
        job.output.scores,
        prefix_tokens=job.params.prefix_tokens,
        procedures=job.params.procedures,
        top_k=job.params.top_k,
        provenance=job.provenance,
        progress=job.progress,
    )
