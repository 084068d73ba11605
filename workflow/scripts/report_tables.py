import csv

from memfoil import tables
from memfoil.report import contaminated, judged_at, shown_claims
from memfoil.workflow import stage

with stage(snakemake) as job:
    sequences = tables.SEQUENCES.read(job.input.sequences)
    lengths = job.params.suffix_tokens
    shown = {
        "rates": judged_at(tables.RATES.read(job.input.rates), lengths),
        "thresholds": judged_at(tables.THRESHOLDS.read(job.input.thresholds), lengths),
        "claims": shown_claims(
            tables.CLAIMS.read(job.input.claims), sequences, job.params.procedure
        ),
        "contamination": contaminated(tables.CONTAMINATION.read(job.input.contamination)),
        "match": tables.MATCH.read(job.input.match),
    }
    for name, frame in shown.items():
        with tables.atomic(job.output[name]) as temporary:
            frame.to_csv(temporary, index=False, float_format="%.6g", quoting=csv.QUOTE_NONNUMERIC)
