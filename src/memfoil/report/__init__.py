"""What a run found, in words and numbers for a person."""

from memfoil.report.summary import Audit, count_left_out, summary

__all__ = ["Audit", "count_left_out", "summary"]
