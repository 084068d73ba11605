from memfoil import decontaminate, tables
from memfoil.index import open_index, verify
from memfoil.models import load_tokenizer
from memfoil.workflow import stage

# A target has at least two tokens, and a part of it is another target: only itself counts.
with stage(snakemake) as job:
    tokenizer = load_tokenizer(job.params.source, revision=job.params.revision)
    verify(job.input.index)
    contamination = decontaminate.verdicts(
        tables.TARGETS.read(job.input.targets),
        open_index(job.input.index, threads=job.threads),
        max_distance=0,
        ngram_tokens=2,
        max_piece_count=job.params.max_piece_count,
        decode=tokenizer.decode,
    )
    tables.CONTAMINATION.write(contamination, job.output.contamination, job.provenance)
