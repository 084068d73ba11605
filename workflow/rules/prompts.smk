rule prompt_targets:
    """Collect the short sequences that prompts are sought for."""
    input:
        unpack(targets_from),
    output:
        targets="results/{run}/prompts/{extent}/targets/{tokenizer}.parquet",
        left_out="results/{run}/left_out/prompts/{extent}/{tokenizer}.parquet",
    log:
        "logs/{run}/prompt_targets/{extent}/{tokenizer}.log",
    benchmark:
        "benchmarks/{run}/prompt_targets/{extent}/{tokenizer}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(2000),
        runtime=grows(60),
    params:
        source=lambda wildcards: tokenizer_source(wildcards.tokenizer),
        revision=lambda wildcards: revision_of(wildcards.tokenizer),
        sets=lambda wildcards: prompt_settings.target_sets(config, wildcards.extent),
        seed=config["seed"],
        code=code_of("prompt_targets.py"),
    script:
        "../scripts/prompt_targets.py"


rule prompt_contamination:
    """Say which control targets occur in the training text."""
    input:
        targets="results/{run}/prompts/{extent}/targets/{tokenizer}.parquet",
        tokenizer=lambda wildcards: tokenizer_of(wildcards.tokenizer),
        index=lambda wildcards: as_input(index_of(wildcards.tokenizer)),
    output:
        contamination="results/{run}/prompts/{extent}/contamination/{tokenizer}.parquet",
    log:
        "logs/{run}/prompt_contamination/{extent}/{tokenizer}.log",
    benchmark:
        "benchmarks/{run}/prompt_contamination/{extent}/{tokenizer}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        source=lambda wildcards: tokenizer_source(wildcards.tokenizer),
        revision=lambda wildcards: revision_of(wildcards.tokenizer),
        max_piece_count=config["decontamination"]["max_piece_count"],
        code=code_of("prompt_contamination.py"),
    script:
        "../scripts/prompt_contamination.py"


rule compression:
    """Look for the shortest prompt that makes a model say each target."""
    input:
        targets=targets_of,
        model=lambda wildcards: folder_of(wildcards.model),
        draft=drafting(),
    output:
        **{
            name: f"{SEARCH}/{name}{SEARCHED}.parquet"
            for name in MEASURES["compression"]
        },
    log:
        f"logs/{{run}}/compression/{{extent}}/{{model}}.{{frame}}{SEARCHED}.log",
    benchmark:
        f"benchmarks/{{run}}/compression/{{extent}}/{{model}}.{{frame}}{SEARCHED}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows_with_model,
        runtime=grows(480),
        gpu=gpus_of,
    params:
        model=lambda wildcards: loading(wildcards.model),
        draft=loading(config["prompts"]["gcg"]["draft"]),
        top_k=config["prompts"]["gcg"]["top_k"],
        width=config["prompts"]["gcg"]["width"],
        steps=config["prompts"]["compression"]["steps"],
        longest=config["prompts"]["compression"]["longest"],
        journal=f"results/{{run}}/prompts/journals/compression.{{model}}.{{frame}}{SEARCHED}.jsonl",
        part=part_of("search"),
        seed=config["seed"],
        code=code_of("compression.py"),
    script:
        "../scripts/compression.py"


rule multi_prefix:
    """Look for many distinct prompts that make a model say each target."""
    input:
        targets=targets_of,
        model=lambda wildcards: folder_of(wildcards.model),
        draft=drafting(),
    output:
        **{
            name: f"{SEARCH}/{name}{SEARCHED}.parquet"
            for name in MEASURES["multi_prefix"]
        },
    log:
        f"logs/{{run}}/multi_prefix/{{extent}}/{{model}}.{{frame}}{SEARCHED}.log",
    benchmark:
        f"benchmarks/{{run}}/multi_prefix/{{extent}}/{{model}}.{{frame}}{SEARCHED}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows_with_model,
        runtime=grows(720),
        gpu=gpus_of,
    params:
        model=lambda wildcards: loading(wildcards.model),
        draft=loading(config["prompts"]["gcg"]["draft"]),
        top_k=config["prompts"]["gcg"]["top_k"],
        width=config["prompts"]["gcg"]["width"],
        settings=config["prompts"]["multi_prefix"],
        embedding=config["prompts"]["embedding"],
        journal=f"results/{{run}}/prompts/journals/multi_prefix.{{model}}.{{frame}}{SEARCHED}.jsonl",
        part=part_of("search"),
        seed=config["seed"],
        code=code_of("multi_prefix.py"),
    script:
        "../scripts/multi_prefix.py"


rule parrots:
    """Ask a model to repeat each target that the prompt holds."""
    input:
        targets=targets_of,
        model=lambda wildcards: folder_of(wildcards.model),
        templates=as_input(config["prompts"]["templates"]),
    output:
        parrots=f"{SEARCH}/parrots.parquet",
    log:
        "logs/{run}/parrots/{extent}/{model}.{frame}.log",
    benchmark:
        "benchmarks/{run}/parrots/{extent}/{model}.{frame}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    threads: 2
    resources:
        mem_mb=grows_with_model,
        runtime=grows(120),
        gpu=gpus_of,
    params:
        model=lambda wildcards: loading(wildcards.model),
        code=code_of("parrots.py"),
    script:
        "../scripts/parrots.py"


if config["testbed"]:

    rule teach:
        """Teach the testbed's model to repeat what a prompt holds."""
        input:
            model="results/{run}/testbed/model",
            corpus="results/{run}/testbed/corpus.parquet",
            templates=as_input(config["prompts"]["templates"]),
        output:
            model=directory("results/{run}/testbed/taught"),
            training="results/{run}/testbed/teaching.parquet",
        log:
            "logs/{run}/teach.log",
        benchmark:
            "benchmarks/{run}/teach.tsv"
        conda:
            "../../envs/memfoil.yaml"
        threads: 2
        resources:
            mem_mb=grows(6000),
            runtime=grows(120),
        params:
            settings=config["testbed"]["model"]
            | config["prompts"]["teaching"]["schedule"],
            examples=config["prompts"]["teaching"]["examples"],
            piece_tokens=config["prompts"]["teaching"]["piece_tokens"],
            seed=config["seed"],
            code=code_of("teach.py"),
        script:
            "../scripts/teach.py"


rule prompt_criteria:
    """What published criteria claim of a search, and what its controls support."""
    input:
        unpack(measured),
        targets=targets_of,
    output:
        scores=f"{SEARCH}/scores.parquet",
        thresholds=f"{SEARCH}/thresholds.parquet",
        rates=f"{SEARCH}/rates.parquet",
        criteria=f"{SEARCH}/criteria.parquet",
    log:
        "logs/{run}/prompt_criteria/{extent}/{model}.{frame}.log",
    benchmark:
        "benchmarks/{run}/prompt_criteria/{extent}/{model}.{frame}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(2000),
        runtime=grows(60),
    params:
        alpha=config["prompts"]["alpha"],
        confidence=config["calibration"]["confidence"],
        code=code_of("prompt_criteria.py"),
    script:
        "../scripts/prompt_criteria.py"


rule prompt_report:
    """The page and the figures of one search."""
    input:
        unpack(described),
        targets=targets_of,
        criteria=f"{SEARCH}/criteria.parquet",
    output:
        summary=report(
            f"{SEARCH}/summary.md",
            caption="../report/prompt_summary.rst",
            category="Prompt search",
            subcategory="{model}, {frame}",
            labels={"page": "summary ({extent})"},
        ),
        criteria=report(
            f"{SEARCH}/criteria.svg",
            caption="../report/prompt_criteria.rst",
            category="Prompt search",
            subcategory="{model}, {frame}",
            labels={"page": "criteria ({extent})"},
        ),
        searches=report(
            f"{SEARCH}/searches.svg",
            caption="../report/prompt_searches.rst",
            category="Prompt search",
            subcategory="{model}, {frame}",
            labels={"page": "searches ({extent})"},
        ),
    log:
        "logs/{run}/prompt_report/{extent}/{model}.{frame}.log",
    benchmark:
        "benchmarks/{run}/prompt_report/{extent}/{model}.{frame}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(2000),
        runtime=grows(60),
    params:
        code=code_of("prompt_report.py"),
    script:
        "../scripts/prompt_report.py"


rule prompt_search:
    """All searches on all targets."""
    input:
        of_each_search("full", "summary.md"),
