from memfoil.models import load_backend
from memfoil.scoring import write_token_scores
from memfoil.workflow import stage

with stage(snakemake) as job:
    write_token_scores(
        load_backend(**job.params.model),
        job.input.sequences,
        job.output.token_scores,
        part=job.params.part,
        top_k=job.params.top_k,
        policies=job.params.policies,
        provenance=job.provenance,
        progress=job.progress,
    )
