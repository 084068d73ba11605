from memfoil.census import settings as census_settings
from memfoil.census.pairs import is_path, read_pairs, warnings

CENSUS = config["census"]

with shown_once():
    census_settings.check(config)
    PAIRS = {pair.pair: pair for pair in read_pairs(CENSUS["pairs"], config["models"])}

CENSUS_MODELS = list(
    dict.fromkeys(name for pair in PAIRS.values() for name in pair.models)
)
CENSUS_TEXTS = list(
    dict.fromkeys(
        text for pair in PAIRS.values() for text in (pair.document, pair.control)
    )
)
CENSUS_FIGURES = ["scores", "coverage", "margin", "budget", "heat", "positions"]
REFERENCES = {entry["name"]: entry for entry in CENSUS["controls"]["references"]}
CENSUS_WARNINGS = warnings(
    list(PAIRS.values()),
    census_settings.cutoffs(config, SETTINGS),
    census_settings.kept_out(config, SETTINGS),
)

# Pairs side by side load their models side by side, too.
CORES_OF_A_PAIR = max(
    1, (workflow.cores or 2) // sum(len(pair.models) for pair in PAIRS.values())
)

if workflow.is_main_process:
    for line in CENSUS_WARNINGS:
        print(f"memfoil: warning: {line}", file=sys.stderr)


wildcard_constraints:
    pair="|".join(PAIRS),
    reference="|".join(REFERENCES) or "none",


def pairs_of(model):
    """The pairs of a model: name, document, control."""
    return [tuple(pair[:3]) for pair in PAIRS.values() if model in pair.models]


def of_each_pair(path):
    """A table of every pair of a model."""

    def tables(wildcards):
        return expand(
            f"results/{RUN}/census/{path}.parquet",
            tokenizer=SETTINGS[wildcards.model]["tokenizer"],
            model=wildcards.model,
            pair=[pair for pair, _, _ in pairs_of(wildcards.model)],
        )

    return tables


def windows_of(wildcards):
    tokenizer = SETTINGS[wildcards.model]["tokenizer"]
    return f"results/{RUN}/census/windows/{tokenizer}/{wildcards.pair}.parquet"


def references_of(tokenizer):
    """Indexes that controls are looked up in, by name: the training text's, and others."""
    indexes = {}
    if config["decontamination"]["index"] or config["testbed"]:
        indexes["training text"] = index_of(tokenizer)
    for name, entry in REFERENCES.items():
        indexes[name] = (
            entry["index"].format(tokenizer=tokenizer)
            if "index" in entry
            else f"results/{RUN}/census/references/{tokenizer}/{name}"
        )
    return indexes


def review_of(wildcards):
    named = CENSUS["controls"]["review"]
    tokenizer = SETTINGS[wildcards.model]["tokenizer"]
    return [as_input(named.format(tokenizer=tokenizer))] if named else []


def known_truth(table):
    """A table of the testbed's, for a model that the run trains."""

    def tables(wildcards):
        path = f"results/{RUN}/{table}.parquet"
        return [path] if is_trained_here(wildcards.model) else []

    return tables


def folder_of_texts(wildcards):
    folder = REFERENCES[wildcards.reference]["texts"]
    return [as_input(folder)] if Path(folder).is_dir() else []
