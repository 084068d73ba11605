

rule census_reader:
    """One document to read, coloured by what of it is memorized."""
    input:
        texts="results/{run}/census/texts.parquet",
        windows=windows_of,
        heat="results/{run}/census/{model}/heat.parquet",
        thresholds="results/{run}/census/{model}/thresholds.parquet",
    output:
        page=report(
            "results/{run}/census/{model}/{pair}.html",
            caption="../report/census_reader.rst",
            category="Census",
            labels={"figure": "reader", "model": "{model}", "pair": "{pair}"},
        ),
    log:
        "logs/{run}/census/reader/{model}/{pair}.log",
    benchmark:
        "benchmarks/{run}/census/reader/{model}/{pair}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        document=lambda wildcards: PAIRS[wildcards.pair].document,
        query_budget=config["calibration"]["query_budget"],
        success=config["calibration"]["success"],
        show_text=CENSUS["show_text"],
        code=code_of("census_reader.py"),
        page=digest(PACKAGE / "report/reader"),
    script:
        "../scripts/census_reader.py"
