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
        sequences=lambda wildcards: (
            f"results/{RUN}/sequences/{SETTINGS[wildcards.model]['tokenizer']}.parquet"
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
        model=on_backend,
        part=part_of("score"),
        top_k=config["scoring"]["top_k"],
        policies=config["scoring"]["policies"],
        code=code_of("score.py"),
    script:
        "../scripts/score.py"


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
