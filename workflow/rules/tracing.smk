def tokenizer_name(model):
    return SETTINGS[model]["tokenizer"]


rule trace:
    """Find the spans of every generation that occur in the training text, and where."""
    input:
        generations="results/{run}/generations/{model}.parquet",
        tokenizer=lambda wildcards: tokenizer_of(tokenizer_name(wildcards.model)),
        index=lambda wildcards: index_of(tokenizer_name(wildcards.model)),
    output:
        spans="results/{run}/tracing/{model}/spans.parquet",
        traces="results/{run}/tracing/{model}/traces.parquet",
        page="results/{run}/tracing/{model}/traces.html",
    log:
        "logs/{run}/trace/{model}.log",
    benchmark:
        "benchmarks/{run}/trace/{model}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    threads: 2
    resources:
        mem_mb=4000,
    params:
        source=lambda wildcards: tokenizer_source(tokenizer_name(wildcards.model)),
        revision=lambda wildcards: revision_of(tokenizer_name(wildcards.model)),
        tokenizer=lambda wildcards: tokenizer_name(wildcards.model),
        seed=config["seed"],
        code=code_of("trace.py"),
    script:
        "../scripts/trace.py"


rule reproduction:
    """Measure what every generation reproduces."""
    input:
        generations="results/{run}/generations/{model}.parquet",
        spans="results/{run}/tracing/{model}/spans.parquet",
        traces="results/{run}/tracing/{model}/traces.parquet",
        tokenizer=lambda wildcards: tokenizer_of(tokenizer_name(wildcards.model)),
        index=lambda wildcards: index_of(tokenizer_name(wildcards.model)),
    output:
        reproduction="results/{run}/tracing/{model}/reproduction.parquet",
    log:
        "logs/{run}/reproduction/{model}.log",
    benchmark:
        "benchmarks/{run}/reproduction/{model}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    threads: 2
    resources:
        mem_mb=4000,
    params:
        source=lambda wildcards: tokenizer_source(tokenizer_name(wildcards.model)),
        revision=lambda wildcards: revision_of(tokenizer_name(wildcards.model)),
        tokenizer=lambda wildcards: tokenizer_name(wildcards.model),
        code=code_of("reproduction.py"),
    script:
        "../scripts/reproduction.py"
