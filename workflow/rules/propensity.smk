if config["testbed"]:

    rule propensity_foil:
        """Index as much text of the same kind that was not trained on."""
        input:
            splits="results/{run}/testbed/splits.parquet",
            passages="results/{run}/passages.parquet",
            tokenizer="results/{run}/testbed/tokenizer",
        output:
            index=directory("results/{run}/propensity/foil/{tokenizer}"),
            splits="results/{run}/propensity/foil.{tokenizer}.parquet",
        log:
            "logs/{run}/propensity/foil/{tokenizer}.log",
        benchmark:
            "benchmarks/{run}/propensity/foil/{tokenizer}.tsv"
        conda:
            "../../envs/memfoil.yaml"
        resources:
            mem_mb=grows(4000),
            runtime=grows(120),
        params:
            first=str(config["testbed"]["first"]),
            cutoff=str(config["testbed"]["cutoff"]),
            seed=config["seed"],
            code=code_of("propensity_foil.py"),
        script:
            "../scripts/propensity_foil.py"


rule propensity_prompts:
    """The prompts of five settings; none of ordinary use occurs whole in the training text."""
    input:
        draws="results/{run}/draws.parquet",
        passages="results/{run}/passages.parquet",
        generic=as_input(PROPENSITY["generic"]),
        index=lambda wildcards: fetched(text_index("training", wildcards.reader)),
        tokenizer=files_of_tokens,
    output:
        prompts="results/{run}/propensity/prompts/{reader}.parquet",
        left_out="results/{run}/left_out/propensity/{reader}.parquet",
    log:
        "logs/{run}/propensity/prompts/{reader}.log",
    benchmark:
        "benchmarks/{run}/propensity/prompts/{reader}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    threads: 2
    resources:
        mem_mb=grows(6000),
        runtime=grows(60),
    params:
        index=lambda wildcards: text_index("training", wildcards.reader),
        tokenizer=lambda wildcards: tokens_of(wildcards.reader),
        generic=PROPENSITY["generic"],
        everyday=digest(PACKAGE / "propensity" / "everyday.txt"),
        specific=PROPENSITY["specific"],
        embedding=PROPENSITY["embedding"],
        plan={
            key: PROPENSITY[key]
            for key in (
                "prompts",
                "generations",
                "language",
                "prefix_tokens",
                "document_tokens",
                "similarity_documents",
                "common_share",
            )
        },
        seed=config["seed"],
        code=code_of("propensity_prompts.py"),
    script:
        "../scripts/propensity_prompts.py"


rule propensity_generate:
    """What a model writes behind every prompt."""
    input:
        prompts=lambda wildcards: (
            f"results/{RUN}/propensity/prompts/{reads(wildcards.model)}.parquet"
        ),
        model=lambda wildcards: folder_of(wildcards.model),
        tokenizer=files_of_tokens,
    output:
        generations="results/{run}/propensity/{model}/generations.parquet",
    log:
        "logs/{run}/propensity/generate/{model}.log",
    benchmark:
        "benchmarks/{run}/propensity/generate/{model}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    threads: 2
    resources:
        mem_mb=grows_with_model,
        runtime=grows(240),
        gpu=gpus_of,
    params:
        model=on_backend,
        tokenizer=lambda wildcards: tokens_of(reads(wildcards.model)),
        decoding=PROPENSITY["decoding"],
        seed=config["seed"],
        code=code_of("propensity_generate.py"),
    script:
        "../scripts/propensity_generate.py"


TRACED = infix("trace")


rule propensity_trace:
    """Trace what was written in the training text, and in the foil."""
    input:
        generations="results/{run}/propensity/{model}/generations.parquet",
        index=lambda wildcards: fetched(
            text_index(wildcards.text, reads(wildcards.model))
        ),
        tokenizer=files_of_tokens,
    output:
        **{
            name: f"results/{{run}}/propensity/{{model}}/{{text}}/{name}{TRACED}.parquet"
            for name in ["spans", "traces", "reproduction"]
        },
    log:
        f"logs/{{run}}/propensity/trace/{{model}}.{{text}}{TRACED}.log",
    benchmark:
        f"benchmarks/{{run}}/propensity/trace/{{model}}.{{text}}{TRACED}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(6000),
        runtime=grows(240),
    params:
        index=lambda wildcards: text_index(wildcards.text, reads(wildcards.model)),
        tokenizer=lambda wildcards: tokens_of(reads(wildcards.model)),
        part=part_of("trace"),
        seed=config["seed"],
        code=code_of("propensity_trace.py"),
    script:
        "../scripts/propensity_trace.py"


rule propensity_page:
    """A page to look at the longest traces of a model in one text."""
    input:
        generations="results/{run}/propensity/{model}/generations.parquet",
        traces="results/{run}/propensity/{model}/{text}/traces.parquet",
        tokenizer=files_of_tokens,
    output:
        page=report(
            "results/{run}/propensity/{model}/{text}/traces.html",
            caption="../report/propensity_traces.rst",
            category="Propensity",
            subcategory="{model}",
            labels={"page": "traces in the {text} text"},
        ),
    log:
        "logs/{run}/propensity/page/{model}.{text}.log",
    benchmark:
        "benchmarks/{run}/propensity/page/{model}.{text}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        tokenizer=lambda wildcards: tokens_of(reads(wildcards.model)),
        code=code_of("propensity_page.py"),
    script:
        "../scripts/propensity_page.py"


rule propensity_tables:
    """Rates, propensity, and what predictability explains, with intervals over prompts."""
    input:
        prompts=lambda wildcards: (
            f"results/{RUN}/propensity/prompts/{reads(wildcards.model)}.parquet"
        ),
        generations="results/{run}/propensity/{model}/generations.parquet",
        training=reproduction_in("training"),
        foil=branch(has_foil(), then=reproduction_in("foil")),
    output:
        **{
            name: f"results/{{run}}/propensity/{{model}}/{name}.parquet"
            for name in PROPENSITY_TABLES
        },
    log:
        "logs/{run}/propensity/tables/{model}.log",
    benchmark:
        "benchmarks/{run}/propensity/tables/{model}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        alphas=PROPENSITY["alphas"],
        resamples=PROPENSITY["resamples"],
        seed=config["seed"],
        code=code_of("propensity.py"),
    script:
        "../scripts/propensity.py"


rule propensity_figures:
    """Draw the settings against the attack and against the foil."""
    input:
        **{
            name: f"results/{{run}}/propensity/{{model}}/{name}.parquet"
            for name in ["propensity", "span_lengths", "span_rates"]
        },
    output:
        **{
            name: report(
                f"results/{{run}}/propensity/{{model}}/{name}.svg",
                caption=f"../report/propensity_{name}.rst",
                category="Propensity",
                subcategory="{model}",
                labels={"page": name.replace("_", " ")},
            )
            for name in PROPENSITY_FIGURES
        },
        pictures=[
            f"results/{{run}}/propensity/{{model}}/{name}.png"
            for name in PROPENSITY_FIGURES
        ],
    log:
        "logs/{run}/propensity/figures/{model}.log",
    benchmark:
        "benchmarks/{run}/propensity/figures/{model}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(2000),
        runtime=grows(60),
    params:
        metrics=PROPENSITY["metrics"],
        code=code_of("propensity_figures.py"),
    script:
        "../scripts/propensity_figures.py"


rule propensity_summary:
    """The numbers of one model on one page."""
    input:
        **{
            name: f"results/{{run}}/propensity/{{model}}/{name}.parquet"
            for name in [
                "prompt_texts",
                "propensity",
                "prompted",
                "span_copies",
                "span_rates",
            ]
        },
        prompts=lambda wildcards: (
            f"results/{RUN}/propensity/prompts/{reads(wildcards.model)}.parquet"
        ),
        left_out=lambda wildcards: (
            f"results/{RUN}/left_out/propensity/{reads(wildcards.model)}.parquet"
        ),
    output:
        summary=report(
            "results/{run}/propensity/{model}/summary.md",
            caption="../report/propensity_summary.rst",
            category="Propensity",
            subcategory="{model}",
            labels={"page": "summary"},
        ),
    log:
        "logs/{run}/propensity/summary/{model}.log",
    benchmark:
        "benchmarks/{run}/propensity/summary/{model}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(2000),
        runtime=grows(60),
    params:
        code=code_of("propensity_summary.py"),
    script:
        "../scripts/propensity_summary.py"


rule propensity_models:
    """How much more one model reproduces than another of the run."""
    input:
        reproduction=expand(
            "results/{{run}}/propensity/{model}/training/reproduction.parquet",
            model=["{model}", "{other}"],
        ),
        generations=expand(
            "results/{{run}}/propensity/{model}/generations.parquet",
            model=["{model}", "{other}"],
        ),
    output:
        differences="results/{run}/propensity/{model}/minus/{other}.parquet",
    log:
        "logs/{run}/propensity/models/{model}.{other}.log",
    benchmark:
        "benchmarks/{run}/propensity/models/{model}.{other}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(2000),
        runtime=grows(60),
    params:
        resamples=PROPENSITY["resamples"],
        seed=config["seed"],
        code=code_of("propensity_models.py"),
    script:
        "../scripts/propensity_models.py"


PROPENSITY_RESULTS = [
    f"results/{RUN}/propensity/{name}/{file}"
    for name in config["models"]
    for file in [
        "summary.md",
        *(f"{figure}.svg" for figure in PROPENSITY_FIGURES),
        "training/traces.html",
        *(["foil/traces.html"] if has_foil() else []),
    ]
] + [
    f"results/{RUN}/propensity/{name}/minus/{config['models'][0]}.parquet"
    for name in config["models"][1:]
]


rule propensity:
    """Propensity against capability, of every model of the run."""
    input:
        PROPENSITY_RESULTS,
