from memfoil import decontaminate, tables
from memfoil.census import controls
from memfoil.census.case import read_cases
from memfoil.census.texts import by_name
from memfoil.models import load_tokenizer, tokenizer_digest
from memfoil.workflow import stage

with stage(snakemake) as job:
    texts = by_name(tables.CENSUS_TEXTS.read(job.input.texts))
    cases = read_cases(
        job.wildcards.model,
        job.params.pairs,
        texts,
        list(zip(job.input.windows, job.input.scores, job.input.near_verbatim, strict=True)),
        epsilon=job.params.near_verbatim["epsilon"],
        decoding=job.params.near_verbatim["decoding"],
    )
    tokenizer = load_tokenizer(job.params.source, revision=job.params.revision)
    references = {
        name: decontaminate.training_index(
            path,
            tokenizer=(job.params.tokenizer, tokenizer_digest(tokenizer)),
            vocab_size=len(tokenizer),
            threads=job.threads,
        )
        for name, path in zip(job.params.references, job.input.references, strict=True)
    }
    found, left_out = controls.judge_all(
        cases,
        texts,
        references,
        tokenizer,
        controls.Lookup(**job.params.lookup),
        next(iter(job.input.review), None),
    )
    controls.write_review_sheet(found, job.output.review)
    tables.CENSUS_CONTROLS.write(found, job.output.controls, job.provenance)
    tables.LEFT_OUT.write(left_out, job.output.left_out, job.provenance)
