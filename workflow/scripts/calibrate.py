from memfoil import calibration, tables
from memfoil.workflow import stage

with stage(snakemake) as job:
    scores = tables.SCORES.read(job.input.scores)
    sequences = tables.SEQUENCES.read(job.input.sequences)
    contamination = tables.CONTAMINATION.read(job.input.contamination)
    match = tables.MATCH.read(job.input.match)
    splits = tables.SPLITS.read(job.input.splits) if job.input.get("splits") else None
    lengths = job.params.suffix_tokens

    thresholds = calibration.thresholds(
        scores,
        sequences,
        contamination,
        alphas=job.params.alphas,
        confidence=job.params.confidence,
    )
    calibration.refuse_uncertifiable(thresholds)
    tables.THRESHOLDS.write(thresholds, job.output.thresholds, job.provenance)
    rates = calibration.rates(scores, sequences, thresholds, match, splits)
    tables.RATES.write(rates, job.output.rates, job.provenance)
    points = calibration.operating_points(
        scores,
        sequences,
        contamination,
        match,
        suffix_tokens=lengths,
        points=job.params.operating_points,
    )
    tables.RATES.write(points, job.output.operating_points, job.provenance)
    claims = calibration.claims(
        scores,
        sequences,
        contamination,
        thresholds,
        match,
        suffix_tokens=lengths,
        queries=job.params.query_budget,
        success=job.params.success,
        seed=job.params.seed,
    )
    tables.CLAIMS.write(claims, job.output.claims, job.provenance)
