from memfoil import tables
from memfoil.propensity.models import model_differences
from memfoil.workflow import stage

with stage(snakemake) as job:
    first, second = (
        (tables.REPRODUCTION.read(reproduction), tables.GENERATIONS.read(generations))
        for reproduction, generations in zip(
            job.input.reproduction, job.input.generations, strict=True
        )
    )
    differences = model_differences(
        first, second, resamples=job.params.resamples, seed=job.params.seed
    )
    tables.MODEL_DIFFERENCES.write(differences, job.output.differences, job.provenance)
