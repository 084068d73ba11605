if config["testbed"]:

    rule split:
        """Decide what the testbed's model is trained on, and how often."""
        input:
            passages="results/{run}/passages.parquet",
        output:
            splits="results/{run}/testbed/splits.parquet",
        log:
            "logs/{run}/split.log",
        benchmark:
            "benchmarks/{run}/split.tsv"
        conda:
            "../../envs/memfoil.yaml"
        resources:
            mem_mb=grows(2000),
            runtime=grows(60),
        params:
            cutoff=str(config["testbed"]["cutoff"]),
            first=str(config["testbed"]["first"]),
            held_out=config["testbed"]["held_out"],
            training=config["testbed"]["training"],
            planted_per_level=config["testbed"]["planted_per_level"],
            repetitions=config["testbed"]["repetitions"],
            leaked=config["testbed"]["leaked"],
            documents=config["testbed"]["documents"],
            seed=config["seed"],
            code=code_of("split.py"),
        script:
            "../scripts/split.py"

    rule corpus:
        """Train the tokenizer and lay out the training text in the order it is read."""
        input:
            splits="results/{run}/testbed/splits.parquet",
            passages="results/{run}/passages.parquet",
        output:
            corpus="results/{run}/testbed/corpus.parquet",
            tokenizer=directory("results/{run}/testbed/tokenizer"),
        log:
            "logs/{run}/corpus.log",
        benchmark:
            "benchmarks/{run}/corpus.tsv"
        conda:
            "../../envs/memfoil.yaml"
        resources:
            mem_mb=grows(2000),
            runtime=grows(60),
        params:
            vocabulary=config["testbed"]["vocabulary"],
            seed=config["seed"],
            code=code_of("corpus.py"),
        script:
            "../scripts/corpus.py"

    rule train:
        """Train the model whose training text is known."""
        input:
            corpus="results/{run}/testbed/corpus.parquet",
            tokenizer="results/{run}/testbed/tokenizer",
        output:
            model=directory("results/{run}/testbed/model"),
            training="results/{run}/testbed/training.parquet",
        log:
            "logs/{run}/train.log",
        benchmark:
            "benchmarks/{run}/train.tsv"
        conda:
            "../../envs/memfoil.yaml"
        threads: 2
        resources:
            mem_mb=grows(6000),
            runtime=grows(120),
        params:
            settings=config["testbed"]["model"],
            seed=config["seed"],
            code=code_of("train.py"),
        script:
            "../scripts/train.py"

    rule index:
        """Index the training text in infini-gram's own format."""
        input:
            corpus="results/{run}/testbed/corpus.parquet",
            tokenizer="results/{run}/testbed/tokenizer",
        output:
            index=directory("results/{run}/index/{tokenizer}"),
        log:
            "logs/{run}/index/{tokenizer}.log",
        benchmark:
            "benchmarks/{run}/index/{tokenizer}.tsv"
        conda:
            "../../envs/memfoil.yaml"
        resources:
            mem_mb=grows(4000),
            runtime=grows(240),
        params:
            code=code_of("index.py"),
        script:
            "../scripts/index.py"
