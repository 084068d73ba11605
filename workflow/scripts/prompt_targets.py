from memfoil import tables
from memfoil.models import load_tokenizer
from memfoil.prompts.frames import plain
from memfoil.prompts.targets import collect
from memfoil.workflow import stage

with stage(snakemake) as job:
    sequences, splits = job.input.get("sequences"), job.input.get("splits")
    targets, left_out = collect(
        job.params.sets,
        plain(load_tokenizer(job.params.source, revision=job.params.revision)),
        sequences=tables.SEQUENCES.read(sequences) if sequences else None,
        splits=tables.SPLITS.read(splits) if splits else None,
        seed=job.params.seed,
    )
    tables.TARGETS.write(targets, job.output.targets, job.provenance)
    tables.LEFT_OUT.write(left_out, job.output.left_out, job.provenance)
