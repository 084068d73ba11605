from memfoil import sampling, tables
from memfoil.workflow import stage

with stage(snakemake) as job:
    documents = tables.DOCUMENTS.read(job.input.documents)
    passages, left_out = sampling.cut(documents, job.params.words)
    tables.PASSAGES.write(passages, job.output.passages, job.provenance)
    tables.LEFT_OUT.write(left_out, job.output.left_out, job.provenance)
