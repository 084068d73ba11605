from memfoil import corpora, tables
from memfoil.workflow import stage

with stage(snakemake) as job:
    documents, left_out = corpora.read(job.params.sources)
    tables.DOCUMENTS.write(documents, job.output.documents, job.provenance)
    tables.LEFT_OUT.write(left_out, job.output.left_out, job.provenance)
