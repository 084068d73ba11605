from memfoil import tables, testbed
from memfoil.index import build
from memfoil.models import load_tokenizer, tokenizer_digest
from memfoil.propensity.foil import foil_splits
from memfoil.workflow import stage

with stage(snakemake) as job:
    passages = tables.PASSAGES.read(job.input.passages)
    splits = foil_splits(
        tables.SPLITS.read(job.input.splits),
        passages,
        first=job.params.first,
        cutoff=job.params.cutoff,
        seed=job.params.seed,
    )
    tokenizer = load_tokenizer(job.input.tokenizer)
    build(
        testbed.corpus(splits, passages, tokenizer, job.params.seed),
        job.output.index,
        vocab_size=len(tokenizer),
        tokenizer=tokenizer_digest(tokenizer),
    )
    tables.SPLITS.write(splits, job.output.splits, job.provenance)
