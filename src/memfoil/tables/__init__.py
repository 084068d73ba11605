"""Every table memfoil writes: its columns, validated reading, atomic writing, provenance.

`python -m memfoil.tables` prints the schemas as Markdown (docs/tables.md).
"""

from pathlib import Path

from memfoil.errors import InvalidTable
from memfoil.tables.audit import (
    CLAIMS,
    CONTAMINATION,
    CORPUS,
    DOCUMENTS,
    DRAWS,
    GENERAL_SCORES,
    LEFT_OUT,
    MATCH,
    PAIRED,
    PASSAGES,
    RATES,
    SCORES,
    SEQUENCES,
    SPLITS,
    THRESHOLDS,
    TOKEN_SCORES,
    TRAINING,
    VALIDITY,
)
from memfoil.tables.census import (
    BEAM_SEARCHES,
    CENSUS,
    CENSUS_CONTROLS,
    CENSUS_CURVES,
    CENSUS_HEAT,
    CENSUS_RECOVERY,
    CENSUS_SCORES,
    CENSUS_TEXTS,
    CENSUS_THRESHOLDS,
    CENSUS_TRUTH,
    CENSUS_WINDOWS,
    NEAR_VERBATIM,
)
from memfoil.tables.prompts import (
    COMPRESSION,
    MULTI_PREFIX,
    PARROTS,
    PREFIX_GROUPS,
    PREFIX_HALVES,
    PREFIX_TESTS,
    PROMPT_CRITERIA,
    PROMPT_LOSSES,
    PROMPT_RUNS,
    TARGETS,
)
from memfoil.tables.propensity import (
    MODEL_DIFFERENCES,
    PROMPT_TEXTS,
    PROMPTED,
    PROMPTS,
    PROPENSITY,
    SPAN_COPIES,
    SPAN_LENGTHS,
    SPAN_RATES,
    SPAN_SCORES,
)
from memfoil.tables.schema import (
    NAME,
    OUTSIDE,
    Column,
    Provenance,
    Table,
    digest,
    footer,
    input_name,
    parameters_digest,
    provenance_of,
)
from memfoil.tables.seal import is_sound
from memfoil.tables.shards import read_share, share, write_in_shards
from memfoil.tables.tracing import (
    GENERATIONS,
    REPRODUCTION,
    SPANS,
    TRACES,
)
from memfoil.tables.writing import atomic, beside, require_file_place, require_place

TABLES = (
    DOCUMENTS,
    PASSAGES,
    SPLITS,
    CORPUS,
    TRAINING,
    DRAWS,
    SEQUENCES,
    LEFT_OUT,
    CONTAMINATION,
    TOKEN_SCORES,
    SCORES,
    THRESHOLDS,
    RATES,
    CLAIMS,
    PAIRED,
    VALIDITY,
    MATCH,
    GENERAL_SCORES,
    GENERATIONS,
    SPANS,
    TRACES,
    REPRODUCTION,
    PROMPTS,
    PROPENSITY,
    MODEL_DIFFERENCES,
    PROMPTED,
    SPAN_COPIES,
    PROMPT_TEXTS,
    SPAN_LENGTHS,
    SPAN_SCORES,
    SPAN_RATES,
    CENSUS_TEXTS,
    CENSUS_WINDOWS,
    CENSUS_SCORES,
    NEAR_VERBATIM,
    BEAM_SEARCHES,
    CENSUS_CONTROLS,
    CENSUS_THRESHOLDS,
    CENSUS,
    CENSUS_CURVES,
    CENSUS_RECOVERY,
    CENSUS_HEAT,
    CENSUS_TRUTH,
    TARGETS,
    PROMPT_RUNS,
    PROMPT_LOSSES,
    COMPRESSION,
    MULTI_PREFIX,
    PARROTS,
    PREFIX_GROUPS,
    PREFIX_TESTS,
    PREFIX_HALVES,
    PROMPT_CRITERIA,
)


def table_of(path: str | Path) -> Table:
    """The table that a file says it is.

    Raises
    ------
    InvalidTable
        If the file is not Parquet, or was not written by this version of memfoil.
    """
    name = (footer(path).metadata or {}).get(NAME.encode(), b"").decode()
    for table in TABLES:
        if table.name == name:
            return table
    raise InvalidTable(f"{path}: this version of memfoil has no table {name!r}; make it again")


def markdown() -> str:
    """All schemas as one Markdown page."""
    lines = ["# Tables", "", "Written by `python -m memfoil.tables`; do not edit."]
    for table in TABLES:
        lines += ["", f"## {table.name}", table.meaning, ""]
        lines += [f"Key: {', '.join(f'`{name}`' for name in table.key)}.", ""]
        lines += ["| column | type | meaning |", "|---|---|---|"]
        lines += [
            f"| `{c.name}` | {c.type}{', may be empty' if c.nullable else ''} | {c.meaning} |"
            for c in (*table.columns, *table.families.values())
        ]
    return "\n".join(lines) + "\n"


__all__ = [
    "BEAM_SEARCHES",
    "CENSUS",
    "CENSUS_CONTROLS",
    "CENSUS_CURVES",
    "CENSUS_HEAT",
    "CENSUS_RECOVERY",
    "CENSUS_SCORES",
    "CENSUS_TEXTS",
    "CENSUS_THRESHOLDS",
    "CENSUS_TRUTH",
    "CENSUS_WINDOWS",
    "CLAIMS",
    "COMPRESSION",
    "CONTAMINATION",
    "CORPUS",
    "DOCUMENTS",
    "DRAWS",
    "GENERAL_SCORES",
    "GENERATIONS",
    "LEFT_OUT",
    "MATCH",
    "MODEL_DIFFERENCES",
    "MULTI_PREFIX",
    "NAME",
    "NEAR_VERBATIM",
    "OUTSIDE",
    "PAIRED",
    "PARROTS",
    "PASSAGES",
    "PREFIX_GROUPS",
    "PREFIX_HALVES",
    "PREFIX_TESTS",
    "PROMPTED",
    "PROMPTS",
    "PROMPT_CRITERIA",
    "PROMPT_LOSSES",
    "PROMPT_RUNS",
    "PROMPT_TEXTS",
    "PROPENSITY",
    "RATES",
    "REPRODUCTION",
    "SCORES",
    "SEQUENCES",
    "SPANS",
    "SPAN_COPIES",
    "SPAN_LENGTHS",
    "SPAN_RATES",
    "SPAN_SCORES",
    "SPLITS",
    "TABLES",
    "TARGETS",
    "THRESHOLDS",
    "TOKEN_SCORES",
    "TRACES",
    "TRAINING",
    "VALIDITY",
    "Column",
    "Provenance",
    "Table",
    "atomic",
    "beside",
    "digest",
    "footer",
    "input_name",
    "is_sound",
    "markdown",
    "parameters_digest",
    "provenance_of",
    "read_share",
    "require_file_place",
    "require_place",
    "share",
    "table_of",
    "write_in_shards",
]
