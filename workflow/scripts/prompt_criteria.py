from memfoil import tables
from memfoil.prompts.criteria import judge
from memfoil.workflow import stage

MEASURED = {
    "compression": tables.COMPRESSION,
    "multi_prefix": tables.MULTI_PREFIX,
    "parrots": tables.PARROTS,
}

with stage(snakemake) as job:
    contamination = job.input.get("contamination")
    thresholds, rates, criteria = judge(
        tables.TARGETS.read(job.input.targets),
        {name: MEASURED[name].read(path) for name, path in job.input.items() if name in MEASURED},
        tables.CONTAMINATION.read(contamination) if contamination else None,
        alpha=job.params.alpha,
        confidence=job.params.confidence,
    )
    tables.THRESHOLDS.write(thresholds, job.output.thresholds, job.provenance)
    tables.RATES.write(rates, job.output.rates, job.provenance)
    tables.PROMPT_CRITERIA.write(criteria, job.output.criteria, job.provenance)
