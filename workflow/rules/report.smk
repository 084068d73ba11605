FIGURES = configuration.figures(config)


rule figures:
    """Draw what the tables of one model say, beside them."""
    input:
        unpack(judged),
        thresholds="results/{run}/calibration/{model}/thresholds.parquet",
        rates="results/{run}/calibration/{model}/rates.parquet",
        operating_points="results/{run}/calibration/{model}/operating_points.parquet",
        claims="results/{run}/calibration/{model}/claims.parquet",
        validity="results/{run}/calibration/{model}/validity.parquet",
    output:
        **{
            name: report(
                f"results/{{run}}/calibration/{{model}}/{name}.svg",
                caption=f"../report/{name}.rst",
                category="Audit",
                subcategory="{model}",
                labels={"figure": name.replace("_", " ")},
            )
            for name in FIGURES
        },
        pictures=[
            f"results/{{run}}/calibration/{{model}}/{name}.png" for name in FIGURES
        ],
    log:
        "logs/{run}/figures/{model}.log",
    benchmark:
        "benchmarks/{run}/figures/{model}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        figures=FIGURES,
        procedure=config["report"]["procedure"],
        suffix_tokens=config["calibration"]["suffix_tokens"],
        alphas=config["calibration"]["alphas"],
        query_budget=config["calibration"]["query_budget"],
        success=config["calibration"]["success"],
        law_at=config["report"]["law_at"],
        control_pools=[
            pool["name"] for pool in config["pools"] if pool["role"] == "control"
        ],
        code=code_of("figures.py"),
    script:
        "../scripts/figures.py"


rule report_tables:
    """The tables of one model that a person reads, as the report shows them."""
    input:
        unpack(judged),
        thresholds="results/{run}/calibration/{model}/thresholds.parquet",
        rates="results/{run}/calibration/{model}/rates.parquet",
        claims="results/{run}/calibration/{model}/claims.parquet",
    output:
        **{
            name: report(
                f"results/{{run}}/report/{{model}}/{name}.csv",
                caption=f"../report/table_{name}.rst",
                category="Audit",
                subcategory="{model}",
                labels={"table": name.replace("_", " ")},
            )
            for name in ["rates", "thresholds", "claims", "contamination", "match"]
        },
    log:
        "logs/{run}/report_tables/{model}.log",
    benchmark:
        "benchmarks/{run}/report_tables/{model}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        suffix_tokens=config["calibration"]["suffix_tokens"],
        procedure=config["report"]["procedure"],
        code=code_of("report_tables.py"),
    script:
        "../scripts/report_tables.py"


rule summary:
    """The main numbers of the run on one page, and what a section on methods has to say of it."""
    input:
        sequences=of_each_model("sequences/{tokenizer}"),
        scores=of_each_model("scores/{model}"),
        contamination=of_each_model("contamination/{tokenizer}"),
        match=of_each_model("match/{tokenizer}"),
        token_scores=of_each_model("token_scores/{model}"),
        thresholds=of_each_model("calibration/{model}/thresholds"),
        rates=of_each_model("calibration/{model}/rates"),
        validity=of_each_model("calibration/{model}/validity"),
        left_out=expand(
            "results/{run}/left_out/{stage}.parquet",
            run=RUN,
            stage=["documents", "passages", "draws"]
            + [
                f"sequences/{SETTINGS[name]['tokenizer']}" for name in config["models"]
            ],
        ),
    output:
        summary=report(
            "results/{run}/summary.md",
            caption="../report/summary.rst",
            category="Summary",
        ),
        methods=report(
            "results/{run}/methods.md",
            caption="../report/methods.rst",
            category="Summary",
        ),
    log:
        "logs/{run}/summary.log",
    benchmark:
        "benchmarks/{run}/summary.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        models=config["models"],
        settings={name: SETTINGS[name] for name in config["models"]},
        code=code_of("summary.py"),
    script:
        "../scripts/summary.py"
