from memfoil import tables
from memfoil.index import build
from memfoil.models import load_tokenizer, tokenizer_digest
from memfoil.sampling.sequences import older_documents
from memfoil.workflow import stage

with stage(snakemake) as job:
    tokenizer = load_tokenizer(job.params.source, revision=job.params.revision)
    corpus = older_documents(
        tables.DOCUMENTS.read(job.input.documents),
        tables.DRAWS.read(job.input.draws),
        tables.PASSAGES.read(job.input.passages),
        tokenizer,
    )
    build(
        corpus,
        job.output.index,
        vocab_size=len(tokenizer),
        tokenizer=tokenizer_digest(tokenizer),
    )
