with shown_once():
    prompt_settings.check(config)


SEARCH = "results/{run}/prompts/{extent}/{model}/{frame}"
SEARCHED = infix("search")
MEASURES = {
    "compression": ["compression", "compression_runs", "compression_losses"],
    "multi_prefix": ["multi_prefix", "multi_prefix_runs", "multi_prefix_losses"],
    "parrots": ["parrots"],
}


def targets_from(wildcards):
    """What the target sequences of one tokenizer are taken from."""
    sets = prompt_settings.target_sets(config, wildcards.extent)
    inputs = {"tokenizer": tokenizer_of(wildcards.tokenizer)}
    inputs["lists"] = [as_input(each["file"]) for each in sets if "file" in each]
    if any("pool" in each for each in sets):
        inputs["sequences"] = f"results/{RUN}/sequences/{wildcards.tokenizer}.parquet"
    if any("repetitions" in each for each in sets):
        inputs["splits"] = f"results/{RUN}/testbed/splits.parquet"
    return inputs


def targets_of(wildcards, table="targets"):
    """The targets of a searched model, or which of them are in the training text."""
    tokenizer = SETTINGS[wildcards.model]["tokenizer"]
    return f"results/{RUN}/prompts/{wildcards.extent}/{table}/{tokenizer}.parquet"


def drafting():
    """The folder of the draft model, if there is one."""
    draft = config["prompts"]["gcg"]["draft"]
    return folder_of(draft) if draft else []


def measured(wildcards):
    """What the criteria of one search are applied to."""
    procedures = prompt_settings.procedures(config, wildcards.model, wildcards.frame)
    inputs = {name: f"{SEARCH}/{name}.parquet" for name in procedures}
    if config["decontamination"]["index"] or is_trained_here(wildcards.model):
        inputs["contamination"] = targets_of(wildcards, "contamination")
    return inputs


def described(wildcards):
    """What the page and the figures of one search are made from."""
    inputs = {}
    for name in prompt_settings.procedures(config, wildcards.model, wildcards.frame):
        inputs |= {table: f"{SEARCH}/{table}.parquet" for table in MEASURES[name]}
    return inputs


wildcard_constraints:
    extent="small|full",
    frame="plain|chat",
