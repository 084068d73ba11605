from memfoil import tables
from memfoil.index import build
from memfoil.models import load_tokenizer, tokenizer_digest
from memfoil.workflow import stage

with stage(snakemake) as job:
    tokenizer = load_tokenizer(job.input.tokenizer)
    build(
        tables.CORPUS.read(job.input.corpus),
        job.output.index,
        vocab_size=len(tokenizer),
        tokenizer=tokenizer_digest(tokenizer),
    )
