from memfoil import tables
from memfoil.workflow import stage

with stage(snakemake) as job:
    table = tables.table_of(job.input.parts[0])
    table.join(job.input.parts, job.output.table, job.provenance)
