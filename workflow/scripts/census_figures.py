from memfoil import tables
from memfoil.census.case import positions, read_cases
from memfoil.census.texts import by_name
from memfoil.figures import census as figures
from memfoil.figures import save
from memfoil.workflow import stage

with stage(snakemake) as job:
    near = job.params.near_verbatim
    cases = read_cases(
        job.wildcards.model,
        job.params.pairs,
        by_name(tables.CENSUS_TEXTS.read(job.input.texts)),
        list(zip(job.input.windows, job.input.scores, job.input.near_verbatim, strict=True)),
        epsilon=near["epsilon"],
        decoding=near["decoding"],
        leaving=frozenset(tables.LEFT_OUT.read(job.input.leaving).item_id),
    )
    prefix = {"prefix_tokens": job.params.prefix_tokens}
    windows = positions(cases, **prefix)
    thresholds = tables.CENSUS_THRESHOLDS.read(job.input.thresholds)
    thresholds = thresholds[thresholds.prefix_tokens == job.params.prefix_tokens]
    curves = tables.CENSUS_CURVES.read(job.input.curves)
    census = tables.CENSUS.read(job.input.census)
    heat = tables.CENSUS_HEAT.read(job.input.heat)
    shown = {"procedure": near["decoding"]}
    drawn = {
        "scores": lambda: figures.census_scores(windows, thresholds, **shown),
        "coverage": lambda: figures.census_coverage(census, **prefix),
        "margin": lambda: figures.census_margin(curves, **prefix),
        "budget": lambda: figures.census_budget(
            curves, query_budget=job.params.query_budget, **prefix
        ),
        "heat": lambda: figures.census_heat(heat, thresholds, **shown, **prefix),
        "positions": lambda: figures.census_positions(windows, thresholds, **shown),
    }
    for name, picture in zip(job.params.figures, job.output.pictures, strict=True):
        figure = drawn[name]()
        save(figure, job.output[name])
        save(figure, picture)
