"""The tables of an audit: documents, ground truth, sequences, scores, calibration."""

from __future__ import annotations

from memfoil.tables.schema import DATE, FLAG, INTEGER, REAL, TEXT, TOKENS, Column, Table

DOCUMENTS = Table(
    "documents",
    "Dated documents, whole.",
    (
        Column("document_id", TEXT, "names the document, unique"),
        Column("text", TEXT, "the whole text"),
        Column("date", DATE, "day of publication"),
        Column("source", TEXT, "collection it comes from"),
        Column("title", TEXT, "title", nullable=True),
        Column("author", TEXT, "author", nullable=True),
    ),
    key=("document_id",),
)

PASSAGES = Table(
    "passages",
    "Stretches of documents, cut before any tokenizer is known; the same for every model.",
    (
        Column("passage_id", TEXT, "`document_id:start_char-end_char`"),
        Column("document_id", TEXT, "the document"),
        Column("start_char", INTEGER, "first character in the document"),
        Column("end_char", INTEGER, "one past the last character"),
        Column("date", DATE, "of the document"),
        Column("source", TEXT, "of the document"),
        Column("text", TEXT, "the stretch itself"),
    ),
    key=("passage_id",),
)

SPLITS = Table(
    "splits",
    "The ground truth of the testbed: what the model was trained on, and how often.",
    (
        Column("passage_id", TEXT, "the passage"),
        Column("split", TEXT, "as the configuration of a pool names it, or `unused`"),
        Column("repetitions", INTEGER, "times the passage occurs in the training text"),
    ),
    key=("passage_id",),
)

CORPUS = Table(
    "corpus",
    "A training text as token ids, in the order it was read: what an index is built from.",
    (
        Column("document_id", TEXT, "names the piece; a repetition has `#n` behind the passage"),
        Column("token_ids", TOKENS, "without start-of-text"),
    ),
    key=("document_id",),
)

TRAINING = Table(
    "training",
    "The course of the testbed's training.",
    (
        Column("step", INTEGER, "optimizer step, from 1"),
        Column("tokens", INTEGER, "tokens seen so far"),
        Column("loss", REAL, "mean cross-entropy of the step, nats per token"),
        Column("learning_rate", REAL, "of the hidden matrices"),
    ),
    key=("step",),
)

DRAWS = Table(
    "draws",
    "Passages drawn into pools, in the order of their per-item random keys.",
    (
        Column("passage_id", TEXT, "the passage"),
        Column("pool", TEXT, "name of the pool in the configuration"),
        Column("role", TEXT, "`candidate` or `control`"),
        Column("draw", INTEGER, "rank within the pool; a larger pool only adds later ranks"),
    ),
    key=("passage_id",),
)

SEQUENCES = Table(
    "sequences",
    "Drawn passages as the tokenizer cuts them: a prefix and a suffix of token ids.",
    (
        Column("sequence_id", TEXT, "names the sequence: its passage"),
        Column("document_id", TEXT, "the document"),
        Column("pool", TEXT, "pool it was drawn into"),
        Column("role", TEXT, "`candidate` or `control`"),
        Column("date", DATE, "of the document"),
        Column("source", TEXT, "of the document"),
        Column("token_ids", TOKENS, "prefix and suffix, without start-of-text"),
        Column("prefix_tokens", INTEGER, "length of the prefix"),
        Column("text", TEXT, "the characters these tokens cover"),
    ),
    key=("sequence_id",),
)

LEFT_OUT = Table(
    "left_out",
    "What a stage left out, and why.",
    (
        Column("item_id", TEXT, "document, passage or sequence"),
        Column("reason", TEXT, "one of a few fixed phrases"),
        Column("detail", TEXT, "the value that decided", nullable=True),
    ),
    key=("item_id", "reason"),
)

CONTAMINATION = Table(
    "contamination",
    "Which controls are members of the training text, with the evidence.",
    (
        Column("sequence_id", TEXT, "the control"),
        Column("verdict", TEXT, "of the search: `exact`, `near` or `none found`"),
        Column("distance", INTEGER, "token edit distance to the evidence", nullable=True),
        Column("document_id", TEXT, "training document of the evidence", nullable=True),
        Column("start_token", INTEGER, "where in that document it starts", nullable=True),
        Column("control_text", TEXT, "the control's window"),
        Column("training_text", TEXT, "found, or around the longest shared n-gram", nullable=True),
        Column("ngram_share", REAL, "share of the window's n-grams that occur in the index"),
        Column("skipped_pieces", INTEGER, "pieces too frequent to follow: the search is not exact"),
        Column("review", TEXT, "a person's verdict: `member` or `non-member`", nullable=True),
        Column("reviewer", TEXT, "who gave it", nullable=True),
        Column("note", TEXT, "and why", nullable=True),
        Column("member", FLAG, "the verdict that counts: the person's, else the search's"),
    ),
    key=("sequence_id",),
)

TOKEN_SCORES = Table(
    "token_scores",
    "Teacher-forced scores of every suffix token under the base distribution at T = 1, and under "
    "each of the decoding policies asked for.",
    (
        Column("sequence_id", TEXT, "the sequence"),
        Column("position", INTEGER, "in the suffix, from 1"),
        Column("log_probability", REAL, "of the token", log=True),
        Column("rank", INTEGER, "tokens whose logit is at least the token's own: 1 is arg max"),
    ),
    key=("sequence_id", "position"),
    families={
        r"log_mass_top_\d+": Column(
            "log_mass_top_<k>",
            REAL,
            "log-mass of the k likeliest tokens; may be empty from the first token of a sequence "
            "on that is not among the largest k, where no top-k procedure goes on",
            nullable=True,
            log=True,
        ),
        r"log_probability_(temperature|top)_[a-z0-9_.]+": Column(
            "log_probability_<policy>",
            REAL,
            "of the token under a decoding policy, -inf where it never takes the token; may be "
            "empty behind a token of the sequence for which it is -inf",
            nullable=True,
            log=True,
        ),
        r"log_mass_(temperature|top_p|top_\d+_top_p)_[a-z0-9_.]+": Column(
            "log_mass_<policy>",
            REAL,
            "at the policy's temperature, of the tokens that it may take; may be empty, there and "
            "where vLLM scored at another temperature than 1",
            nullable=True,
            log=True,
        ),
    },
)

SCORES = Table(
    "scores",
    "One score per sequence, extraction procedure and suffix length.",
    (
        Column("sequence_id", TEXT, "the sequence"),
        Column("procedure", TEXT, "`greedy`, `base`, `top-<k>` or another decoding policy"),
        Column("suffix_tokens", INTEGER, "length of the suffix scored"),
        Column("log_score", REAL, "of generating the suffix; -inf if impossible", log=True),
    ),
    key=("sequence_id", "procedure", "suffix_tokens"),
)

GENERAL_SCORES = Table(
    "general_scores",
    "Scores on any other scale, where more means more memorized. Thresholds are on that scale.",
    (
        Column("sequence_id", TEXT, "the sequence"),
        Column("procedure", TEXT, "what was measured"),
        Column("suffix_tokens", INTEGER, "length of the sequence; 0 where lengths differ"),
        Column("score", REAL, "more means more memorized"),
    ),
    key=("sequence_id", "procedure", "suffix_tokens"),
)

_NULL = (
    Column("control_pool", TEXT, "pool the null comes from"),
    Column("decontaminated", FLAG, "members taken out of the pool, or the pool as drawn"),
    Column("procedure", TEXT, "`greedy`, `base`, `top-<k>` or another decoding policy"),
    Column("suffix_tokens", INTEGER, "length of the suffix"),
    Column("alpha", REAL, "requested false-positive rate"),
)
_NULL_KEY = tuple(column.name for column in _NULL)

_MATCHED = Column("blind_auc", REAL, "of the match check; 0.5: perfectly matched", nullable=True)

THRESHOLDS = Table(
    "thresholds",
    "Conformal thresholds and what they certify, per null and requested rate.",
    (
        *_NULL,
        Column("n_controls", INTEGER, "N"),
        Column("k", INTEGER, "K = floor(alpha (N + 1)); 0: nothing can be claimed"),
        Column("alpha_n", REAL, "certified rate K / (N + 1)"),
        Column("log_tau", REAL, "threshold, natural log; +inf when K = 0"),
        Column("in_sample_fpr", REAL, "share of controls above the threshold; no guarantee"),
        Column("alpha_dagger", REAL, "share of controls above the atom: caps what is certified"),
        Column("alpha_star_mean", REAL, "mean of the Beta law of the realized rate"),
        Column("alpha_star_q025", REAL, "its 2.5% quantile"),
        Column("alpha_star_q90", REAL, "its 90% quantile"),
        Column("alpha_star_q95", REAL, "its 95% quantile"),
        Column("alpha_star_q975", REAL, "its 97.5% quantile"),
        Column("alpha_star_exceedance", REAL, "P(realized rate > certified rate)"),
        Column("confidence", REAL, "1 - delta of the next two columns"),
        Column("k_confident", INTEGER, "largest K whose realized rate is <= alpha with confidence"),
        Column("log_tau_confident", REAL, "its threshold"),
    ),
    key=_NULL_KEY,
)

RATES = Table(
    "rates",
    "How many candidates clear the threshold, and the share memorized that this certifies.",
    (
        *_NULL,
        Column("stratum", TEXT, "`all`, or a pool of candidates, or `repetitions <n>`"),
        Column("n_controls", INTEGER, "N"),
        Column("alpha_n", REAL, "certified rate"),
        Column("log_tau", REAL, "threshold"),
        Column("n_candidates", INTEGER, "candidates in the stratum"),
        Column("n_claims", INTEGER, "those above the threshold"),
        Column("generation_rate", REAL, "G"),
        Column("generation_low", REAL, "Clopper-Pearson 95%"),
        Column("generation_high", REAL, "Clopper-Pearson 95%"),
        Column("calibrated_rate", REAL, "M = G - alpha_N, a lower bound on the share memorized"),
        Column("calibrated_low", REAL, "the interval of G shifted by alpha_N"),
        Column("calibrated_high", REAL, "the interval of G shifted by alpha_N"),
        _MATCHED,
    ),
    key=(*_NULL_KEY, "stratum"),
)

CLAIMS = Table(
    "claims",
    "The verdict on every candidate under every null.",
    (
        *_NULL,
        Column("sequence_id", TEXT, "the candidate"),
        Column("log_score", REAL, "its score", log=True),
        Column("p_value", REAL, "conformal p-value"),
        Column("p_randomized", REAL, "with ties broken at random: uniform under the null"),
        Column("claimed", FLAG, "p_value <= alpha, the same as log_score > log_tau"),
        Column("claimed_confident", FLAG, "above log_tau_confident"),
        Column("margin", REAL, "log10(score / tau); empty if either is 0 or inf", nullable=True),
        Column("log10_queries", REAL, "queries for 95% success, log10; inf if impossible"),
        Column("extractable", FLAG, "claimed, and within the query budget"),
        Column("bonferroni", FLAG, "claimed with family-wise error at most alpha"),
        Column("benjamini_hochberg", FLAG, "claimed at false discovery rate alpha (under PRDS)"),
        _MATCHED,
    ),
    key=(*_NULL_KEY, "sequence_id"),
)

PAIRED = Table(
    "paired",
    "Differences between two models in what is claimed of the same candidates.",
    (
        Column("model", TEXT, "the first model"),
        Column("minus", TEXT, "the second, whose rate is taken off"),
        *_NULL,
        Column("n_candidates", INTEGER, "candidates that both models were judged on"),
        Column("both", INTEGER, "claimed under both models"),
        Column("only_model", INTEGER, "under the first alone"),
        Column("only_minus", INTEGER, "under the second alone"),
        Column("difference", REAL, "share claimed under the first less that under the second"),
        Column("low", REAL, "95%, Newcombe's paired interval"),
        Column("high", REAL, "95%, Newcombe's paired interval"),
    ),
    key=("model", "minus", *_NULL_KEY),
)

VALIDITY = Table(
    "validity",
    "Realized false-positive rates over random re-splits of known non-members.",
    (
        Column("control_pool", TEXT, "pool that was split"),
        Column("procedure", TEXT, "`greedy`, `base`, `top-<k>` or another decoding policy"),
        Column("suffix_tokens", INTEGER, "length of the suffix"),
        Column("alpha", REAL, "requested rate"),
        Column("split", INTEGER, "number of the re-split"),
        Column("n_controls", INTEGER, "N, calibration half"),
        Column("n_fresh", INTEGER, "non-members that were judged"),
        Column("k", INTEGER, "K"),
        Column("alpha_n", REAL, "certified rate"),
        Column("realized_fpr", REAL, "share of the fresh non-members claimed"),
    ),
    key=("control_pool", "procedure", "suffix_tokens", "alpha", "split"),
)

MATCH = Table(
    "match",
    "How well candidates and controls are matched, measured without any model.",
    (
        Column("control_pool", TEXT, "the controls"),
        Column("quantity", TEXT, "`blind AUC`, or what is compared"),
        Column("candidates", REAL, "value among candidates (AUC: the estimate)"),
        Column("controls", REAL, "value among controls (AUC: 0.5, a perfect match)"),
        Column("low", REAL, "95% interval, where there is one", nullable=True),
        Column("high", REAL, "95% interval, where there is one", nullable=True),
    ),
    key=("control_pool", "quantity"),
)
