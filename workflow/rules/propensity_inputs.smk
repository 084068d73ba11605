from memfoil.propensity import settings as propensity_settings

PROPENSITY = config["propensity"]

with shown_once():
    propensity_settings.check(config)

PROPENSITY_FIGURES = ["propensity", "span_lengths", "long_matches", "filters"]
PROPENSITY_TABLES = [
    "propensity",
    "prompted",
    "prompt_texts",
    "span_copies",
    "span_lengths",
    "span_scores",
    "span_rates",
]


def reads(model):
    """Whose tokens a model's generations are traced in: the index' own, or the model's."""
    return "indexed" if PROPENSITY["index"] else SETTINGS[model]["tokenizer"]


def tokens_of(reader):
    """What loading the tokenizer of an index takes."""
    if PROPENSITY["index"]:
        return PROPENSITY["index_tokenizer"]
    return {"folder": tokenizer_source(reader), "revision": revision_of(reader)}


def files_of_tokens(wildcards):
    """The folder of the tokenizer that prompts and generations are read with, if it has one."""
    reader = wildcards.get("reader") or reads(wildcards.model)
    return as_folder(tokens_of(reader)["folder"])


def text_index(text, reader):
    """The index of the training text, or of the foil."""
    if text == "foil":
        named = PROPENSITY["foil"] or f"results/{RUN}/propensity/foil/{{tokenizer}}"
        return named.format(tokenizer=reader)
    return PROPENSITY["index"] or index_of(reader)


def fetched(path):
    """An index that the run builds or fetches; one that is named may be too large to digest."""
    here = is_made_here(path) or stores.is_stored(path)
    return [as_input(path)] if here else []


def has_foil():
    return bool(PROPENSITY["foil"] or config["testbed"])


def reproduction_in(text):
    return f"results/{RUN}/propensity/{{model}}/{text}/reproduction.parquet"


wildcard_constraints:
    text="training|foil",
    reader="indexed|" + "|".join(TOKENIZERS),
