rule census_texts:
    """Read the documents and controls, by path or from the run's documents."""
    input:
        documents=branch(
            all(is_path(text) for text in CENSUS_TEXTS),
            otherwise=f"results/{RUN}/documents.parquet",
        ),
        files=[as_input(text) for text in CENSUS_TEXTS if Path(text).is_file()],
    output:
        texts="results/{run}/census/texts.parquet",
        left_out="results/{run}/left_out/census/texts.parquet",
    log:
        "logs/{run}/census/texts.log",
    benchmark:
        "benchmarks/{run}/census/texts.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(2000),
        runtime=grows(60),
    params:
        pairs=[tuple(pair[:3]) for pair in PAIRS.values()],
        code=code_of("census_texts.py"),
    script:
        "../scripts/census_texts.py"


rule census_windows:
    """Cut every window of a document and its control."""
    input:
        texts="results/{run}/census/texts.parquet",
        tokenizer=lambda wildcards: tokenizer_of(wildcards.tokenizer),
    output:
        windows="results/{run}/census/windows/{tokenizer}/{pair}.parquet",
        left_out="results/{run}/left_out/census/windows/{tokenizer}/{pair}.parquet",
    log:
        "logs/{run}/census/windows/{tokenizer}/{pair}.log",
    benchmark:
        "benchmarks/{run}/census/windows/{tokenizer}/{pair}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        source=lambda wildcards: tokenizer_source(wildcards.tokenizer),
        revision=lambda wildcards: revision_of(wildcards.tokenizer),
        texts=lambda wildcards: PAIRS[wildcards.pair][1:3],
        prefix_tokens=max(CENSUS["prefix_tokens"]),
        suffix_tokens=CENSUS["suffix_tokens"],
        stride=CENSUS["stride"],
        code=code_of("census_windows.py"),
    script:
        "../scripts/census_windows.py"


rule census_scores:
    """Score every window under every procedure and length of prefix; resumable."""
    input:
        windows=windows_of,
        model=lambda wildcards: folder_of(wildcards.model),
    output:
        scores="results/{run}/census/scores/{model}/{pair}.parquet",
    log:
        "logs/{run}/census/scores/{model}/{pair}.log",
    benchmark:
        "benchmarks/{run}/census/scores/{model}/{pair}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    threads: CORES_OF_A_PAIR
    resources:
        mem_mb=grows_with_model,
        runtime=grows(240),
        gpu=gpus_of,
    params:
        model=on_backend,
        prefix_tokens=CENSUS["prefix_tokens"],
        procedures=CENSUS["procedures"],
        top_k=config["scoring"]["top_k"],
        code=code_of("census_scores.py"),
    script:
        "../scripts/census_scores.py"


rule census_searches:
    """Near-verbatim mass of the most probable windows, and what beam search recovers."""
    input:
        windows=windows_of,
        scores="results/{run}/census/scores/{model}/{pair}.parquet",
        model=lambda wildcards: folder_of(wildcards.model),
    output:
        near_verbatim="results/{run}/census/near_verbatim/{model}/{pair}.parquet",
        beam_searches="results/{run}/census/beam_searches/{model}/{pair}.parquet",
    log:
        "logs/{run}/census/searches/{model}/{pair}.log",
    benchmark:
        "benchmarks/{run}/census/searches/{model}/{pair}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    threads: CORES_OF_A_PAIR
    resources:
        mem_mb=grows_with_model,
        runtime=grows(480),
        gpu=gpus_of,
    params:
        model=lambda wildcards: loading(wildcards.model),
        document=lambda wildcards: PAIRS[wildcards.pair].document,
        prefix_tokens=CENSUS["prefix_tokens"],
        near_verbatim=CENSUS["near_verbatim"],
        code=code_of("census_searches.py"),
    script:
        "../scripts/census_searches.py"


rule census_reference:
    """Index a folder of texts that controls may have quoted."""
    input:
        folder=folder_of_texts,
        tokenizer=lambda wildcards: tokenizer_of(wildcards.tokenizer),
    output:
        index=directory("results/{run}/census/references/{tokenizer}/{reference}"),
    log:
        "logs/{run}/census/references/{tokenizer}/{reference}.log",
    benchmark:
        "benchmarks/{run}/census/references/{tokenizer}/{reference}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(8000),
        runtime=grows(120),
    params:
        source=lambda wildcards: tokenizer_source(wildcards.tokenizer),
        revision=lambda wildcards: revision_of(wildcards.tokenizer),
        folder=lambda wildcards: REFERENCES[wildcards.reference]["texts"],
        code=code_of("census_reference.py"),
    script:
        "../scripts/census_reference.py"


rule census_controls:
    """Look up the highest windows of the controls; say which are reused text."""
    input:
        texts="results/{run}/census/texts.parquet",
        windows=of_each_pair("windows/{tokenizer}/{pair}"),
        scores=of_each_pair("scores/{model}/{pair}"),
        near_verbatim=of_each_pair("near_verbatim/{model}/{pair}"),
        tokenizer=lambda wildcards: tokenizer_of(SETTINGS[wildcards.model]["tokenizer"]),
        references=lambda wildcards: [
            as_input(path)
            for path in references_of(SETTINGS[wildcards.model]["tokenizer"]).values()
        ],
        review=review_of,
    output:
        controls="results/{run}/census/{model}/controls.parquet",
        review="results/{run}/census/{model}/controls.review.csv",
        left_out="results/{run}/left_out/census/controls/{model}.parquet",
    log:
        "logs/{run}/census/controls/{model}.log",
    benchmark:
        "benchmarks/{run}/census/controls/{model}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    threads: 2
    resources:
        mem_mb=grows(6000),
        runtime=grows(60),
    params:
        source=lambda wildcards: tokenizer_source(
            SETTINGS[wildcards.model]["tokenizer"]
        ),
        revision=lambda wildcards: revision_of(SETTINGS[wildcards.model]["tokenizer"]),
        pairs=lambda wildcards: pairs_of(wildcards.model),
        near_verbatim=CENSUS["near_verbatim"],
        tokenizer=lambda wildcards: SETTINGS[wildcards.model]["tokenizer"],
        references=lambda wildcards: list(
            references_of(SETTINGS[wildcards.model]["tokenizer"])
        ),
        lookup={
            "rank": CENSUS["controls"]["rank"],
            "max_distance": config["decontamination"]["max_distance"],
            "ngram_tokens": config["decontamination"]["ngram_tokens"],
            "max_piece_count": config["decontamination"]["max_piece_count"],
        },
        code=code_of("census_controls.py"),
    script:
        "../scripts/census_controls.py"


rule census_results:
    """Thresholds, coverage, curves, recovery and heat of all pairs of one model."""
    input:
        texts="results/{run}/census/texts.parquet",
        windows=of_each_pair("windows/{tokenizer}/{pair}"),
        scores=of_each_pair("scores/{model}/{pair}"),
        near_verbatim=of_each_pair("near_verbatim/{model}/{pair}"),
        beam_searches=of_each_pair("beam_searches/{model}/{pair}"),
        leaving="results/{run}/left_out/census/controls/{model}.parquet",
        passages=known_truth("passages"),
        splits=known_truth("testbed/splits"),
    output:
        thresholds="results/{run}/census/{model}/thresholds.parquet",
        census="results/{run}/census/{model}/census.parquet",
        curves="results/{run}/census/{model}/curves.parquet",
        recovery="results/{run}/census/{model}/recovery.parquet",
        heat="results/{run}/census/{model}/heat.parquet",
        truth="results/{run}/census/{model}/truth.parquet",
    log:
        "logs/{run}/census/results/{model}.log",
    benchmark:
        "benchmarks/{run}/census/results/{model}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(8000),
        runtime=grows(60),
    params:
        pairs=lambda wildcards: pairs_of(wildcards.model),
        prefix_tokens=CENSUS["prefix_tokens"][0],
        near_verbatim=CENSUS["near_verbatim"],
        query_budget=config["calibration"]["query_budget"],
        success=config["calibration"]["success"],
        code=code_of("census_results.py"),
    script:
        "../scripts/census_results.py"


rule census_figures:
    """Draw what the census of one model found."""
    input:
        windows=of_each_pair("windows/{tokenizer}/{pair}"),
        scores=of_each_pair("scores/{model}/{pair}"),
        near_verbatim=of_each_pair("near_verbatim/{model}/{pair}"),
        texts="results/{run}/census/texts.parquet",
        leaving="results/{run}/left_out/census/controls/{model}.parquet",
        thresholds="results/{run}/census/{model}/thresholds.parquet",
        census="results/{run}/census/{model}/census.parquet",
        curves="results/{run}/census/{model}/curves.parquet",
        heat="results/{run}/census/{model}/heat.parquet",
    output:
        **{
            name: report(
                f"results/{{run}}/census/{{model}}/{name}.svg",
                caption=f"../report/census_{name}.rst",
                category="Census",
                labels={"figure": name, "model": "{model}"},
            )
            for name in CENSUS_FIGURES
        },
        pictures=[
            f"results/{{run}}/census/{{model}}/{name}.png" for name in CENSUS_FIGURES
        ],
    log:
        "logs/{run}/census/figures/{model}.log",
    benchmark:
        "benchmarks/{run}/census/figures/{model}.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        figures=CENSUS_FIGURES,
        pairs=lambda wildcards: pairs_of(wildcards.model),
        prefix_tokens=CENSUS["prefix_tokens"][0],
        near_verbatim=CENSUS["near_verbatim"],
        query_budget=config["calibration"]["query_budget"],
        code=code_of("census_figures.py"),
    script:
        "../scripts/census_figures.py"


rule census_summary:
    """Thresholds, coverage and warnings of every model, pair and prefix on one page."""
    input:
        **{
            name: expand(
                "results/{run}/census/{model}/{name}.parquet",
                run=RUN,
                model=CENSUS_MODELS,
                name=name,
            )
            for name in ["thresholds", "census", "recovery", "truth", "controls"]
        },
        costs=[
            f"results/{RUN}/census/near_verbatim/{model}/{pair.pair}.parquet"
            for pair in PAIRS.values()
            for model in pair.models
        ],
        left_out=[f"results/{RUN}/left_out/census/texts.parquet"]
        + list(
            dict.fromkeys(
                f"results/{RUN}/left_out/census/windows/"
                f"{SETTINGS[model]['tokenizer']}/{pair.pair}.parquet"
                for pair in PAIRS.values()
                for model in pair.models
            )
        )
        + expand(
            "results/{run}/left_out/census/controls/{model}.parquet",
            run=RUN,
            model=CENSUS_MODELS,
        ),
    output:
        summary=report(
            "results/{run}/census/summary.md",
            caption="../report/census_summary.rst",
            category="Census",
        ),
    log:
        "logs/{run}/census/summary.log",
    benchmark:
        "benchmarks/{run}/census/summary.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(2000),
        runtime=grows(60),
    params:
        models=CENSUS_MODELS,
        warnings=CENSUS_WARNINGS,
        code=code_of("census_summary.py"),
    script:
        "../scripts/census_summary.py"


rule census:
    """One document held against one matched control: everything."""
    input:
        "results/{run}/census/summary.md".format(run=RUN),
        expand(
            "results/{run}/census/{model}/{figure}.svg",
            run=RUN,
            model=CENSUS_MODELS,
            figure=CENSUS_FIGURES,
        ),
        [
            f"results/{RUN}/census/{model}/{pair.pair}.html"
            for pair in PAIRS.values()
            for model in pair.models
        ],
