rule draw:
    """Draw candidates and controls by one rule, each passage by its own random key."""
    input:
        passages="results/{run}/passages.parquet",
        splits=branch(config["testbed"], then="results/{run}/testbed/splits.parquet"),
    output:
        draws="results/{run}/draws.parquet",
        left_out="results/{run}/left_out/draws.parquet",
    log:
        "logs/{run}/draw.log",
    benchmark:
        "benchmarks/{run}/draw.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(2000),
        runtime=grows(60),
    params:
        pools=config["pools"],
        max_per_document=config["sampling"]["max_per_document"],
        seed=config["seed"],
        code=code_of("draw.py"),
    script:
        "../scripts/draw.py"


rule sequences:
    """Cut prefix and suffix from the drawn passages with a model's tokenizer."""
    input:
        draws="results/{run}/draws.parquet",
        passages="results/{run}/passages.parquet",
        tokenizer=lambda wildcards: tokenizer_of(wildcards.tokenizer),
    output:
        sequences="results/{run}/sequences/{tokenizer}.parquet",
        left_out="results/{run}/left_out/sequences/{tokenizer}.parquet",
    log:
        "logs/{run}/sequences/{tokenizer}.log",
    benchmark:
        "benchmarks/{run}/sequences/{tokenizer}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(2000),
        runtime=grows(60),
    params:
        source=lambda wildcards: tokenizer_source(wildcards.tokenizer),
        revision=lambda wildcards: revision_of(wildcards.tokenizer),
        prefix_tokens=config["sampling"]["prefix_tokens"],
        suffix_tokens=config["sampling"]["suffix_tokens"],
        code=code_of("sequences.py"),
    script:
        "../scripts/sequences.py"


rule match:
    """How well candidates and controls are matched, without any model."""
    input:
        sequences="results/{run}/sequences/{tokenizer}.parquet",
    output:
        match="results/{run}/match/{tokenizer}.parquet",
    log:
        "logs/{run}/match/{tokenizer}.log",
    benchmark:
        "benchmarks/{run}/match/{tokenizer}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        seed=config["seed"],
        code=code_of("match.py"),
    script:
        "../scripts/match.py"
