import pandas as pd

from memfoil import tables
from memfoil.propensity import details
from memfoil.propensity.metric import propensity
from memfoil.propensity.spans import span_rates, span_scores
from memfoil.workflow import stage

with stage(snakemake) as job:
    prompts = tables.PROMPTS.read(job.input.prompts)
    generations = tables.GENERATIONS.read(job.input.generations)
    training = tables.REPRODUCTION.read(job.input.training)
    foil = tables.REPRODUCTION.read(job.input.foil) if job.input.get("foil") else None
    drawn = {"resamples": job.params.resamples, "seed": job.params.seed}

    made = {
        tables.PROPENSITY: propensity(training, generations, foil, **drawn),
        tables.PROMPTED: details.prompted(training, generations, prompts, **drawn),
        tables.PROMPT_TEXTS: details.prompt_texts(prompts, **drawn),
        tables.SPAN_COPIES: details.copies(training, generations),
        tables.SPAN_LENGTHS: pd.concat(
            details.span_lengths(frame, generations).assign(text=text)
            for text, frame in (("training", training), ("foil", foil))
            if frame is not None
        ),
        tables.SPAN_SCORES: span_scores(training, foil, generations),
    }
    for table, frame in made.items():
        table.write(frame, job.output[table.name], job.provenance)
    judged = span_rates(job.output.span_scores, generations, job.params.alphas, **drawn)
    tables.SPAN_RATES.write(judged, job.output.span_rates, job.provenance)
