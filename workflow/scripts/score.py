from dataclasses import replace

from memfoil.models import hub_input, load_backend
from memfoil.scoring import require_own_tokens, write_token_scores
from memfoil.workflow import stage

with stage(snakemake) as job:
    model = load_backend(**job.params.model)
    require_own_tokens(job.input.sequences, model.tokenizer, model.folder)
    named = job.params.model["folder"], job.params.model["revision"]
    write_token_scores(
        model,
        job.input.sequences,
        job.output.token_scores,
        part=job.params.part,
        top_k=job.params.top_k,
        policies=job.params.policies,
        provenance=replace(
            job.provenance, inputs={**job.provenance.inputs, **hub_input(*named, model.folder)}
        ),
        progress=job.progress,
    )
