rule draw:
    """Draw candidates and controls by one rule, each passage by its own random key."""
    input:
        passages="results/{run}/passages.parquet",
        splits=branch(config["testbed"], then="results/{run}/testbed/splits.parquet"),
    output:
        draws="results/{run}/draws.parquet",
        left_out="results/{run}/left_out/draws.parquet",
    params:
        pools=config["pools"],
        max_per_document=config["sampling"]["max_per_document"],
        seed=config["seed"],
        code=code_of("draw.py"),
    log:
        "logs/{run}/draw.log",
    benchmark:
        "benchmarks/{run}/draw.tsv"
    resources:
        mem_mb=2000,
    conda:
        "../../envs/memfoil.yaml"
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
    params:
        source=lambda wildcards, input: input.get("tokenizer")
        or source_of(TOKENIZERS[wildcards.tokenizer]),
        prefix_tokens=config["sampling"]["prefix_tokens"],
        suffix_tokens=config["sampling"]["suffix_tokens"],
        code=code_of("sequences.py"),
    log:
        "logs/{run}/sequences/{tokenizer}.log",
    benchmark:
        "benchmarks/{run}/sequences/{tokenizer}.tsv"
    resources:
        mem_mb=2000,
    conda:
        "../../envs/memfoil.yaml"
    script:
        "../scripts/sequences.py"


rule match:
    """How well candidates and controls are matched, without any model."""
    input:
        sequences="results/{run}/sequences/{tokenizer}.parquet",
    output:
        match="results/{run}/match/{tokenizer}.parquet",
    params:
        seed=config["seed"],
        code=code_of("match.py"),
    log:
        "logs/{run}/match/{tokenizer}.log",
    benchmark:
        "benchmarks/{run}/match/{tokenizer}.tsv"
    resources:
        mem_mb=4000,
    conda:
        "../../envs/memfoil.yaml"
    script:
        "../scripts/match.py"
