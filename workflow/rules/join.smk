# The tables of the stages that are split into parts.
SPLIT = {
    "score": "token_scores/{model}",
    "trace": "propensity/{model}/{text}/{traced}",
    "search": "prompts/{extent}/{model}/{frame}/{searched}",
}

for stage, table in SPLIT.items():
    if config["parts"][stage] > 1:

        rule:
            """The parts of a table as one."""
            name:
                f"join_{stage}"
            input:
                parts=parts_of(stage, f"results/{{run}}/{table}"),
            output:
                table=f"results/{{run}}/{table}.parquet",
            log:
                f"logs/{{run}}/join/{table}.log",
            benchmark:
                f"benchmarks/{{run}}/join/{table}.tsv"
            wildcard_constraints:
                traced="spans|traces|reproduction",
                searched="(compression|multi_prefix)(_runs|_losses)?",
            conda:
                "../../envs/memfoil.yaml"
            resources:
                mem_mb=grows(2000),
                runtime=grows(60),
            params:
                code=code_of("join.py"),
            script:
                "../scripts/join.py"
