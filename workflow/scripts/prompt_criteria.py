from memfoil import tables
from memfoil.prompts.criteria import judge, scores
from memfoil.workflow import stage

MEASURED = {
    "compression": tables.COMPRESSION,
    "multi_prefix": tables.MULTI_PREFIX,
    "parrots": tables.PARROTS,
}

with stage(snakemake) as job:
    measured = {n: MEASURED[n].read(path) for n, path in job.input.items() if n in MEASURED}
    tables.GENERAL_SCORES.write(scores(measured), job.output.scores, job.provenance)
    contamination = job.input.get("contamination")
    thresholds, rates, criteria = judge(
        tables.TARGETS.read(job.input.targets),
        measured,
        tables.CONTAMINATION.read(contamination) if contamination else None,
        alpha=job.params.alpha,
        confidence=job.params.confidence,
    )
    tables.THRESHOLDS.write(thresholds, job.output.thresholds, job.provenance)
    tables.RATES.write(rates, job.output.rates, job.provenance)
    tables.PROMPT_CRITERIA.write(criteria, job.output.criteria, job.provenance)
