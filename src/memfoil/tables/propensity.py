"""The tables of propensity: prompts, rates against capability, the foil."""

from __future__ import annotations

from memfoil.tables.schema import FLAG, INTEGER, REAL, TEXT, TOKENS, Column, Table

PROMPTS = Table(
    "prompts",
    "What a model is given to continue, in four settings of ordinary use and one attack.",
    (
        Column("prompt_id", TEXT, "names the prompt, unique"),
        Column(
            "setting", TEXT, "`unconditional`, `minimal cue`, `generic`, `specific` or `prefix`"
        ),
        Column("text", TEXT, "the prompt; empty: start-of-text alone"),
        Column("token_ids", TOKENS, "the prompt as the index' tokenizer has it"),
        Column("generations", INTEGER, "continuations to sample"),
        Column("source", TEXT, "pool of documents that a specific prompt is from", nullable=True),
        Column("document_id", TEXT, "document that the prompt is from", nullable=True),
        Column("continuation", TEXT, "what follows a prefix in its document", nullable=True),
        Column("occurrences", INTEGER, "of prefix and continuation in the index", nullable=True),
        Column("longest", INTEGER, "tokens of a sentence's own longest span", nullable=True),
        Column("similarity", REAL, "cosine to the nearest training document", nullable=True),
    ),
    key=("prompt_id",),
)

_SETTING = Column(
    "setting", TEXT, "`unconditional`, `minimal cue`, `generic`, `specific` or `prefix`"
)
_SUBSET = Column("subset", TEXT, "`all` generations but loops of symbols, or `natural language`")
_RATE = Column("metric", TEXT, "`FMR`, `ALS`, `NVR`, `R50`, ... (docs/propensity.md)")

PROPENSITY = Table(
    "propensity",
    "Rates of reproduction by setting, beside the attack's (f_c, PM) and the foil's.",
    (
        _SETTING,
        _SUBSET,
        _RATE,
        Column("prompts", INTEGER, "prompts; in settings without any, continuations"),
        Column("generations", INTEGER, "that count"),
        Column("excluded", INTEGER, "that the subset leaves out"),
        Column("f", REAL, "the rate"),
        Column("f_low", REAL, "95%, bootstrap over prompts with all their generations"),
        Column("f_high", REAL, "95%; where nothing was seen, 3 / prompts"),
        Column("unseen", FLAG, "nothing was seen: the upper bound is the rule of three"),
        Column("f_c", REAL, "the same rate of the setting `prefix`", nullable=True),
        Column("f_c_low", REAL, "95%", nullable=True),
        Column("f_c_high", REAL, "95%", nullable=True),
        Column("pm", REAL, "f / (f + f_c), 0 if both are 0; of bounded rates", nullable=True),
        Column("pm_low", REAL, "95%, the two settings resampled independently", nullable=True),
        Column("pm_high", REAL, "95%", nullable=True),
        Column("difference", REAL, "f - f_c", nullable=True),
        Column("difference_low", REAL, "95%", nullable=True),
        Column("difference_high", REAL, "95%", nullable=True),
        Column("foil", REAL, "the same rate in the foil: text not trained on", nullable=True),
        Column("foil_low", REAL, "95%", nullable=True),
        Column("foil_high", REAL, "95%", nullable=True),
        Column("excess", REAL, "f - foil", nullable=True),
        Column("excess_low", REAL, "95%, paired", nullable=True),
        Column("excess_high", REAL, "95%", nullable=True),
    ),
    key=("setting", "subset", "metric"),
)

MODEL_DIFFERENCES = Table(
    "model_differences",
    "How much more one model reproduces of a training text than another.",
    (
        _SETTING,
        _SUBSET,
        _RATE,
        Column("paired", FLAG, "both continued the same prompts, resampled together"),
        Column("prompts", INTEGER, "of the first model; if paired, those they share"),
        Column("first", REAL, "the rate of the first model"),
        Column("second", REAL, "the rate of the second"),
        Column("difference", REAL, "first - second"),
        Column("difference_low", REAL, "95%"),
        Column("difference_high", REAL, "95%"),
    ),
    key=("setting", "subset", "metric"),
)

PROMPTED = Table(
    "prompted",
    "Long matches and extraction: per generation, and at least once per prompt.",
    (
        _SETTING,
        Column("event", TEXT, "`FMR20`, `R50`, or `extraction`: the document's own continuation"),
        Column("occurrences", TEXT, "of prefix and continuation in the training text, or `all`"),
        Column("prompts", INTEGER, "prompts"),
        Column("generations", INTEGER, "their generations, without loops of symbols"),
        Column("rate", REAL, "share of the generations"),
        Column("rate_low", REAL, "95%, bootstrap over prompts with all their generations"),
        Column("rate_high", REAL, "95%; where nothing was seen, 3 / prompts"),
        Column("at_least_once", REAL, "share of the prompts with one generation at least"),
        Column("once_low", REAL, "95%"),
        Column("once_high", REAL, "95%"),
        Column("mean_when_seen", REAL, "generations of these prompts that show it", nullable=True),
    ),
    key=("setting", "event", "occurrences"),
)

SPAN_COPIES = Table(
    "span_copies",
    "How often the longest spans of at least 50 tokens occur in the training text.",
    (
        _SETTING,
        Column("generations", INTEGER, "without loops of symbols"),
        Column("long", INTEGER, "with a span of at least 50 tokens that is no loop"),
        Column("only_loops", INTEGER, "with such spans, all of them loops"),
        Column("median_copies", REAL, "of the span's first 50 tokens", nullable=True),
        Column("fewer_than_10", REAL, "share whose first 50 tokens have fewer", nullable=True),
        Column("one", REAL, "share whose first 50 tokens occur once", nullable=True),
        Column("whole_span_once", REAL, "share whose whole span occurs once", nullable=True),
    ),
    key=("setting",),
)

PROMPT_TEXTS = Table(
    "prompt_texts",
    "What the sentences of prompts match by themselves, and how close they are.",
    (
        _SETTING,
        Column("prompts", INTEGER, "prompts"),
        Column("mean_tokens", REAL, "their length"),
        Column("mean_longest", REAL, "their longest span in the training text"),
        Column("share_20", REAL, "share with a span of at least 20 tokens"),
        Column("longest", INTEGER, "tokens of the longest span of all"),
        Column("similarity", REAL, "mean cosine to the nearest of other training documents"),
        Column("closer", REAL, "specific minus generic", nullable=True),
        Column("closer_low", REAL, "95%, bootstrap over prompts", nullable=True),
        Column("closer_high", REAL, "95%", nullable=True),
    ),
    key=("setting",),
)

SPAN_LENGTHS = Table(
    "span_lengths",
    "Share of generations whose longest span, loops aside, has at least so many tokens.",
    (
        _SETTING,
        Column("text", TEXT, "`training` or `foil`"),
        Column("tokens", INTEGER, "length"),
        Column("share", REAL, "of the generations without loops of symbols"),
    ),
    key=("setting", "text", "tokens"),
)

SPAN_SCORES = Table(
    "span_scores",
    "Longest spans as scores for `memfoil calibrate`: the training text's and the foil's.",
    (
        Column("sequence_id", TEXT, "the generation, in one of the two texts"),
        Column("procedure", TEXT, "its setting"),
        Column("role", TEXT, "`candidate`: in the training text; `control`: in the foil"),
        Column("score", INTEGER, "tokens of the longest span that is no loop"),
    ),
    key=("sequence_id",),
)

SPAN_RATES = Table(
    "span_rates",
    "How many generations hold a span longer than mere predictability gives, at a fixed rate.",
    (
        _SETTING,
        Column("alpha", REAL, "requested rate"),
        Column("n_controls", INTEGER, "N, generations against the foil"),
        Column("k", INTEGER, "K = floor(alpha (N + 1))"),
        Column("alpha_n", REAL, "certified rate K / (N + 1)"),
        Column("tau", REAL, "longest span in tokens above which a generation is claimed"),
        Column("in_sample_fpr", REAL, "share of the controls above it; no guarantee"),
        Column("alpha_dagger", REAL, "share of the controls above the shortest; the most possible"),
        Column("n_candidates", INTEGER, "generations against the training text"),
        Column("n_claims", INTEGER, "of them, those above tau"),
        Column("generation_rate", REAL, "G"),
        Column("generation_low", REAL, "95%, bootstrap over prompts, tau held fixed"),
        Column("generation_high", REAL, "95%"),
        Column("calibrated_rate", REAL, "M = G - alpha_N"),
        Column("calibrated_low", REAL, "the interval of G shifted by alpha_N"),
        Column("calibrated_high", REAL, "the interval of G shifted by alpha_N"),
    ),
    key=("setting", "alpha"),
)
