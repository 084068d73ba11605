from memfoil.models import load_backend
from memfoil.scoring import write_token_scores
from memfoil.workflow import stage

with stage(snakemake) as job:
    model = load_backend(
        job.params.source,
        backend=job.params.backend,
        gpus=job.params.gpus,
        revision=job.params.revision,
        dtype=job.params.dtype,
        device=job.params.device,
        start_of_text=job.params.start_of_text,
    )
    write_token_scores(
        model,
        job.input.sequences[0],
        job.output.token_scores,
        part=job.params.part,
        top_k=job.params.top_k,
        policies=job.params.policies,
        provenance=job.provenance,
        progress=job.progress,
    )
