from pathlib import Path

import pandas as pd

from memfoil import figures, tables
from memfoil.report import prompts
from memfoil.workflow import stage

TABLES = {
    "criteria": tables.PROMPT_CRITERIA,
    "compression": tables.COMPRESSION,
    "compression_runs": tables.PROMPT_RUNS,
    "multi_prefix": tables.MULTI_PREFIX,
    "multi_prefix_runs": tables.PROMPT_RUNS,
    "parrots": tables.PARROTS,
    "compression_losses": tables.PROMPT_LOSSES,
    "multi_prefix_losses": tables.PROMPT_LOSSES,
}

with stage(snakemake) as job:
    targets = tables.TARGETS.read(job.input.targets)
    read = {name: TABLES[name].read(path) for name, path in job.input.items() if name in TABLES}
    title = f"{job.wildcards.model}, {job.wildcards.frame}"
    Path(job.output.summary).write_text(prompts.page(title, targets, read))
    figures.save(figures.prompt_criteria(read["criteria"]), job.output.criteria)
    losses = [frame for name, frame in read.items() if name.endswith("_losses")]
    runs = [frame for name, frame in read.items() if name.endswith("_runs")]
    figures.save(
        figures.prompt_searches(targets, pd.concat(losses), pd.concat(runs))
        if runs
        else figures.parrot_scores(targets, read["parrots"]),
        job.output.searches,
    )
