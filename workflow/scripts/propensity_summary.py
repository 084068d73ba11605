from pathlib import Path

from memfoil import tables
from memfoil.report.propensity import page
from memfoil.workflow import stage

with stage(snakemake) as job:
    read = {
        table.name: table.read(job.input[table.name])
        for table in (
            tables.PROMPTS,
            tables.LEFT_OUT,
            tables.PROMPT_TEXTS,
            tables.PROPENSITY,
            tables.PROMPTED,
            tables.SPAN_COPIES,
            tables.SPAN_RATES,
        )
    }
    Path(job.output.summary).write_text(page(job.wildcards.model, read), encoding="utf-8")
