from memfoil import tables
from memfoil.workflow import stage

with stage(snakemake) as job:
    tables.TOKEN_SCORES.join(job.input.parts, job.output.token_scores, job.provenance)
