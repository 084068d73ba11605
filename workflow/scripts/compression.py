from memfoil import models, tables
from memfoil.prompts.journal import Journal, rests_on
from memfoil.prompts.searches import Searches, compress
from memfoil.workflow import stage

with stage(snakemake) as job:
    targets = tables.read_share(tables.TARGETS, job.input.targets, job.params.part)
    searches = Searches(
        models.load(**job.params.model),
        job.wildcards.frame,
        draft=models.load(**job.params.draft) if job.params.draft else None,
        top_k=job.params.top_k,
        width=job.params.width,
        seed=job.params.seed,
        journal=Journal(job.params.journal, rests_on(job.provenance, apart_from=job.input.targets)),
    )
    runs, losses, compression = compress(
        targets,
        searches,
        steps=job.params.steps,
        longest=job.params.longest,
        progress=job.progress,
    )
    tables.PROMPT_RUNS.write(runs, job.output.compression_runs, job.provenance)
    tables.PROMPT_LOSSES.write(losses, job.output.compression_losses, job.provenance)
    tables.COMPRESSION.write(compression, job.output.compression, job.provenance)
