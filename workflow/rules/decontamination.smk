rule decontaminate:
    """Say which controls are members of the training text, with the evidence."""
    input:
        sequences="results/{run}/sequences/{tokenizer}.parquet",
        tokenizer=lambda wildcards: tokenizer_of(wildcards.tokenizer),
        index=lambda wildcards: as_input(index_of(wildcards.tokenizer)),
        review=as_input(config["decontamination"]["review"]),
    output:
        contamination="results/{run}/contamination/{tokenizer}.parquet",
        review="results/{run}/contamination/{tokenizer}.review.csv",
    log:
        "logs/{run}/decontaminate/{tokenizer}.log",
    benchmark:
        "benchmarks/{run}/decontaminate/{tokenizer}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    threads: 2
    resources:
        mem_mb=grows(4000),
        runtime=grows(120),
    params:
        source=lambda wildcards: tokenizer_source(wildcards.tokenizer),
        revision=lambda wildcards: revision_of(wildcards.tokenizer),
        max_distance=config["decontamination"]["max_distance"],
        ngram_tokens=config["decontamination"]["ngram_tokens"],
        max_piece_count=config["decontamination"]["max_piece_count"],
        near_misses=config["decontamination"]["near_misses"],
        code=code_of("decontaminate.py"),
    script:
        "../scripts/decontaminate.py"


if config["decontamination"]["index"] == configuration.OLDER:

    rule older_index:
        """Index the run's own documents that are older than every control."""
        input:
            documents="results/{run}/documents.parquet",
            passages="results/{run}/passages.parquet",
            draws="results/{run}/draws.parquet",
            tokenizer=lambda wildcards: tokenizer_of(wildcards.tokenizer),
        output:
            index=directory("results/{run}/index/{tokenizer}"),
        log:
            "logs/{run}/older_index/{tokenizer}.log",
        benchmark:
            "benchmarks/{run}/older_index/{tokenizer}.tsv"
        conda:
            "../../envs/memfoil.yaml"
        resources:
            mem_mb=grows(4000),
            runtime=grows(60),
        params:
            source=lambda wildcards: tokenizer_source(wildcards.tokenizer),
            revision=lambda wildcards: revision_of(wildcards.tokenizer),
            code=code_of("older_index.py"),
        script:
            "../scripts/older_index.py"
