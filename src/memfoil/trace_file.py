"""`memfoil trace`: from a file of generations to a file of traces."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from memfoil import tables
from memfoil.errors import InvalidConfiguration
from memfoil.index import Searchable, open_index, open_remote, require_tokenizer_of
from memfoil.index.files import MANIFEST
from memfoil.index.remote import CANNOT
from memfoil.tracing.page import write_page
from memfoil.tracing.trace import GENERATIONS_TOGETHER, Mode, maximal_spans, trace
from memfoil.tracing.words import Reader


def trace_file(
    index: str,
    generations: str,
    out: str,
    spans: str,
    mode: Mode,
    tokenizer: str,
    vocab_size: int | None,
    seed: int,
    page: str | None,
) -> str:
    """Trace a GENERATIONS file and write the TRACES or SPANS table; a line that says what.

    Raises
    ------
    InvalidTable, InvalidIndex, InvalidModel, InvalidConfiguration, UnusableService
        With one line.
    """
    _refuse_places(generations, out, page)
    reader, name = _reader_of(tokenizer)
    opened: Searchable
    if Path(index).is_file():
        opened = open_remote(index)
        print(f"memfoil: {index}: {CANNOT}", file=sys.stderr)  # noqa: T201
    else:
        if vocab_size is None and reader is not None and not (Path(index) / MANIFEST).exists():
            vocab_size = reader.vocab_size
        opened = open_index(index, vocab_size=vocab_size)
    require_tokenizer_of(opened, name, where=index)
    if page and (reader is None or spans == "maximal"):
        raise InvalidConfiguration(
            "--page shows selected spans as text: name the folder of the tokenizer"
        )
    frame = tables.GENERATIONS.read(generations)
    read = [Path(generations), *Path(index).glob(MANIFEST)]  # the manifest has all files' digests
    inputs = {
        tables.input_name(path, value): value for path in read for value in [tables.digest(path)]
    }
    if spans == "maximal":
        table, parts = tables.SPANS, maximal_spans(frame, opened)
    else:
        table, parts = tables.TRACES, trace(frame, opened, seed=seed, mode=mode, reader=reader)
    table.write_parts(_shown(parts, len(frame)), out, tables.Provenance("trace", inputs, seed=seed))
    if page and reader is not None:
        write_page(frame, out, reader, page, title=f"Traces in {index}")
    return f"{out}: {len(frame):,} generations traced"


def _refuse_places(generations: str, out: str, page: str | None) -> None:
    """Refuse, before hours of work, what cannot be written or would be written over."""
    taken = {"--generations": Path(generations).resolve()}
    for option, path in {"--out": out, "--page": page}.items():
        if path is None:
            continue
        tables.require_file_place(Path(path))
        for other, place in taken.items():
            if Path(path).resolve() == place:
                raise InvalidConfiguration(
                    f"{option} {path}: the file of {other}, which would be lost; choose another"
                )
        taken[option] = Path(path).resolve()


def _reader_of(tokenizer: str) -> tuple[Reader | None, str]:
    """A folder's tokenizer with its digest, or nothing with the name itself."""
    if not tokenizer or not Path(tokenizer).is_dir():
        return None, tokenizer
    from memfoil.models import load_tokenizer, tokenizer_digest  # seconds, and seldom needed

    loaded = load_tokenizer(tokenizer)
    return Reader(loaded, len(loaded)), tokenizer_digest(loaded)


def _shown(parts: Iterable[pd.DataFrame], n: int) -> Iterator[pd.DataFrame]:
    """The parts, with a progress bar on a terminal."""
    with tqdm(total=n, desc="tracing", unit=" generations", disable=None) as bar:
        for part in parts:
            yield part
            bar.update(min(GENERATIONS_TOGETHER, n - bar.n))
