from memfoil import tables
from memfoil.models import Decoding, load_backend, load_tokenizer
from memfoil.propensity.generations import continuations
from memfoil.workflow import stage

with stage(snakemake) as job:
    generations = continuations(
        load_backend(**job.params.model),
        tables.PROMPTS.read(job.input.prompts),
        load_tokenizer(**job.params.tokenizer),
        Decoding(**job.params.decoding),
        seed=job.params.seed,
        progress=job.progress,
    )
    tables.GENERATIONS.write(generations, job.output.generations, job.provenance)
