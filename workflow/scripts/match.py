from memfoil import tables
from memfoil.matching import match
from memfoil.workflow import stage

with stage(snakemake) as job:
    sequences = tables.SEQUENCES.read(job.input.sequences)
    tables.MATCH.write(match(sequences, job.params.seed), job.output.match, job.provenance)
