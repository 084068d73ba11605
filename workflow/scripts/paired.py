from memfoil import paired, tables
from memfoil.workflow import stage

with stage(snakemake) as job:
    claims = [tables.CLAIMS.read(path) for path in job.input.claims]
    differences = paired.differences(dict(zip(job.params.models, claims, strict=True)))
    tables.PAIRED.write(differences, job.output.paired, job.provenance)
