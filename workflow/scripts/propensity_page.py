from memfoil import tables
from memfoil.models import load_tokenizer
from memfoil.tracing import Reader, write_page
from memfoil.workflow import stage

with stage(snakemake) as job:
    tokenizer = load_tokenizer(**job.params.tokenizer)
    write_page(
        tables.GENERATIONS.read(job.input.generations),
        job.input.traces,
        Reader(tokenizer, len(tokenizer)),
        job.output.page,
        title=f"What {job.wildcards.model} wrote, traced in the {job.wildcards.text} text",
    )
