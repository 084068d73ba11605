rule documents:
    """Read the document sources into one table."""
    input:
        [source["path"] for source in config["documents"] if "path" in source],
    output:
        documents="results/{run}/documents.parquet",
        left_out="results/{run}/left_out/documents.parquet",
    params:
        sources=config["documents"],
        code=code_of("documents.py"),
    log:
        "logs/{run}/documents.log",
    benchmark:
        "benchmarks/{run}/documents.tsv"
    resources:
        mem_mb=4000,
    conda:
        "../../envs/memfoil.yaml"
    script:
        "../scripts/documents.py"


rule passages:
    """Cut the documents into stretches of words, the same for every tokenizer."""
    input:
        documents="results/{run}/documents.parquet",
    output:
        passages="results/{run}/passages.parquet",
        left_out="results/{run}/left_out/passages.parquet",
    params:
        words=config["passages"]["words"],
        code=code_of("passages.py"),
    log:
        "logs/{run}/passages.log",
    benchmark:
        "benchmarks/{run}/passages.tsv"
    resources:
        mem_mb=4000,
    conda:
        "../../envs/memfoil.yaml"
    script:
        "../scripts/passages.py"
