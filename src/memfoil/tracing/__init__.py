"""Tracing generations to the text a model was trained on."""

from memfoil.tracing.page import write_page
from memfoil.tracing.reproduction import measures, rates, reproduced
from memfoil.tracing.trace import Mode, maximal_spans, trace
from memfoil.tracing.words import Reader

__all__ = [
    "Mode",
    "Reader",
    "maximal_spans",
    "measures",
    "rates",
    "reproduced",
    "trace",
    "write_page",
]
