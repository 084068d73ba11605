from memfoil import tables
from memfoil.sampling.passages import cut
from memfoil.workflow import stage

with stage(snakemake) as job:
    documents = tables.DOCUMENTS.read(job.input.documents)
    passages, left_out = cut(documents, job.params.words)
    tables.PASSAGES.write(passages, job.output.passages, job.provenance)
    tables.LEFT_OUT.write(left_out, job.output.left_out, job.provenance)
