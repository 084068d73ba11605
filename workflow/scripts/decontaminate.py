from memfoil import decontaminate, tables
from memfoil.models import load_tokenizer, tokenizer_digest
from memfoil.workflow import stage

with stage(snakemake) as job:
    sequences = tables.SEQUENCES.read(job.input.sequences)
    review = job.input.get("review")
    tokenizer = load_tokenizer(job.params.source, revision=job.params.revision)
    index = decontaminate.training_index(
        job.input.index,
        tokenizer=(job.wildcards.tokenizer, tokenizer_digest(tokenizer)),
        vocab_size=len(tokenizer),
        threads=job.threads,
    )
    contamination = decontaminate.verdicts(
        sequences,
        index,
        max_distance=job.params.max_distance,
        ngram_tokens=job.params.ngram_tokens,
        max_piece_count=job.params.max_piece_count,
        decode=tokenizer.decode,
        reviews=decontaminate.read_reviews(review, set(sequences.sequence_id)) if review else None,
    )
    sheet = decontaminate.review_sheet(contamination, near_misses=job.params.near_misses)
    decontaminate.write_review_sheet(sheet, job.output.review)
    tables.CONTAMINATION.write(contamination, job.output.contamination, job.provenance)
