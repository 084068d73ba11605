from memfoil import tables
from memfoil.census import maps, recovery, results
from memfoil.census.case import Budget, read_cases
from memfoil.census.texts import by_name
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
    budget = Budget(job.params.query_budget, job.params.success)
    thresholds = results.thresholds(cases, job.params.prefix_tokens)
    beams = [tables.BEAM_SEARCHES.read(path) for path in job.input.beam_searches]
    truth = [tables.PASSAGES.read(path) for path in job.input.passages]
    truth += [tables.SPLITS.read(path) for path in job.input.splits]
    written = {
        "thresholds": (tables.CENSUS_THRESHOLDS, thresholds),
        "census": (tables.CENSUS, results.coverage(cases, thresholds, budget)),
        "curves": (tables.CENSUS_CURVES, results.curves(cases, thresholds, budget)),
        "recovery": (
            tables.CENSUS_RECOVERY,
            recovery.recovery(cases, beams, thresholds, budget, decoding=near["decoding"]),
        ),
        "heat": (tables.CENSUS_HEAT, maps.heat_runs(cases, budget)),
        "truth": (tables.CENSUS_TRUTH, maps.truth(cases, thresholds, *(truth or (None, None)))),
    }
    for name, (table, frame) in written.items():
        table.write(frame, job.output[name], job.provenance)
