from memfoil import models, tables
from memfoil.models.embeddings import load_embedder
from memfoil.prompts.journal import Journal, rests_on
from memfoil.prompts.searches import Searches, find_prefixes
from memfoil.workflow import stage

with stage(snakemake) as job:
    targets = tables.read_share(tables.TARGETS, job.input.targets, job.params.part)
    embedder = load_embedder(**job.params.embedding)
    searches = Searches(
        models.load(**job.params.model),
        job.wildcards.frame,
        draft=models.load(**job.params.draft) if job.params.draft else None,
        top_k=job.params.top_k,
        width=job.params.width,
        seed=job.params.seed,
        journal=Journal(job.params.journal, rests_on(job.provenance, apart_from=job.input.targets)),
    )
    runs, losses, multi_prefix = find_prefixes(
        targets, searches, embedder.embed, **job.params.settings, progress=job.progress
    )
    tables.PROMPT_RUNS.write(runs, job.output.multi_prefix_runs, job.provenance)
    tables.PROMPT_LOSSES.write(losses, job.output.multi_prefix_losses, job.provenance)
    tables.MULTI_PREFIX.write(multi_prefix, job.output.multi_prefix, job.provenance)
