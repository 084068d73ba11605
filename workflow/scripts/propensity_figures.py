from memfoil import tables
from memfoil.figures import propensity as figures
from memfoil.figures import save
from memfoil.workflow import stage

with stage(snakemake) as job:
    rates = tables.PROPENSITY.read(job.input.propensity)
    lengths = tables.SPAN_LENGTHS.read(job.input.span_lengths)
    spans = tables.SPAN_RATES.read(job.input.span_rates)
    drawn = {
        "propensity": figures.propensity(rates, metrics=job.params.metrics),
        "span_lengths": figures.span_lengths(lengths, spans),
        "long_matches": figures.long_matches(rates, spans),
        "filters": figures.filters(rates),
    }
    for (name, figure), picture in zip(drawn.items(), job.output.pictures, strict=True):
        save(figure, job.output[name])
        save(figure, picture)
