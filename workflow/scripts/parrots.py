from memfoil import models, tables
from memfoil.prompts.frames import frame
from memfoil.prompts.parrot import parrot, read_templates
from memfoil.workflow import stage

with stage(snakemake) as job:
    model = models.load(**job.params.model)
    parrots = parrot(
        model,
        frame(model, job.wildcards.frame),
        tables.TARGETS.read(job.input.targets),
        read_templates(job.input.templates),
        job.progress,
    )
    tables.PARROTS.write(parrots, job.output.parrots, job.provenance)
