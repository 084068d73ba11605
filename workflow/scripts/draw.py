from memfoil import tables
from memfoil.sampling.draws import draw
from memfoil.workflow import stage

with stage(snakemake) as job:
    splits = job.input.get("splits")
    draws, left_out = draw(
        tables.PASSAGES.read(job.input.passages),
        {pool.pop("name"): pool for pool in job.params.pools},
        seed=job.params.seed,
        max_per_document=job.params.max_per_document,
        splits=tables.SPLITS.read(splits) if splits else None,
    )
    tables.DRAWS.write(draws, job.output.draws, job.provenance)
    tables.LEFT_OUT.write(left_out, job.output.left_out, job.provenance)
