rule calibrate:
    """Thresholds, claims and rates at a fixed false-positive rate."""
    input:
        unpack(judged),
    output:
        thresholds="results/{run}/calibration/{model}/thresholds.parquet",
        rates="results/{run}/calibration/{model}/rates.parquet",
        operating_points="results/{run}/calibration/{model}/operating_points.parquet",
        claims="results/{run}/calibration/{model}/claims.parquet",
    log:
        "logs/{run}/calibrate/{model}.log",
    benchmark:
        "benchmarks/{run}/calibrate/{model}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        alphas=config["calibration"]["alphas"],
        suffix_tokens=config["calibration"]["suffix_tokens"],
        operating_points=config["calibration"]["operating_points"],
        confidence=config["calibration"]["confidence"],
        query_budget=config["calibration"]["query_budget"],
        success=config["calibration"]["success"],
        seed=config["seed"],
        code=code_of("calibrate.py"),
    script:
        "../scripts/calibrate.py"


rule validity:
    """Realized false-positive rates over random re-splits of known non-members."""
    input:
        unpack(judged),
    output:
        validity="results/{run}/calibration/{model}/validity.parquet",
    log:
        "logs/{run}/validity/{model}.log",
    benchmark:
        "benchmarks/{run}/validity/{model}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        alphas=config["validity"]["alphas"],
        splits=config["validity"]["splits"],
        suffix_tokens=config["calibration"]["suffix_tokens"],
        seed=config["seed"],
        code=code_of("validity.py"),
    script:
        "../scripts/validity.py"


rule paired:
    """Differences between the models of one tokenizer, on the same candidates."""
    input:
        claims=lambda wildcards: expand(
            "results/{run}/calibration/{model}/claims.parquet",
            run=wildcards.run,
            model=sharing(wildcards.tokenizer),
        ),
    output:
        paired="results/{run}/paired/{tokenizer}.parquet",
    log:
        "logs/{run}/paired/{tokenizer}.log",
    benchmark:
        "benchmarks/{run}/paired/{tokenizer}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=4000,
    params:
        models=lambda wildcards: sharing(wildcards.tokenizer),
        code=code_of("paired.py"),
    script:
        "../scripts/paired.py"
