from memfoil import decontaminate, tables, tracing
from memfoil.models import load_tokenizer, tokenizer_digest
from memfoil.workflow import stage

with stage(snakemake) as job:
    generations = tables.GENERATIONS.read(job.input.generations)
    tokenizer = load_tokenizer(job.params.source, revision=job.params.revision)
    index = decontaminate.training_index(
        job.input.index,
        tokenizer=(job.params.tokenizer, tokenizer_digest(tokenizer)),
        vocab_size=len(tokenizer),
        threads=job.threads,
    )
    reader = tracing.Reader(tokenizer, len(tokenizer))
    spans = tracing.maximal_spans(generations, index)
    tables.SPANS.write_parts(spans, job.output.spans, job.provenance)
    traces = tracing.trace(generations, index, seed=job.params.seed, reader=reader)
    tables.TRACES.write_parts(traces, job.output.traces, job.provenance)
    found = tables.TRACES.read(job.output.traces)
    tracing.write_page(generations, found, reader, job.output.page, title=job.wildcards.model)
