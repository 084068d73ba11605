rule decontaminate:
    """Say which controls are members of the training text, with the evidence."""
    input:
        sequences="results/{run}/sequences/{tokenizer}.parquet",
        tokenizer=lambda wildcards: tokenizer_of(wildcards.tokenizer),
        index=lambda wildcards: index_of(wildcards.tokenizer),
        review=branch(
            config["decontamination"]["review"],
            then=config["decontamination"]["review"],
        ),
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
        mem_mb=4000,
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
