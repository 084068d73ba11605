from memfoil import tables
from memfoil.census.case import Budget
from memfoil.report.reader import book, reader
from memfoil.workflow import stage

with stage(snakemake) as job:
    own = book(
        job.wildcards.pair,
        job.wildcards.model,
        job.params.document,
        tables.CENSUS_TEXTS.read(job.input.texts),
        tables.CENSUS_WINDOWS.read(job.input.windows),
    )
    page = reader(
        own,
        tables.CENSUS_HEAT.read(job.input.heat),
        tables.CENSUS_THRESHOLDS.read(job.input.thresholds),
        Budget(job.params.query_budget, job.params.success),
        show_text=job.params.show_text,
    )
    with tables.atomic(job.output.page) as temporary:
        temporary.write_text(page, encoding="utf-8")
