from memfoil import tables
from memfoil.models import load_tokenizer
from memfoil.propensity.corpus import open_for
from memfoil.tracing import Reader, maximal_spans, reproduced, trace
from memfoil.workflow import stage

with stage(snakemake) as job:
    generations = tables.read_share(tables.GENERATIONS, job.input.generations, job.params.part)
    tokenizer = load_tokenizer(**job.params.tokenizer)
    index = open_for(job.params.index, tokenizer)
    reader = Reader(tokenizer, index.vocab_size)
    tables.SPANS.write_parts(maximal_spans(generations, index), job.output.spans, job.provenance)
    parts = trace(generations, index, seed=job.params.seed, reader=reader)
    tables.TRACES.write_parts(parts, job.output.traces, job.provenance)
    spans, traces = tables.SPANS.read(job.output.spans), tables.TRACES.read(job.output.traces)
    measured = reproduced(generations, spans, traces, index, reader)
    tables.REPRODUCTION.write(measured, job.output.reproduction, job.provenance)
