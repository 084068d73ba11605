from memfoil.census import references
from memfoil.index import build
from memfoil.models import load_tokenizer, tokenizer_digest
from memfoil.workflow import stage

with stage(snakemake) as job:
    tokenizer = load_tokenizer(job.params.source, revision=job.params.revision)
    build(
        references.corpus(job.params.folder, tokenizer),
        job.output.index,
        vocab_size=len(tokenizer),
        tokenizer=tokenizer_digest(tokenizer),
    )
