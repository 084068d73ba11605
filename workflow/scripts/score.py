from memfoil import tables
from memfoil.models import load
from memfoil.scoring import teacher_forced
from memfoil.workflow import stage

with stage(snakemake) as job:
    sequences = tables.SEQUENCES.read(job.input.sequences[0])
    model = load(
        job.params.source,
        revision=job.params.revision,
        dtype=job.params.dtype,
        device=job.params.device,
        start_of_text=job.params.start_of_text,
    )
    scores = teacher_forced(model, sequences, top_k=job.params.top_k, progress=job.progress)
    tables.TOKEN_SCORES.write(scores, job.output.token_scores, job.provenance)
