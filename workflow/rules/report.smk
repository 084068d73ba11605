# Each figure and the tables it reads.
FIGURES = {}


rule summary:
    """The main numbers of the run on one page."""
    input:
        sequences=of_each_model("sequences/{tokenizer}"),
        scores=of_each_model("scores/{model}"),
        contamination=of_each_model("contamination/{tokenizer}"),
        match=of_each_model("match/{tokenizer}"),
        thresholds=of_each_model("calibration/{model}/thresholds"),
        rates=of_each_model("calibration/{model}/rates"),
        validity=of_each_model("calibration/{model}/validity"),
        left_out=left_out_lists(),
    output:
        summary=report(
            "results/{run}/summary.md", caption="../report/summary.rst", category="Summary"
        ),
    params:
        models=config["models"],
        code=code_of("summary.py"),
    log:
        "logs/{run}/summary.log",
    benchmark:
        "benchmarks/{run}/summary.tsv"
    resources:
        mem_mb=4000,
    conda:
        "../../envs/memfoil.yaml"
    script:
        "../scripts/summary.py"
