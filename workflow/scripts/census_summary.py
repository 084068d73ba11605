import pandas as pd

from memfoil import tables
from memfoil.report import count_left_out
from memfoil.report.census import summary
from memfoil.workflow import stage

with stage(snakemake) as job:

    def every(table, name):
        return pd.concat([table.read(path) for path in job.input[name]], ignore_index=True)

    controls = [
        tables.CENSUS_CONTROLS.read(path).assign(model=model)
        for path, model in zip(job.input.controls, job.params.models, strict=True)
    ]
    text = summary(
        every(tables.CENSUS_THRESHOLDS, "thresholds"),
        every(tables.CENSUS, "census"),
        every(tables.CENSUS_RECOVERY, "recovery"),
        every(tables.CENSUS_TRUTH, "truth"),
        pd.concat(controls, ignore_index=True),
        every(tables.NEAR_VERBATIM, "costs"),
        count_left_out(job.input.left_out),
        job.params.warnings,
    )
    with tables.atomic(job.output.summary) as temporary:
        temporary.write_text(text)
