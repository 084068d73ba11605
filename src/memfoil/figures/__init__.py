"""One function per figure, tables in, matplotlib figure out; `save` writes SVG or PNG."""

from memfoil.figures.checks import match_check, validity
from memfoil.figures.claims import margin, query_budget
from memfoil.figures.greedy import greedy_rates
from memfoil.figures.prompts import parrot_scores, prompt_criteria, prompt_searches
from memfoil.figures.rates import operating_points, repetitions, suffix_sweep
from memfoil.figures.style import save
from memfoil.figures.thresholds import control_pools, decontamination, tail_distribution

__all__ = [
    "control_pools",
    "decontamination",
    "greedy_rates",
    "margin",
    "match_check",
    "operating_points",
    "parrot_scores",
    "prompt_criteria",
    "prompt_searches",
    "query_budget",
    "repetitions",
    "save",
    "suffix_sweep",
    "tail_distribution",
    "validity",
]
