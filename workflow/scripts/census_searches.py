from memfoil import tables
from memfoil.census import searches
from memfoil.models import load
from memfoil.workflow import stage

with stage(snakemake) as job:
    model = load(**job.params.model)
    search, todo, book = searches.planned(
        model,
        tables.CENSUS_WINDOWS.read(job.input.windows),
        tables.CENSUS_SCORES.read(job.input.scores),
        job.params.document,
        job.params.prefix_tokens,
        **job.params.near_verbatim,
    )
    how = (search, job.provenance, job.progress)
    searches.write_near_verbatim(model, todo, job.output.near_verbatim, *how)
    searches.write_beam_searches(model, book, job.output.beam_searches, *how)
