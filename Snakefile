report: "workflow/report/workflow.rst"


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"


# Constraints of wildcards come before the first rule: where results lie in a store, Snakemake takes
# them away again from the rules that are there when others are added.
if config["census"]:

    include: "workflow/rules/census_inputs.smk"


if config["prompts"]:

    include: "workflow/rules/prompt_inputs.smk"


if config["propensity"]:

    include: "workflow/rules/propensity_inputs.smk"


include: "workflow/rules/documents.smk"
include: "workflow/rules/testbed.smk"
include: "workflow/rules/sampling.smk"
include: "workflow/rules/decontamination.smk"
include: "workflow/rules/scoring.smk"
include: "workflow/rules/calibration.smk"
include: "workflow/rules/report.smk"


if config["census"]:

    include: "workflow/rules/census.smk"
    include: "workflow/rules/reader.smk"


if config["prompts"]:

    include: "workflow/rules/prompts.smk"


if config["propensity"]:

    include: "workflow/rules/propensity.smk"


include: "workflow/rules/join.smk"


rule all:
    """The calibrated audit of every model of the run."""
    default_target: True
    input:
        expand(
            "results/{run}/calibration/{model}/{table}.parquet",
            run=RUN,
            model=config["models"],
            table=["thresholds", "rates", "operating_points", "claims", "validity"],
        ),
        expand(
            "results/{run}/calibration/{model}/{figure}.svg",
            run=RUN,
            model=config["models"],
            figure=FIGURES,
        ),
        expand(
            "results/{run}/report/{model}/claims.csv", run=RUN, model=config["models"]
        ),
        expand(
            "results/{run}/paired/{tokenizer}.parquet",
            run=RUN,
            tokenizer=[name for name in TOKENIZERS if len(sharing(name)) > 1],
        ),
        of_each_search("small", "summary.md"),
        rules.census.input if config["census"] else [],
        rules.propensity.input if config["propensity"] else [],
        expand("results/{run}/summary.md", run=RUN),
