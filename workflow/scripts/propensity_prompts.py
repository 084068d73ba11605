from memfoil import tables
from memfoil.models import load_tokenizer
from memfoil.models.embeddings import load_embedder
from memfoil.propensity.corpus import open_for
from memfoil.propensity.prompts import Plan, prompts
from memfoil.propensity.sentences import everyday, tatoeba
from memfoil.workflow import stage

with stage(snakemake) as job:
    drawn = tables.DRAWS.read(job.input.draws)
    unseen = drawn[drawn["pool"].isin(job.params.specific)].merge(
        tables.PASSAGES.read(job.input.passages).drop(columns="source"), on="passage_id"
    )
    plan, generic = Plan(**job.params.plan, seed=job.params.seed), job.params.generic
    tokenizer = load_tokenizer(**job.params.tokenizer)
    frame, left_out = prompts(
        plan,
        open_for(job.params.index, tokenizer),
        tokenizer,
        tatoeba(generic, plan.language) if generic else everyday(),
        unseen.rename(columns={"pool": "source"}),
        load_embedder(**job.params.embedding),
        job.progress,
    )
    tables.PROMPTS.write(frame, job.output.prompts, job.provenance)
    tables.LEFT_OUT.write(left_out, job.output.left_out, job.provenance)
