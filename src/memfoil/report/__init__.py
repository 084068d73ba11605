"""What a run found, in words and numbers for a person."""

from memfoil.report.excerpts import contaminated, judged_at, shown_claims
from memfoil.report.methods import methods
from memfoil.report.summary import Audit, count_left_out, summary

__all__ = [
    "Audit",
    "contaminated",
    "count_left_out",
    "judged_at",
    "methods",
    "shown_claims",
    "summary",
]
