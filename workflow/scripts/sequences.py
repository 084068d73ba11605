from memfoil import tables
from memfoil.models import load_tokenizer
from memfoil.sampling.sequences import sequences
from memfoil.workflow import stage

with stage(snakemake) as job:
    kept, left_out = sequences(
        tables.DRAWS.read(job.input.draws),
        tables.PASSAGES.read(job.input.passages),
        load_tokenizer(job.params.source, revision=job.params.revision),
        prefix_tokens=job.params.prefix_tokens,
        suffix_tokens=job.params.suffix_tokens,
    )
    tables.SEQUENCES.write(kept, job.output.sequences, job.provenance)
    tables.LEFT_OUT.write(left_out, job.output.left_out, job.provenance)
