from memfoil import figures, tables
from memfoil.workflow import stage

with stage(snakemake) as job:
    scores = tables.SCORES.read(job.input.scores)
    sequences = tables.SEQUENCES.read(job.input.sequences)
    members = tables.CONTAMINATION.read(job.input.contamination)
    match = tables.MATCH.read(job.input.match)
    thresholds = tables.THRESHOLDS.read(job.input.thresholds)
    rates = tables.RATES.read(job.input.rates)
    points = tables.RATES.read(job.input.operating_points)
    claims = tables.CLAIMS.read(job.input.claims)
    validity = tables.VALIDITY.read(job.input.validity)

    alphas = job.params.alphas
    shown = {"procedure": job.params.procedure, "suffix_tokens": job.params.suffix_tokens}
    clean = {"decontaminated": True}
    drawn = {
        "greedy_rates": lambda: figures.greedy_rates(scores, sequences, members),
        "tail_distribution": lambda: figures.tail_distribution(
            scores, sequences, thresholds, alpha=min(alphas), contamination=members, **shown
        ),
        "operating_points": lambda: figures.operating_points(points, **shown, **clean),
        "suffix_sweep": lambda: figures.suffix_sweep(
            rates, procedure=job.params.procedure, alphas=alphas, **clean
        ),
        "decontamination": lambda: figures.decontamination(thresholds, **shown),
        "margin": lambda: figures.margin(claims, sequences, alpha=min(alphas), **shown, **clean),
        "query_budget": lambda: figures.query_budget(
            claims,
            scores,
            sequences,
            alpha=min(alphas),
            control_pool=job.params.control_pools[0],
            budget=job.params.query_budget,
            success=job.params.success,
            contamination=members,
            **shown,
        ),
        "repetitions": lambda: figures.repetitions(
            rates, suffix_tokens=job.params.suffix_tokens, alpha=min(alphas), **clean
        ),
        "control_pools": lambda: figures.control_pools(
            scores,
            sequences,
            thresholds,
            reference=job.params.control_pools[0],
            looser=job.params.control_pools[-1],
            contamination=members,
            **shown,
        ),
        "validity": lambda: figures.validity(
            validity,
            procedure=job.params.procedure,
            suffix_tokens=max(job.params.suffix_tokens),
            alpha=job.params.law_at,
        ),
        "match_check": lambda: figures.match_check(match),
    }
    for name, picture in zip(job.params.figures, job.output.pictures, strict=True):
        figure = drawn[name]()
        figures.save(figure, job.output[name])
        figures.save(figure, picture)
