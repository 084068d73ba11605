"""The tables of prompt search: targets, runs, compression, prefixes, parrots, criteria."""

from __future__ import annotations

from memfoil.tables.schema import FLAG, INTEGER, REAL, TEXT, TOKENS, Column, Table

TARGETS = Table(
    "targets",
    "Sequences that prompts are sought for.",
    (
        Column("sequence_id", TEXT, "names the target"),
        Column("pool", TEXT, "its set in the configuration; a half's set says which half"),
        Column("role", TEXT, "`candidate` or `control`"),
        Column("text", TEXT, "what is to be said"),
        Column("token_ids", TOKENS, "its tokens, without start-of-text"),
        Column("part", TEXT, "`whole`, or `first half`, `middle half`, `last half`"),
        Column("whole_id", TEXT, "the target a half is taken from", nullable=True),
        Column("original", TEXT, "what a paraphrase paraphrases", nullable=True),
    ),
    key=("sequence_id",),
)

PROMPT_RUNS = Table(
    "prompt_runs",
    "One search for a prompt. The success tests read the prompt from its text alone.",
    (
        Column("procedure", TEXT, "`compression` or `multi-prefix`"),
        Column("sequence_id", TEXT, "the target"),
        Column("run", INTEGER, "number of the search, from 1; each has its own seed"),
        Column("prompt_tokens", INTEGER, "length of the prompt"),
        Column("steps", INTEGER, "steps until success, or all"),
        Column("loss", REAL, "of the target after the prompt, nats per token"),
        Column("teacher_forced", FLAG, "each target token is the arg max after the true ones"),
        Column("generated", FLAG, "greedy generation writes the target: what a claim rests on"),
        Column("relaxed", FLAG, "geometric-mean token probability of at least 0.9"),
        Column("first_teacher_forced", INTEGER, "first step that passed this test", nullable=True),
        Column("first_generated", FLAG, "whether its prompt generated too", nullable=True),
        Column("distinct", FLAG, "unlike all earlier prefixes of the target", nullable=True),
        Column("prompt", TEXT, "the prompt"),
        Column("prompt_ids", TOKENS, "its tokens, without start-of-text and template"),
        Column("generation", TEXT, "what greedy generation wrote"),
        Column("shared_words", TEXT, "words of the target in the prompt", nullable=True),
        Column("original_generated", FLAG, "it wrote a paraphrase's original", nullable=True),
    ),
    key=("procedure", "sequence_id", "run"),
)

PROMPT_LOSSES = Table(
    "prompt_losses",
    "The course of every search.",
    (
        Column("sequence_id", TEXT, "the target"),
        Column("procedure", TEXT, "`compression` or `multi-prefix`"),
        Column("run", INTEGER, "number of the search"),
        Column("step", INTEGER, "0: the random prompt it starts from"),
        Column("loss", REAL, "of this step's prompt, nats per target token"),
        Column("lowest", REAL, "lowest so far"),
        Column("candidates", INTEGER, "candidates that survived decoding and encoding in context"),
    ),
    key=("sequence_id", "procedure", "run", "step"),
)

COMPRESSION = Table(
    "compression",
    "The shortest prompt found for every target.",
    (
        Column("sequence_id", TEXT, "the target"),
        Column("target_tokens", INTEGER, "its length"),
        Column("prompt_tokens", INTEGER, "of the shortest prompt that generates it", nullable=True),
        Column("acr", REAL, "target over prompt length; 0 if no prompt generates it"),
        Column("acr_teacher_forced", REAL, "the same for prompts that pass the other test"),
        Column("prompt", TEXT, "the prompt", nullable=True),
        Column("shared_words", TEXT, "words of the target in it: a flag", nullable=True),
        Column("runs", INTEGER, "searches made"),
        Column("steps", INTEGER, "steps of all of them"),
    ),
    key=("sequence_id",),
)

MULTI_PREFIX = Table(
    "multi_prefix",
    "How many distinct prefixes elicit every target, and how many make it memorized.",
    (
        Column("sequence_id", TEXT, "the target"),
        Column("target_tokens", INTEGER, "its length"),
        Column("eta", REAL, "memorization score"),
        Column("needed", INTEGER, "P = ceil(eta target_tokens)"),
        Column("budget", INTEGER, "searches allowed: max(10, 2 P)"),
        Column("runs", INTEGER, "searches made"),
        Column("successes", INTEGER, "those whose prompt generates the target"),
        Column("distinct", INTEGER, "distinct prefixes among these"),
        Column("success_rate", REAL, "successes / runs; 0 without a run"),
        Column("memorized", FLAG, "the published criterion: eta > 0 and P distinct prefixes"),
        Column("discoverable", FLAG, "its first half makes the model write its second"),
    ),
    key=("sequence_id",),
)

PARROTS = Table(
    "parrots",
    "What every prompt that holds its target does.",
    (
        Column("sequence_id", TEXT, "the target"),
        Column("template_id", TEXT, "the template"),
        Column("kind", TEXT, "`repeat`, `copy` or `coax`"),
        Column("log_score", REAL, "of the target after the prompt, T = 1", log=True),
        Column("teacher_forced", FLAG, "each target token is the arg max after the true ones"),
        Column("generated", FLAG, "greedy generation writes the target"),
    ),
    key=("sequence_id", "template_id"),
)

PREFIX_GROUPS = Table(
    "prefix_groups",
    "Multi-prefix memorization and its cost, set by set.",
    (
        Column("pool", TEXT, "set of targets"),
        Column("role", TEXT, "`candidate` or `control`"),
        Column("targets", INTEGER, "their number"),
        Column("memorized", INTEGER, "by the published criterion"),
        Column("discoverable", INTEGER, "from their own first half"),
        Column("success_rate", REAL, "mean over targets"),
        Column("eta", REAL, "mean"),
        Column("needed", REAL, "mean P"),
        Column("budget", REAL, "mean number of searches allowed"),
        Column("runs", REAL, "mean number of searches made"),
    ),
    key=("pool",),
)

PREFIX_TESTS = Table(
    "prefix_tests",
    "One-sided Mann-Whitney tests of success rates. Memorized against not is circular: success "
    "decides both.",
    (
        Column("larger", TEXT, "group said to have larger rates: a set, or `memorized`"),
        Column("smaller", TEXT, "the other group"),
        Column("n_larger", INTEGER, "targets in the first"),
        Column("n_smaller", INTEGER, "targets in the second"),
        Column("rate_larger", REAL, "mean success rate of the first"),
        Column("rate_smaller", REAL, "mean success rate of the second"),
        Column("u", REAL, "Mann-Whitney U of the first"),
        Column("p_value", REAL, "one-sided"),
        Column("rank_biserial", REAL, "effect, from -1 to 1"),
    ),
    key=("larger", "smaller"),
)

PREFIX_HALVES = Table(
    "prefix_halves",
    "Whether a whole and its half are memorized together (multi-prefix).",
    (
        Column("pool", TEXT, "set of the wholes"),
        Column("part", TEXT, "`first half`, `middle half` or `last half`"),
        Column("both", INTEGER, "whole and half memorized"),
        Column("whole_only", INTEGER, "the whole, not the half"),
        Column("half_only", INTEGER, "the half, not the whole"),
        Column("neither", INTEGER, "none of the two"),
    ),
    key=("pool", "part"),
)

PROMPT_CRITERIA = Table(
    "prompt_criteria",
    "What each criterion claims in each set of targets, members and non-members alike.",
    (
        Column("criterion", TEXT, "a published criterion, or the score that was calibrated"),
        Column("calibrated", FLAG, "judged by matched controls"),
        Column("control_pool", TEXT, "set the null comes from", nullable=True),
        Column("decontaminated", FLAG, "members taken out of that set", nullable=True),
        Column("n_controls", INTEGER, "N", nullable=True),
        Column("smallest_level", REAL, "1 / (N + 1): none below is certified", nullable=True),
        Column("alpha_n", REAL, "certified rate of the claims", nullable=True),
        Column("tau", REAL, "threshold on the score's own scale", nullable=True),
        Column("pool", TEXT, "set of targets judged"),
        Column("role", TEXT, "`candidate` or `control`"),
        Column("targets", INTEGER, "their number"),
        Column("claims", INTEGER, "claimed; of controls under their own threshold: in sample"),
        Column("low", REAL, "Clopper-Pearson 95% of the share"),
        Column("high", REAL, "Clopper-Pearson 95% of the share"),
    ),
    key=("criterion", "calibrated", "control_pool", "decontaminated", "pool"),
)
