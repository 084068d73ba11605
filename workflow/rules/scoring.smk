rule packaged_model:
    """The model that a package carries, as a model folder."""
    output:
        model=directory("results/{run}/models/{package}"),
    log:
        "logs/{run}/packaged_model/{package}.log",
    benchmark:
        "benchmarks/{run}/packaged_model/{package}.tsv"
    wildcard_constraints:
        package="|".join(PACKAGED),
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        package=lambda wildcards: wildcards.package,
        code=code_of("packaged_model.py"),
    script:
        "../scripts/packaged_model.py"


SCORED = infix("score")


rule score:
    """Teacher-forced log-probabilities of every suffix token under one model."""
    input:
        sequences=lambda wildcards: expand(
            "results/{run}/sequences/{tokenizer}.parquet",
            run=wildcards.run,
            tokenizer=SETTINGS[wildcards.model]["tokenizer"],
        ),
        model=lambda wildcards: folder_of(wildcards.model),
    output:
        token_scores=f"results/{{run}}/token_scores/{{model}}{SCORED}.parquet",
    log:
        f"logs/{{run}}/score/{{model}}{SCORED}.log",
    benchmark:
        f"benchmarks/{{run}}/score/{{model}}{SCORED}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    threads: 2
    resources:
        mem_mb=grows_with_model,
        runtime=grows(240),
        gpu=gpus_of,
    params:
        source=lambda wildcards: source_of(wildcards.model),
        revision=lambda wildcards: SETTINGS[wildcards.model]["revision"],
        backend=lambda wildcards: SETTINGS[wildcards.model]["backend"],
        gpus=lambda wildcards: SETTINGS[wildcards.model]["gpus"],
        dtype=lambda wildcards: SETTINGS[wildcards.model]["dtype"],
        device=lambda wildcards: SETTINGS[wildcards.model]["device"],
        start_of_text=lambda wildcards: SETTINGS[wildcards.model]["start_of_text"],
        part=part_of("score"),
        top_k=config["scoring"]["top_k"],
        policies=config["scoring"]["policies"],
        code=code_of("score.py"),
    script:
        "../scripts/score.py"


if config["parts"]["score"] > 1:

    rule join_token_scores:
        """The token scores of all parts in one table."""
        input:
            parts=parts_of(
                "score", f"results/{{run}}/token_scores/{{model}}{SCORED}.parquet"
            ),
        output:
            token_scores="results/{run}/token_scores/{model}.parquet",
        log:
            "logs/{run}/join_token_scores/{model}.log",
        benchmark:
            "benchmarks/{run}/join_token_scores/{model}.tsv"
        conda:
            "../../envs/memfoil.yaml"
        resources:
            mem_mb=grows(2000),
            runtime=grows(60),
        params:
            code=code_of("join_token_scores.py"),
        script:
            "../scripts/join_token_scores.py"


rule scores:
    """One score per sequence, procedure and suffix length, derived from the token scores."""
    input:
        token_scores="results/{run}/token_scores/{model}.parquet",
    output:
        scores="results/{run}/scores/{model}.parquet",
    log:
        "logs/{run}/scores/{model}.log",
    benchmark:
        "benchmarks/{run}/scores/{model}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        procedures=config["calibration"]["procedures"],
        suffix_tokens=config["sampling"]["suffix_tokens"],
        code=code_of("scores.py"),
    script:
        "../scripts/scores.py"
