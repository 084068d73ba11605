"""The files of an index, in infini-gram's version-4 format, and what can be wrong with them.

A folder holds shards 0, 1, ...; of each shard, all numbers little-endian:

- `tokenized.N`: per document the separator (all bits set), then its ids, 2 or 4 bytes each
- `offset.N`: per document the byte offset of its separator, 8 bytes each
- `table.N`: the suffix array: one byte offset per token, separators included, each in as few
  bytes as the largest needs; suffixes ordered by their BYTES, that is by byte-swapped ids
- `metadata.N`, `metaoff.N`: one JSON line per document, and their offsets
- `unigram.N`: lines of an id and its count

`memfoil.json` beside them says what no other file does: the vocabulary, and size and SHA-256 of
every file. An index that infini-gram itself made does without.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from memfoil.errors import InvalidIndex

FORMAT = "infini-gram 4"
MANIFEST = "memfoil.json"
UNSAFE_WORDS = ("table", "tokenized")
COUNTED_TOGETHER = 1 << 24


def refuse_path(folder: Path) -> None:
    """Refuse a path that holds a word by which infini-gram tells its files apart.

    Raises
    ------
    InvalidIndex
        If "table" or "tokenized" occurs anywhere in the resolved path: there infini-gram's
        engine ends with a segmentation fault.
    """
    for word in UNSAFE_WORDS:
        if word in str(folder.resolve()):
            raise InvalidIndex(
                f"{folder}: the resolved path holds the word {word!r}, which crashes infini-gram; "
                "keep the index elsewhere"
            )


def token_type(vocab_size: int) -> np.dtype:
    """Two bytes per id where they hold every id and the separator, else four."""
    if not 0 < vocab_size < 1 << 32:
        raise InvalidIndex(f"a vocabulary of {vocab_size} ids does not fit an index")
    return np.dtype("<u2" if vocab_size < 1 << 16 else "<u4")


def pointer_width(n_bytes: int) -> int:
    """Bytes of one pointer into `n_bytes` bytes: ceil(log2(n_bytes) / 8)."""
    return -(-(n_bytes - 1).bit_length() // 8)


@dataclass(frozen=True)
class Manifest:
    """What `memfoil.json` says: `files` has the size in bytes and the SHA-256 of each."""

    vocab_size: int
    tokenizer: str = ""
    n_tokens: int = 0
    n_documents: int = 0
    shards: int = 1
    files: dict[str, tuple[int, str]] = field(default_factory=dict)
    format: str = FORMAT

    def write(self, folder: Path) -> None:
        (folder / MANIFEST).write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        path = folder / MANIFEST
        try:
            content: dict[str, Any] = json.loads(path.read_text())
            content["files"] = {name: (int(n), sha) for name, (n, sha) in content["files"].items()}
            manifest = cls(**content)
            if not all(type(n) is int and n > 0 for n in (manifest.vocab_size, manifest.shards)):
                raise ValueError("no number of ids, or of shards")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise InvalidIndex(f"{path}: not what memfoil writes; build the index again") from error
        if manifest.format != FORMAT:
            raise InvalidIndex(f"{path}: format {manifest.format!r} is not {FORMAT!r}")
        return manifest


@dataclass(frozen=True, eq=False)
class Shard:
    """One shard, memory-mapped; `offsets` in bytes, `lines` the offsets of the metadata."""

    folder: Path
    number: int
    tokens: np.ndarray
    table: np.ndarray
    offsets: np.ndarray
    metadata: np.ndarray | None
    lines: np.ndarray | None

    @cached_property
    def width(self) -> int:
        return pointer_width(self.tokens.nbytes)

    @cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, int]:
        """What every query of the kernel begins with."""
        return self.tokens, self.table, self.width

    def reopen(self) -> None:
        """Map the files anew, and so give back what the system keeps for the old maps.

        Answers do not change; whoever still reads the old maps keeps them until done.
        """
        vars(self).update(vars(map_shard(self.folder, self.number, self.tokens.dtype)))
        vars(self).pop("arrays", None)

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.{self.number}"

    def positions(self, low: int, high: int) -> np.ndarray:
        """Tokens at which the suffixes of ranks low..high-1 start, int64, in corpus order."""
        return np.sort(self.positions_of(np.arange(low, high)))

    def positions_of(self, ranks: np.ndarray) -> np.ndarray:
        """Tokens at which the suffixes of these ranks start, int64, in the order of the ranks."""
        pointers = np.zeros((len(ranks), 8), np.uint8)
        pointers[:, : self.width] = self.table.reshape(-1, self.width)[ranks]
        positions: np.ndarray = pointers.view("<i8").ravel() // self.tokens.itemsize
        return positions

    def document_at(self, position: int) -> int:
        """Number of the document to which the token at a position belongs."""
        return int(self.documents_at(np.array([position]))[0])

    def documents_at(self, positions: np.ndarray) -> np.ndarray:
        """Numbers of the documents to which the tokens at these positions belong."""
        at = (positions * self.tokens.itemsize).astype(np.uint64)
        return np.searchsorted(self.offsets, at, side="right") - 1

    def span(self, document: int) -> tuple[int, int]:
        """Positions of a document's first token and of the one behind its last."""
        last = document + 1 == len(self.offsets)
        end = self.tokens.nbytes if last else int(self.offsets[document + 1])
        return int(self.offsets[document]) // self.tokens.itemsize + 1, end // self.tokens.itemsize

    def spans(self, documents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the documents' first tokens and of those behind their last, int64."""
        last = len(self.offsets) - 1
        after = self.offsets[np.minimum(documents + 1, last)].astype(np.int64)
        ends = np.where(documents == last, self.tokens.nbytes, after)
        size = self.tokens.itemsize
        return self.offsets[documents].astype(np.int64) // size + 1, ends // size

    def document_id(self, document: int) -> str:
        """As the metadata name it; else `shard:number`."""
        try:
            return str(json.loads(self.metadata_line(document))["document_id"])
        except (ValueError, TypeError, KeyError):
            return f"{self.number}:{document}"

    def document_ids(self, documents: np.ndarray) -> list[str]:
        """The same for many documents; each is read once."""
        unique, places = np.unique(documents, return_inverse=True)
        lines = [self.metadata_line(document) for document in unique.tolist()]
        try:
            names = [str(line["document_id"]) for line in json.loads(f"[{','.join(lines)}]")]
        except (ValueError, TypeError, KeyError):
            names = []
        if len(names) != len(lines):
            names = [self.document_id(document) for document in unique.tolist()]
        return [names[place] for place in places.tolist()]

    def unigrams(self) -> np.ndarray:
        """How often each id occurs, int64, from id 0 to the largest that does.

        As `unigram.N` says, without the separators; where there is none, by counting.
        """
        if self.path("unigram").exists():
            try:
                ids, counts = np.loadtxt(self.path("unigram"), np.int64, ndmin=2).T
            except ValueError as error:
                raise InvalidIndex(
                    f"{self.path('unigram')}: not lines of an id and its count: {error}"
                ) from error
            words = ids < np.iinfo(self.tokens.dtype).max
            total = np.zeros(ids[words].max(initial=0) + 1, np.int64)
            total[ids[words]] = counts[words]
            return total
        total = np.zeros(1, np.int64)
        for start in range(0, len(self.tokens), COUNTED_TOGETHER):
            part = self.tokens[start : start + COUNTED_TOGETHER]
            counts = np.bincount(part[part < np.iinfo(part.dtype).max])
            total = np.pad(total, (0, max(len(counts) - len(total), 0)))
            total[: len(counts)] += counts
        return total

    def metadata_line(self, document: int) -> str:
        """A document's line of metadata; empty where the shard has none."""
        if self.metadata is None or self.lines is None:
            return ""
        stop = self.lines[document + 1] if document + 1 < len(self.lines) else len(self.metadata)
        line = self.metadata[int(self.lines[document]) : int(stop)].tobytes()
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            raise InvalidIndex(
                f"{self.path('metadata')}: the line of document {document} is damaged: not UTF-8; "
                "build the index again"
            ) from error


def page_tables() -> int:
    """Bytes that the system keeps to know which pages this process has mapped; 0 if it is silent.

    For files larger than memory they grow with every place that is read, up to a byte for each
    512 of the files.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return 1024 * int(lines.get("VmPTE", "0 kB").split()[0])


def shard_numbers(folder: Path, manifest: Manifest | None) -> range:
    """The shards that a folder should hold: those of the manifest, or all it has some file of."""
    if manifest:
        return range(manifest.shards)
    numbers = [
        int(path.suffix[1:])
        for name in ("tokenized", "table", "offset")
        for path in folder.glob(f"{name}.*")
        if path.suffix[1:].isdecimal()
    ]
    if not numbers:
        raise InvalidIndex(f"{folder}: holds no index (no file tokenized.0)")
    return range(max(numbers) + 1)


def map_shard(folder: Path, number: int, dtype: np.dtype) -> Shard:
    """Map the files of a shard and check that their sizes fit each other.

    Raises
    ------
    InvalidIndex
        If a file is missing, empty or cut short.
    """
    tokens = _map(folder / f"tokenized.{number}", dtype)
    table = _map(folder / f"table.{number}", np.dtype(np.uint8))
    if len(table) != len(tokens) * pointer_width(tokens.nbytes):
        raise InvalidIndex(
            f"{folder}/table.{number}: {len(table)} bytes where {len(tokens)} tokens need "
            f"{len(tokens) * pointer_width(tokens.nbytes)}: cut short or of another index (or "
            f"built for another vocabulary size); build it again"
        )
    offsets = _map(folder / f"offset.{number}", np.dtype("<u8"))
    metadata = lines = None
    if (folder / f"metadata.{number}").exists() or (folder / f"metaoff.{number}").exists():
        metadata = _map(folder / f"metadata.{number}", np.dtype(np.uint8))
        lines = _map(folder / f"metaoff.{number}", np.dtype("<u8"))
        if len(lines) != len(offsets):
            raise InvalidIndex(
                f"{folder}/metaoff.{number}: {len(lines)} documents where offset.{number} "
                f"has {len(offsets)}; build the index again"
            )
    return Shard(folder, number, tokens, table, offsets, metadata, lines)


def _map(path: Path, dtype: np.dtype) -> np.ndarray:
    try:
        size = path.stat().st_size
    except FileNotFoundError as error:
        raise InvalidIndex(f"{path}: the file is missing; build the index again") from error
    if not size or size % dtype.itemsize:
        raise InvalidIndex(f"{path}: {size} bytes: cut short; build the index again")
    return np.memmap(path, dtype, mode="r").view(np.ndarray)


def check_sizes(folder: Path, manifest: Manifest) -> None:
    """Compare every file's size with the manifest."""
    for name, (size, _) in manifest.files.items():
        path = folder / name
        if not path.is_file():
            raise InvalidIndex(f"{path}: the file is missing; build the index again")
        if path.stat().st_size != size:
            raise InvalidIndex(
                f"{path}: {path.stat().st_size} bytes where {size} were written; "
                "build the index again"
            )


def map_folder(folder: Path, vocab_size: int | None) -> tuple[Manifest, tuple[Shard, ...]]:
    """Map all shards of a folder; sizes are checked, contents are not.

    Raises
    ------
    InvalidIndex
        If a file is missing or of the wrong size, or the vocabulary is not known.
    """
    refuse_path(folder)
    if not folder.is_dir():
        raise InvalidIndex(f"{folder}: there is no such folder; build the index first")
    manifest = Manifest.read(folder) if (folder / MANIFEST).exists() else None
    if manifest is None and vocab_size is None:
        raise InvalidIndex(f"{folder}: has no {MANIFEST}; say how large the vocabulary is")
    if manifest and vocab_size not in (None, manifest.vocab_size):
        raise InvalidIndex(
            f"{folder}: built for a vocabulary of {manifest.vocab_size} ids, not {vocab_size}"
        )
    numbers = shard_numbers(folder, manifest)
    if manifest:
        check_sizes(folder, manifest)
    known = manifest or Manifest(vocab_size=vocab_size or 0, shards=len(numbers))
    dtype = token_type(known.vocab_size)
    return known, tuple(map_shard(folder, number, dtype) for number in numbers)
