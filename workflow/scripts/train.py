from memfoil import tables, testbed
from memfoil.models import load_tokenizer
from memfoil.workflow import stage

with stage(snakemake) as job:
    training = testbed.train(
        tables.CORPUS.read(job.input.corpus),
        load_tokenizer(job.input.tokenizer),
        job.output.model,
        settings=testbed.Settings(**job.params.settings),
        seed=job.params.seed,
        progress=job.progress,
    )
    tables.TRAINING.write(training, job.output.training, job.provenance)
