from memfoil import tables
from memfoil.census import pairs, texts
from memfoil.workflow import stage

with stage(snakemake) as job:
    documents = job.input.get("documents")
    names = [name for _, *both in job.params.pairs for name in both]
    frame, left_out = texts.read_all(names, tables.DOCUMENTS.read(documents) if documents else None)
    pairs.refuse_same_texts(job.params.pairs, texts.by_name(frame))
    tables.CENSUS_TEXTS.write(frame, job.output.texts, job.provenance)
    tables.LEFT_OUT.write(left_out, job.output.left_out, job.provenance)
