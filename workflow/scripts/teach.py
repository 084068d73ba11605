from memfoil import tables, testbed
from memfoil.prompts.parrot import read_templates
from memfoil.testbed.teach import teach
from memfoil.workflow import stage

with stage(snakemake) as job:
    training = teach(
        job.input.model,
        tables.CORPUS.read(job.input.corpus),
        read_templates(job.input.templates),
        job.output.model,
        settings=testbed.Settings(**job.params.settings),
        examples=job.params.examples,
        piece_tokens=job.params.piece_tokens,
        seed=job.params.seed,
        progress=job.progress,
    )
    tables.TRAINING.write(training, job.output.training, job.provenance)
