from memfoil import tables
from memfoil.report import Audit, count_left_out, methods, summary
from memfoil.workflow import stage

with stage(snakemake) as job:
    audits = {
        model: Audit(
            sequences=tables.SEQUENCES.read(job.input.sequences[number]),
            scores=tables.SCORES.read(job.input.scores[number]),
            contamination=tables.CONTAMINATION.read(job.input.contamination[number]),
            match=tables.MATCH.read(job.input.match[number]),
            thresholds=tables.THRESHOLDS.read(job.input.thresholds[number]),
            rates=tables.RATES.read(job.input.rates[number]),
            validity=tables.VALIDITY.read(job.input.validity[number]),
        )
        for number, model in enumerate(job.params.models)
    }
    origins = {
        model: tables.provenance_of(job.input.token_scores[number])
        for number, model in enumerate(job.params.models)
    }
    run, left_out = job.wildcards.run, count_left_out(job.input.left_out)
    with tables.atomic(job.output.summary) as temporary:
        temporary.write_text(summary(run, audits, left_out))
    with tables.atomic(job.output.methods) as temporary:
        temporary.write_text(methods(run, audits, job.params.settings, origins, left_out))
