"""The tables of tracing: generations, their spans and documents, reproduction."""

from __future__ import annotations

from memfoil.tables.schema import FLAG, INTEGER, REAL, TEXT, TOKENS, Column, Table

GENERATIONS = Table(
    "generations",
    "What a model generated: the continuations alone, without their prompts.",
    (
        Column("generation_id", TEXT, "names the generation, unique"),
        Column("token_ids", TOKENS, "the continuation, without prompt and start-of-text"),
        Column("text", TEXT, "the continuation as text", nullable=True),
        Column("prompt_id", TEXT, "the prompt that it continues", nullable=True),
        Column("setting", TEXT, "how the model was prompted", nullable=True),
    ),
    key=("generation_id",),
)

SPANS = Table(
    "spans",
    "Every maximal span of every generation that occurs in the index, of whatever length.",
    (
        Column("generation_id", TEXT, "the generation"),
        Column("start", INTEGER, "first token in the generation"),
        Column("end", INTEGER, "one past the last token"),
        Column("count", INTEGER, "occurrences in the index"),
    ),
    key=("generation_id", "start", "end"),
)

TRACES = Table(
    "traces",
    "The spans kept, and for each the documents found: one row per span and occurrence.",
    (
        Column("generation_id", TEXT, "the generation"),
        Column("start", INTEGER, "first token of the span in the generation"),
        Column("end", INTEGER, "one past its last token"),
        Column("count", INTEGER, "occurrences in the index"),
        Column("log_unigram", REAL, "sum of its tokens' unigram log-probabilities", log=True),
        Column("occurrence", INTEGER, "number among the occurrences retrieved, from 1"),
        Column("document_id", TEXT, "training document, as the index names it"),
        Column("document_start", INTEGER, "token of it at which the span starts", nullable=True),
        Column("window_start", INTEGER, "token of it at which the window starts", nullable=True),
        Column("window", TOKENS, "ids around the span, at most 5 times the generation's length"),
        Column(
            "match", TEXT, "how much of the generation it holds: `whole`, `normalized`, `partial`"
        ),
        Column("merged_start", INTEGER, "of the union shown; `olmotrace` only", nullable=True),
        Column("merged_end", INTEGER, "of the union, which need not occur", nullable=True),
        Column("relevance", REAL, "BM25 of the window; `olmotrace` only", nullable=True),
    ),
    key=("generation_id", "start", "end", "occurrence"),
)

REPRODUCTION = Table(
    "reproduction",
    "What a generation reproduces; every rate is a mean or a ratio of sums of these.",
    (
        Column("generation_id", TEXT, "the generation"),
        Column("tokens", INTEGER, "its length"),
        Column("whole", TEXT, "found whole: `exact`, `normalized` or `no`"),
        Column("longest", INTEGER, "tokens of its longest span of at least 4; 0 if there is none"),
        Column("longest_unlooped", INTEGER, "the same without spans that loop one unit"),
        Column("longest_count", INTEGER, "occurrences of that span; 0 if there is none"),
        Column("head_count", INTEGER, "of its first 50 tokens; empty if shorter", nullable=True),
        Column("documents", INTEGER, "documents retrieved for it"),
        Column("recall", REAL, "sum of their adaptive nv-recall"),
        Column("recall_50", REAL, "the same over documents of spans of at least 50 tokens"),
        Column("zlib_ratio", REAL, "compressed size / size of its text; empty text: 1"),
        Column("degenerate", FLAG, "a loop of symbols"),
        Column("code_like", FLAG, "looks like code rather than language"),
    ),
    key=("generation_id",),
)
