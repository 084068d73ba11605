rule documents:
    """Read the document sources into one table."""
    input:
        [
            as_input(source[key])
            for source in config["documents"]
            for key in ("path", "earlier", "later")
            if key in source
        ],
    output:
        documents="results/{run}/documents.parquet",
        left_out="results/{run}/left_out/documents.parquet",
    log:
        "logs/{run}/documents.log",
    benchmark:
        "benchmarks/{run}/documents.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        sources=config["documents"],
        code=code_of("documents.py"),
    script:
        "../scripts/documents.py"


rule passages:
    """Cut the documents into stretches of words, the same for every tokenizer."""
    input:
        documents="results/{run}/documents.parquet",
    output:
        passages="results/{run}/passages.parquet",
        left_out="results/{run}/left_out/passages.parquet",
    log:
        "logs/{run}/passages.log",
    benchmark:
        "benchmarks/{run}/passages.tsv"
    conda:
        "../../envs/memfoil.yaml"
    resources:
        mem_mb=grows(4000),
        runtime=grows(60),
    params:
        words=config["passages"]["words"],
        code=code_of("passages.py"),
    script:
        "../scripts/passages.py"
