from memfoil import scoring, tables
from memfoil.workflow import stage

with stage(snakemake) as job:
    scores = scoring.derive(
        tables.TOKEN_SCORES.read(job.input.token_scores),
        procedures=job.params.procedures,
        suffix_lengths=range(1, job.params.suffix_tokens + 1),
    )
    tables.SCORES.write(scores, job.output.scores, job.provenance)
