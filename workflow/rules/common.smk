import gc
import os
from pathlib import Path

from memfoil import cluster, configuration, lifeline, places, stores
from memfoil.configuration import PACKAGED
from memfoil.prompts import settings as prompt_settings
from memfoil.tables import digest
from memfoil.workflow import PACKAGE, code_digest, shown_once

# Threads that spin while they wait slow training twentyfold where jobs share the cores.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Looking for garbage among the objects of many thousand jobs takes a third of planning them.
gc.set_threshold(1_000_000)

lifeline.lead()

RULES = Path(workflow.current_basedir)

with shown_once():
    for path in workflow.configfiles:
        configuration.load(path)  # Snakemake takes the last of two values in silence
    MODELS = configuration.load("config/models.yaml")
    configuration.check_schema(
        config, RULES / "../schemas/config.schema.yaml", "configuration"
    )
    configuration.check_schema(
        MODELS, RULES / "../schemas/models.schema.yaml", "config/models.yaml"
    )
    stores.remember_copies(
        workflow.storage_settings, workflow.storage_registry.default_storage_provider
    )
    configuration.check_run(config, MODELS)
    places.check_files(config)
    HELD = lifeline.hold() if workflow.is_main_process else None


RUN = config["run"]
SETTINGS = {
    name: configuration.settings(MODELS, name)
    for name in configuration.named_models(config)
}
# Of the models that share a tokenizer the first in models.yaml gives it, whatever the run names: so
# another model leaves the sequences as they are.
TOKENIZERS = {
    name: configuration.tokenizer_owner(MODELS, name, config["testbed"])
    for name in dict.fromkeys(each["tokenizer"] for each in SETTINGS.values())
}

with shown_once():
    places.check_models(SETTINGS)
    places.check_index(config, TOKENIZERS)


wildcard_constraints:
    run=RUN,
    model="|".join(SETTINGS),
    part=r"\d+",
    tokenizer="|".join(TOKENIZERS),


def code_of(script):
    """What a rule's script rests on, as a parameter, so that editing the package reruns it."""
    return code_digest(RULES / "../scripts" / script)


def is_made_here(path):
    return path.startswith(f"results/{RUN}/")


def as_input(path):
    """What the configuration names, if anything: in S3, or here wherever the results lie."""
    if not path or is_made_here(path):
        return path or []
    return storage(path) if stores.is_stored(path) else local(path)


def source_of(name):
    """The folder of a model, or its name on the hub."""
    source = MODELS[name]["source"]
    if source in PACKAGED:
        return f"results/{RUN}/models/{source}"
    if source in configuration.TRAINED_HERE:
        return f"results/{RUN}/{configuration.TRAINED_HERE[source]}"
    return source


def as_folder(source):
    """A model's or a tokenizer's folder as an input: none if the hub has it."""
    there = is_made_here(source) or stores.is_stored(source) or Path(source).is_dir()
    return [as_input(source)] if there else []


def folder_of(name):
    return as_folder(source_of(name))


def loading(name):
    """How a model is loaded; None for no model."""
    if name is None:
        return None
    kept = ("revision", "dtype", "device", "start_of_text")
    return {"folder": source_of(name)} | {key: SETTINGS[name][key] for key in kept}


def on_backend(wildcards):
    """How a model that scores or samples is loaded, and what runs it."""
    name = wildcards.model
    return loading(name) | {key: SETTINGS[name][key] for key in ("backend", "gpus")}


def is_trained_here(name):
    return MODELS[name]["source"] in configuration.TRAINED_HERE


def tokenizer_source(tokenizer):
    """The folder of a tokenizer, or the name on the hub of the model that gives it.

    The testbed's is there before its model is.
    """
    name = TOKENIZERS[tokenizer]
    if is_trained_here(name):
        return f"results/{RUN}/testbed/tokenizer"
    return source_of(name)


def tokenizer_of(tokenizer):
    return as_folder(tokenizer_source(tokenizer))


def revision_of(tokenizer):
    return MODELS[TOKENIZERS[tokenizer]].get("revision")


def sharing(tokenizer):
    """The models of the run that have a tokenizer, in the order of the configuration."""
    return [
        name for name in config["models"] if SETTINGS[name]["tokenizer"] == tokenizer
    ]


def of_each_model(path):
    """A table of every model of the run, in the order of the configuration."""
    return [
        f"results/{RUN}/"
        + path.format(model=name, tokenizer=SETTINGS[name]["tokenizer"])
        + ".parquet"
        for name in config["models"]
    ]


def of_each_search(extent, file):
    """A file of every search, in the order of the configuration."""
    return [
        f"results/{RUN}/prompts/{extent}/{search['model']}/{search['frame']}/{file}"
        for search in prompt_settings.searches(config, extent)
    ]


def infix(stage):
    """What the names of a stage's files have before their end where it is split into parts."""
    parts = config["parts"][stage]
    return f".{{part}}-of-{parts}" if parts > 1 else ""


def part_of(stage):
    """Which of how many parts a job does, as a parameter."""
    return lambda wildcards: [int(wildcards.get("part", 1)), config["parts"][stage]]


def parts_of(stage, table):
    """The files of all parts of a stage's table, in order, as an input."""
    path = f"{table}{infix(stage)}.parquet"
    return [
        path.replace("{part}", str(part))
        for part in range(1, config["parts"][stage] + 1)
    ]


def index_of(tokenizer):
    """The index of the training text: the one named, or one built of the run's own text."""
    named = config["decontamination"]["index"]
    return (
        named.format(tokenizer=tokenizer)
        if named and named != configuration.OLDER
        else f"results/{RUN}/index/{tokenizer}"
    )


def judged(wildcards):
    """What the calibration of one model reads."""
    tokenizer = SETTINGS[wildcards.model]["tokenizer"]
    inputs = {
        "scores": f"results/{RUN}/scores/{wildcards.model}.parquet",
        "sequences": f"results/{RUN}/sequences/{tokenizer}.parquet",
        "contamination": f"results/{RUN}/contamination/{tokenizer}.parquet",
        "match": f"results/{RUN}/match/{tokenizer}.parquet",
    }
    if config["testbed"]:
        inputs["splits"] = f"results/{RUN}/testbed/splits.parquet"
    return inputs


def grows(amount):
    """Memory in MB or minutes of runtime, twice as much with each retry of a profile."""
    return lambda wildcards, attempt: _grown(amount, attempt)


def grows_with_model(wildcards, attempt):
    """The memory that the model is said to need, twice as much with each retry."""
    return _grown(SETTINGS[wildcards.model]["mem_mb"], attempt)


def gpus_of(wildcards):
    return SETTINGS[wildcards.model]["gpus"]


def _grown(amount, attempt):
    if attempt == 1:
        return amount
    return min(amount * 2 ** (attempt - 1), max(amount, cluster.largest_memory()))


# Snakemake keeps the last `onstart` alone.
onstart:
    lifeline.submits(HELD, local=workflow.local_exec)
    with shown_once():
        if workflow.executor_plugin.name == "slurm":
            requests = cluster.requests_of(workflow.dag.needrun_jobs())
            cluster.refuse_unmet(requests, cluster.nodes())
        # A cluster's jobs find their GPU elsewhere.
        jobs = workflow.dag.needrun_jobs() if workflow.local_exec else ()
        most = max((job.resources.get("gpu") or 0 for job in jobs), default=0)
        if most:
            # seconds, and seldom needed
            from memfoil.models import require_device

            require_device("cuda", most)
