from memfoil import tables
from memfoil.census.texts import by_name
from memfoil.census.windows import windows_of_texts
from memfoil.models import load_tokenizer
from memfoil.workflow import stage

with stage(snakemake) as job:
    windows, left_out = windows_of_texts(
        by_name(tables.CENSUS_TEXTS.read(job.input.texts)),
        job.params.texts,
        load_tokenizer(job.params.source, revision=job.params.revision),
        prefix_tokens=job.params.prefix_tokens,
        suffix_tokens=job.params.suffix_tokens,
        stride=job.params.stride,
    )
    tables.CENSUS_WINDOWS.write(windows, job.output.windows, job.provenance)
    tables.LEFT_OUT.write(left_out, job.output.left_out, job.provenance)
