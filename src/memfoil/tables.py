"""Every table memfoil writes: its columns, validated reading, atomic writing, provenance.

`python -m memfoil.tables` prints this module's schemas as Markdown (docs/tables.md).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from memfoil import __version__
from memfoil.errors import InvalidTable

RESTS_ON = ("numpy", "pandas", "pyarrow", "scipy", "torch", "transformers", "tokenizers")

TEXT = pa.string()
INTEGER = pa.int64()
REAL = pa.float64()
FLAG = pa.bool_()
DATE = pa.date32()
TOKENS = pa.list_(pa.int32())


@dataclass(frozen=True)
class Column:
    """One column: `log` marks natural logs of probabilities, at most 0, never NaN."""

    name: str
    type: pa.DataType
    meaning: str
    nullable: bool = False
    log: bool = False


@dataclass(frozen=True)
class Provenance:
    """Who made a table and from what. No clock time: the same run writes the same table twice."""

    stage: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    configuration: str = ""
    code: str = ""
    seed: int | None = None

    def metadata(self) -> dict[bytes, bytes]:
        versions = {"memfoil": __version__}
        versions |= {name: importlib.metadata.version(name) for name in RESTS_ON}
        content = {
            "stage": self.stage,
            "inputs": dict(self.inputs),
            "configuration": self.configuration,
            "code": self.code,
            "seed": self.seed,
            "versions": versions,
        }
        return {b"memfoil": json.dumps(content, sort_keys=True).encode()}


@dataclass(frozen=True)
class Table:
    """The schema of one table.

    `key` columns together are unique. A column that is not in the schema is refused, unless its
    name matches `family`, a pattern of numbered columns that all share the type of `member`.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    family: str | None = None
    member: Column | None = None

    def read(self, path: str | Path, columns: list[str] | None = None) -> pd.DataFrame:
        """Read and validate a Parquet file; dates become datetime64, token ids arrays of int32.

        Raises
        ------
        InvalidTable
            If the file is missing or damaged, or does not fit this schema.
        """
        try:
            table = pq.read_table(path, columns=columns)
        except (pa.ArrowException, OSError) as error:
            raise InvalidTable(f"{path}: not a readable Parquet file: {error}") from error
        return self.validate(table, str(path), complete=columns is None).to_pandas(
            date_as_object=False
        )

    def write(self, frame: pd.DataFrame, path: str | Path, provenance: Provenance) -> None:
        """Validate and write: to a temporary name in the same folder, then renamed."""
        table = self.validate(pa.Table.from_pandas(frame, preserve_index=False), self.name)
        table = table.replace_schema_metadata(provenance.metadata())
        with atomic(path) as temporary:
            pq.write_table(table, temporary, compression="zstd")

    def write_parts(
        self, frames: Iterable[pd.DataFrame], path: str | Path, provenance: Provenance
    ) -> None:
        """Write a table part by part, so that memory holds one part at a time.

        The parts must not share a key: each is validated alone.
        """
        empty = pa.table({column.name: pa.nulls(0) for column in self.columns})
        schema = self.validate(empty, self.name).schema.with_metadata(provenance.metadata())
        with (
            atomic(path) as temporary,
            pq.ParquetWriter(temporary, schema, compression="zstd") as writer,
        ):
            for frame in frames:
                part = self.validate(pa.Table.from_pandas(frame, preserve_index=False), self.name)
                writer.write_table(part.replace_schema_metadata(provenance.metadata()))

    def read_parts(self, path: str | Path, rows: int) -> Iterator[pd.DataFrame]:
        """Read a table part by part, so that memory holds so many rows at a time.

        Each part is validated alone. Raises what `read` does.
        """
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(rows):
                    part = self.validate(pa.Table.from_batches([batch]), str(path))
                    yield part.to_pandas(date_as_object=False)
        except (pa.ArrowException, OSError) as error:
            raise InvalidTable(f"{path}: not a readable Parquet file: {error}") from error

    def validate(self, table: pa.Table, where: str, complete: bool = True) -> pa.Table:
        """Cast to this schema, columns in its order; one line that names the offending value.

        Raises
        ------
        InvalidTable
            If a column is missing, unknown or of another type, a value is null, NaN or positive
            where it must not be, or a key occurs twice.
        """
        known = {column.name: column for column in self.columns}
        unknown = [name for name in table.column_names if name not in known]
        if self.family and self.member:
            relatives = [name for name in unknown if re.fullmatch(self.family, name)]
            known |= {
                name: Column(name, self.member.type, self.member.meaning, log=self.member.log)
                for name in relatives
            }
            unknown = [name for name in unknown if name not in known]
        if unknown:
            raise InvalidTable(
                f"{where}: unknown column {unknown[0]}; a {self.name} table has "
                f"{', '.join(column.name for column in self.columns)}"
            )
        missing = [
            column.name
            for column in self.columns
            if column.name not in table.column_names and not column.nullable
        ]
        if complete and missing:
            raise InvalidTable(f"{where}: column {missing[0]} is missing")
        arrays, fields = [], []
        for name, column in known.items():
            if name in table.column_names:
                arrays.append(_conform(table.column(name), column, where))
            elif complete:
                arrays.append(pa.nulls(len(table), column.type))
            else:
                continue
            fields.append(pa.field(name, column.type, nullable=column.nullable))
        result = pa.table(arrays, schema=pa.schema(fields))
        if complete or set(self.key) <= set(result.column_names):
            self._refuse_repeated_keys(result, where)
        return result

    def _refuse_repeated_keys(self, table: pa.Table, where: str) -> None:
        keys = table.select(list(self.key)).to_pandas()
        repeated = keys.duplicated()
        if repeated.any():
            row = int(np.argmax(repeated.to_numpy()))
            value = ", ".join(f"{name} {keys[name].iloc[row]}" for name in self.key)
            raise InvalidTable(f"{where}: row {row}: {value} occurs more than once")


def _conform(array: pa.ChunkedArray, column: Column, where: str) -> pa.ChunkedArray:
    """Cast one column and check its values."""
    if not len(array):
        return pa.chunked_array([], column.type)
    try:
        array = array.cast(column.type)
    except pa.ArrowException as error:
        raise InvalidTable(
            f"{where}: column {column.name}: {array.type} where {column.type} is needed: {error}"
        ) from error
    if array.null_count and not column.nullable:
        row = int(np.argmax(array.is_null().to_numpy()))
        kind = "NaN" if pa.types.is_floating(column.type) else "an empty value"
        raise InvalidTable(f"{where}: column {column.name}, row {row}: {kind} is not allowed here")
    if pa.types.is_list(column.type) and pc.list_flatten(array).null_count:
        inside = pc.list_parent_indices(array).filter(pc.is_null(pc.list_flatten(array)))
        raise InvalidTable(
            f"{where}: column {column.name}, row {inside[0]}: an empty value in the list"
        )
    if column.log:
        values = array.to_numpy()
        bad = np.isnan(values) & array.is_valid().to_numpy() | (values > 0)
        if bad.any():
            row = int(np.argmax(bad))
            raise InvalidTable(
                f"{where}: column {column.name}, row {row}: {values[row]} is not the natural log "
                "of a probability (at most 0, -inf allowed)"
            )
    return array


class atomic:  # noqa: N801 - used as `with atomic(path) as temporary`
    """A temporary path beside `path` that takes its name when the block ends without an error.

    Whatever happens inside, `path` is either its old self or complete.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")

    def __enter__(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return self.temporary

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if isinstance(error, OSError) and error.errno and error.filename is None:
                raise OSError(error.errno, error.strerror, str(self.path)) from error
            if error is None:
                with self.temporary.open("rb+") as file:
                    os.fsync(file.fileno())
                self.temporary.replace(self.path)
        finally:
            self.temporary.unlink(missing_ok=True)


def digest(path: str | Path) -> str:
    """SHA-256 of a file, or of the names and digests of a folder's files, in order."""
    path = Path(path)
    if path.is_dir():
        parts = [(str(p.relative_to(path)), digest(p)) for p in path.rglob("*") if p.is_file()]
        return hashlib.sha256(json.dumps(sorted(parts)).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def provenance_of(path: str | Path) -> dict[str, Any]:
    """The provenance that `Table.write` put into a Parquet file.

    Raises
    ------
    InvalidTable
        If the file is not Parquet, or was not written by memfoil.
    """
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise InvalidTable(f"{path}: not a readable Parquet file: {error}") from error
    if b"memfoil" not in metadata:
        raise InvalidTable(f"{path}: holds no provenance; it was not written by memfoil")
    return json.loads(metadata[b"memfoil"])


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
    "Teacher-forced scores of every suffix token under the base distribution at T = 1.",
    (
        Column("sequence_id", TEXT, "the sequence"),
        Column("position", INTEGER, "in the suffix, from 1"),
        Column("log_probability", REAL, "of the token", log=True),
        Column("rank", INTEGER, "tokens whose logit is at least the token's own: 1 is arg max"),
    ),
    key=("sequence_id", "position"),
    family=r"log_mass_top_\d+",
    member=Column("log_mass_top_<k>", REAL, "log-mass of the k likeliest tokens", log=True),
)

SCORES = Table(
    "scores",
    "One score per sequence, extraction procedure and suffix length.",
    (
        Column("sequence_id", TEXT, "the sequence"),
        Column("procedure", TEXT, "`greedy`, `base` or `top-<k>`"),
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
    Column("procedure", TEXT, "`greedy`, `base` or `top-<k>`"),
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

VALIDITY = Table(
    "validity",
    "Realized false-positive rates over random re-splits of known non-members.",
    (
        Column("control_pool", TEXT, "pool that was split"),
        Column("procedure", TEXT, "`greedy`, `base` or `top-<k>`"),
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

TABLES = (
    DOCUMENTS, PASSAGES, SPLITS, CORPUS, TRAINING, DRAWS, SEQUENCES, LEFT_OUT, CONTAMINATION,
    TOKEN_SCORES, SCORES, THRESHOLDS, RATES, CLAIMS, VALIDITY, MATCH,
    GENERATIONS, SPANS, TRACES, REPRODUCTION, PROMPTS,
    PROPENSITY, MODEL_DIFFERENCES, PROMPTED, SPAN_COPIES, PROMPT_TEXTS, SPAN_LENGTHS,
    SPAN_SCORES, SPAN_RATES,
    CENSUS_TEXTS, CENSUS_WINDOWS, CENSUS_SCORES, NEAR_VERBATIM, BEAM_SEARCHES, CENSUS_CONTROLS,
    CENSUS_THRESHOLDS, CENSUS, CENSUS_CURVES, CENSUS_RECOVERY, CENSUS_HEAT, CENSUS_TRUTH,
    TARGETS, PROMPT_RUNS, PROMPT_LOSSES, COMPRESSION, MULTI_PREFIX, PARROTS, GENERAL_SCORES,
    PREFIX_GROUPS, PREFIX_TESTS, PREFIX_HALVES, PROMPT_CRITERIA,
)  # fmt: skip


def markdown() -> str:
    """All schemas as one Markdown page."""
    lines = ["# Tables", "", "Written by `python -m memfoil.tables`; do not edit."]
    for table in TABLES:
        lines += ["", f"## {table.name}", table.meaning, ""]
        lines += [f"Key: {', '.join(f'`{name}`' for name in table.key)}.", ""]
        lines += ["| column | type | meaning |", "|---|---|---|"]
        columns = (*table.columns, table.member) if table.member else table.columns
        lines += [
            f"| `{c.name}` | {c.type}{', may be empty' if c.nullable else ''} | {c.meaning} |"
            for c in columns
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")  # noqa: T201
