"""The tables of a census: texts, windows, scores, thresholds, coverage, heat."""

from __future__ import annotations

from memfoil.tables.schema import FLAG, INTEGER, REAL, TEXT, TOKENS, Column, Table

CENSUS_TEXTS = Table(
    "census_texts",
    "The texts of a census as they are scored; what was cut off them is in `left_out`.",
    (
        Column("document_id", TEXT, "a document of the run, or the path the text was read from"),
        Column("text", TEXT, "every `_char` column of a census counts in it"),
        Column("form", TEXT, "`document`, `plain`, `gutenberg` or `markdown`"),
    ),
    key=("document_id",),
)

CENSUS_WINDOWS = Table(
    "census_windows",
    "Every window of a text as the tokenizer cuts it: a prefix and a suffix of token ids.",
    (
        Column("window_id", TEXT, "`document_id:window`"),
        Column("document_id", TEXT, "the text"),
        Column("window", INTEGER, "number of the window in the text, from 0"),
        Column("token_ids", TOKENS, "prefix and suffix, without start-of-text"),
        Column("prefix_tokens", INTEGER, "length of the prefix; shorter ones are cut from it"),
        Column("start_char", INTEGER, "first character of the prefix"),
        Column("suffix_start_char", INTEGER, "first character of the suffix"),
        Column("end_char", INTEGER, "one past the last character of the suffix"),
        Column("occurrences", INTEGER, "windows of the text with these token ids: 1 is unique"),
    ),
    key=("window_id",),
)

_PROCEDURE = (
    Column("prefix_tokens", INTEGER, "length of the prefix"),
    Column("procedure", TEXT, "`greedy`, `base`, `top-<k>` or `near-verbatim`"),
)

CENSUS_SCORES = Table(
    "census_scores",
    "One score per window, length of prefix and extraction procedure.",
    (
        Column("window_id", TEXT, "the window"),
        *_PROCEDURE,
        Column("log_score", REAL, "of generating the suffix; -inf if impossible", log=True),
    ),
    key=("window_id", "prefix_tokens", "procedure"),
)

NEAR_VERBATIM = Table(
    "near_verbatim",
    "Lower bounds on the probability of generating a suffix up to a few token edits.",
    (
        Column("window_id", TEXT, "the window"),
        Column("prefix_tokens", INTEGER, "length of the prefix"),
        Column("radius", INTEGER, "edits allowed; 0 is the suffix itself"),
        Column("log_mass", REAL, "lower bound on the mass of all such continuations", log=True),
        Column("forward_tokens", INTEGER, "positions the search ran through the model"),
        Column("sampling_tokens", INTEGER, "positions that 20 samples of that length would run"),
    ),
    key=("window_id", "prefix_tokens", "radius"),
)

BEAM_SEARCHES = Table(
    "beam_searches",
    "What beam search that does not know the suffix comes up with.",
    (
        Column("window_id", TEXT, "the window"),
        Column("prefix_tokens", INTEGER, "length of the prefix"),
        Column("top_distance", INTEGER, "edits from the suffix to the likeliest", nullable=True),
        Column("pool_distance", INTEGER, "to the nearest of the pool", nullable=True),
        Column("pool", INTEGER, "continuations in the pool"),
        Column("forward_tokens", INTEGER, "positions the search ran through the model"),
    ),
    key=("window_id", "prefix_tokens"),
)

CENSUS_CONTROLS = Table(
    "census_controls",
    "The highest windows of a control, and whether they are reused text, with the evidence.",
    (
        Column("pair", TEXT, "the book and its control"),
        Column("window_id", TEXT, "the window"),
        *_PROCEDURE,
        Column("rank", INTEGER, "of its score in the control, under the procedure it is best at"),
        Column("log_score", REAL, "that score", log=True),
        Column("log_score_before", REAL, "of the window before it", nullable=True, log=True),
        Column("log_score_after", REAL, "of the window after it", nullable=True, log=True),
        Column("verdict", TEXT, "of the search: `exact`, `near` or `none found`"),
        Column("distance", INTEGER, "token edit distance to the evidence", nullable=True),
        Column("reference", TEXT, "index or folder of texts that has it", nullable=True),
        Column("found_document_id", TEXT, "document of the evidence", nullable=True),
        Column("found_start_token", INTEGER, "where in that document", nullable=True),
        Column("passage_start_char", INTEGER, "of the reused passage, in the control"),
        Column("passage_end_char", INTEGER, "one past its last character"),
        Column("leaves", FLAG, "its suffix overlaps a verified passage, and no person keeps it"),
        Column("text", TEXT, "the suffix"),
        Column("found_text", TEXT, "found, or around the longest shared n-gram", nullable=True),
        Column("ngram_share", REAL, "share of the suffix's n-grams found"),
        Column("skipped_pieces", INTEGER, "pieces too frequent to follow: the search is not exact"),
        Column("review", TEXT, "a person's verdict: `member` or `non-member`", nullable=True),
        Column("reviewer", TEXT, "who gave it", nullable=True),
        Column("note", TEXT, "and why", nullable=True),
        Column("member", FLAG, "the verdict that counts: the person's, else the search's"),
    ),
    key=("pair", "window_id"),
)

_CENSUS = (
    Column("pair", TEXT, "the book and its control"),
    Column("model", TEXT, "the model"),
    *_PROCEDURE,
)
_CENSUS_KEY = tuple(column.name for column in _CENSUS)

CENSUS_THRESHOLDS = Table(
    "census_thresholds",
    "The measured maximum over a control's windows: not a certified level.",
    (
        *_CENSUS,
        Column("decontaminated", FLAG, "verified reused passages taken out, or all windows"),
        Column("n_windows", INTEGER, "windows of the control that are left"),
        Column("n_removed", INTEGER, "windows that overlap a verified passage"),
        Column("window_id", TEXT, "the window that sets the threshold"),
        Column("log_maximum", REAL, "its score", log=True),
        Column("log10_tau", REAL, "tau_book: rounded up to a power of ten; -inf if all are 0"),
        Column("log10_tau_global", REAL, "tau_global: the largest tau_book of the model's pairs"),
        Column("usable", FLAG, "not at or near 1"),
    ),
    key=(*_CENSUS_KEY, "decontaminated"),
)

CENSUS = Table(
    "census",
    "How many of a book's characters lie in a suffix that the model has memorized.",
    (
        *_CENSUS,
        Column("threshold", TEXT, "`book`, `global`, or `none`: greedy decoding has none"),
        Column("log10_tau", REAL, "the threshold", nullable=True),
        Column("document_id", TEXT, "the book"),
        Column("characters", INTEGER, "of the whole book"),
        Column("suffix_chars", INTEGER, "characters that lie in any suffix"),
        Column("n_windows", INTEGER, "windows scored"),
        Column("n_repeated", INTEGER, "of them, windows whose token ids occur more than once"),
        Column("n_above", INTEGER, "windows above the threshold"),
        Column("n_control_above", INTEGER, "windows above it that are left of the control"),
        Column("memorized_chars", INTEGER, "characters in a suffix above the threshold"),
        Column("coverage", REAL, "their share of the whole book"),
        Column("reachable_chars", INTEGER, "in a suffix above it that the query budget reaches"),
        Column("reachable", REAL, "their share of the whole book"),
        Column("unreachable", REAL, "share of the book memorized, and out of the budget's reach"),
        Column("query_budget", INTEGER, "queries allowed"),
        Column("success", REAL, "probability of success asked of the budget"),
    ),
    key=(*_CENSUS_KEY, "threshold"),
)

CENSUS_CURVES = Table(
    "census_curves",
    "Coverage of a book as the threshold, the margin over it, or the query budget moves.",
    (
        *_CENSUS,
        Column("curve", TEXT, "`threshold`, `margin` or `budget`"),
        Column("x", REAL, "log10 of: the threshold, the margin score / tau, the queries"),
        Column("covered_chars", INTEGER, "characters covered"),
        Column("coverage", REAL, "their share of the whole book"),
    ),
    key=(*_CENSUS_KEY, "curve", "x"),
)

CENSUS_RECOVERY = Table(
    "census_recovery",
    "What beam search recovers without chance, and what of it samples would not reach.",
    (
        Column("pair", TEXT, "the book and its control"),
        Column("model", TEXT, "the model"),
        Column("prefix_tokens", INTEGER, "length of the prefix"),
        Column("match", TEXT, "`verbatim`, or `near-verbatim`: within the configured edits"),
        Column("output", TEXT, "`top-1`: the likeliest continuation; or the whole `pool`"),
        Column("n_searched", INTEGER, "windows searched"),
        Column("n_recovered", INTEGER, "windows above tau_book that are recovered"),
        Column("recovered_chars", INTEGER, "characters in their suffixes"),
        Column("coverage", REAL, "their share of the whole book"),
        Column("beyond_chars", INTEGER, "of them, those that the query budget does not reach"),
        Column("beyond", REAL, "their share of the whole book"),
    ),
    key=("pair", "model", "prefix_tokens", "match", "output"),
)

CENSUS_HEAT = Table(
    "census_heat",
    "Runs of characters with the same largest score among the suffixes that cover them.",
    (
        *_CENSUS,
        Column("start_char", INTEGER, "first character of the run, in the book"),
        Column("end_char", INTEGER, "one past its last; the next run starts here"),
        Column("window_id", TEXT, "the window with that score; empty: in no suffix", nullable=True),
        Column("log_score", REAL, "that score, natural log", nullable=True, log=True),
        Column("log10_queries", REAL, "queries for the configured success", nullable=True),
    ),
    key=(*_CENSUS_KEY, "start_char"),
)

CENSUS_TRUTH = Table(
    "census_truth",
    "Where the training text is known: what was planted against what the census finds.",
    (
        *_CENSUS,
        Column("repetitions", INTEGER, "times these characters occur in the training text"),
        Column("characters", INTEGER, "of the book, so often planted"),
        Column("share", REAL, "their share of the whole book"),
        Column("memorized_chars", INTEGER, "of them, those in a suffix above tau_book"),
        Column("found", REAL, "memorized_chars / characters"),
    ),
    key=(*_CENSUS_KEY, "repetitions"),
)
