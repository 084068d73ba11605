from memfoil import decontaminate, tables, tracing
from memfoil.models import load_tokenizer, tokenizer_digest
from memfoil.workflow import stage

with stage(snakemake) as job:
    tokenizer = load_tokenizer(job.params.source, revision=job.params.revision)
    index = decontaminate.training_index(
        job.input.index,
        tokenizer=(job.params.tokenizer, tokenizer_digest(tokenizer)),
        vocab_size=len(tokenizer),
        threads=job.threads,
    )
    reproduction = tracing.reproduced(
        tables.GENERATIONS.read(job.input.generations),
        tables.SPANS.read(job.input.spans),
        tables.TRACES.read(job.input.traces),
        index,
        tracing.Reader(tokenizer, len(tokenizer)),
    )
    tables.REPRODUCTION.write(reproduction, job.output.reproduction, job.provenance)
