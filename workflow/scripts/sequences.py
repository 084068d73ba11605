from memfoil import sampling, tables
from memfoil.models import load_tokenizer
from memfoil.workflow import stage

with stage(snakemake) as job:
    sequences, left_out = sampling.sequences(
        tables.DRAWS.read(job.input.draws),
        tables.PASSAGES.read(job.input.passages),
        load_tokenizer(job.params.source, revision=job.params.revision),
        prefix_tokens=job.params.prefix_tokens,
        suffix_tokens=job.params.suffix_tokens,
    )
    tables.SEQUENCES.write(sequences, job.output.sequences, job.provenance)
    tables.LEFT_OUT.write(left_out, job.output.left_out, job.provenance)
