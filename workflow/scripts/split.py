from memfoil import tables, testbed
from memfoil.workflow import stage

with stage(snakemake) as job:
    splits = testbed.split(
        tables.PASSAGES.read(job.input.passages),
        cutoff=job.params.cutoff,
        first=job.params.first,
        held_out=job.params.held_out,
        planted_per_level=job.params.planted_per_level,
        repetitions=job.params.repetitions,
        training_passages=job.params.training,
        leaked=job.params.leaked["passages"],
        leaked_repetitions=job.params.leaked["repetitions"],
        documents=job.params.documents,
        seed=job.params.seed,
    )
    tables.SPLITS.write(splits, job.output.splits, job.provenance)
