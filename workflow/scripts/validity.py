from memfoil import calibration, tables
from memfoil.workflow import stage

with stage(snakemake) as job:
    validity = calibration.validity(
        tables.SCORES.read(job.input.scores),
        tables.SEQUENCES.read(job.input.sequences),
        tables.CONTAMINATION.read(job.input.contamination),
        suffix_tokens=job.params.suffix_tokens,
        alphas=job.params.alphas,
        n_splits=job.params.splits,
        seed=job.params.seed,
    )
    tables.VALIDITY.write(validity, job.output.validity, job.provenance)
