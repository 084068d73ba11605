"""A hosted infini-gram index behind its HTTP API: one question at a time, each kept on disk."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import requests

from memfoil import configuration
from memfoil.errors import InvalidConfiguration, UnusableService
from memfoil.index.query import Batch, Ids, flatten
from memfoil.index.windows import Windows

MOST_TOKENS = 500
"""The service takes no longer query."""
LONGEST_WINDOW = 10_000

CANNOT = f"""\
What a hosted index cannot do: match more than {MOST_TOKENS - 1} tokens at once (a longer match is
found in overlapping parts, and a longer generation is never found whole); name a document other
than by its number, or say where in it a window lies unless the window is the whole document; show
a document that was taken down (its window is empty); answer for a batch (each position of a
generation is a question of its own, at the rate allowed); or prove that its index is whole."""


SCHEMA = Path(__file__).with_name("remote.schema.yaml")


def open_remote(path: str | Path) -> RemoteIndex:
    """The hosted index that a YAML file describes; nothing is asked yet.

    Its keys are the fields of `RemoteIndex`; `cache` counts from the folder of the file.

    Raises
    ------
    InvalidConfiguration
        If a key is missing, unknown, or of another type.
    """
    settings = configuration.load(path)
    configuration.check_schema(settings, SCHEMA, str(path))
    cache = Path(path).parent / settings.pop("cache")
    return RemoteIndex(cache=cache, **settings)


@dataclass(frozen=True, eq=False)
class RemoteIndex:
    """An index that a service holds; it answers what `Searchable` asks. Made by `open_remote`.

    Every answer is kept in a database on disk, so no question is asked twice, in this run or a
    later one. A request that fails, or whose answer is not of the form that was asked for, is
    made again after a pause that doubles; what the service itself calls an error is not.

    Source: the API documentation of infini-gram (2025).
    """

    endpoint: str
    index: str
    vocab_size: int
    cache: Path
    tokenizer: str = ""
    timeout_s: float = 30.0
    tries: int = 5
    pause_s: float = 1.0
    requests_per_second: float = 10.0
    _session: requests.Session = field(default_factory=requests.Session)
    _last: list[float] = field(default_factory=lambda: [0.0])

    def batch(self, sequences: Sequence[Ids]) -> Batch:
        """Sequences end to end; an id outside the vocabulary raises `InvalidIndex`."""
        return flatten(sequences, self.vocab_size, np.dtype(np.int64))

    def longest_matches(self, sequences: Sequence[Ids]) -> list[np.ndarray]:
        """At every token of each sequence, the length of the longest match that starts there.

        Of at most 499 tokens. Asked from the other side: for each end the longest match that
        stops there, which never starts earlier than for a smaller end; so between two ends with
        one start nothing needs to be asked.
        """
        batch = self.batch(sequences)
        return [
            self._longest(batch.ids[start:stop].tolist())
            for start, stop in zip(batch.bounds[:-1], batch.bounds[1:], strict=True)
        ]

    def _longest(self, ids: list[int]) -> np.ndarray:
        starts = np.zeros(len(ids) + 1, np.int64)
        waiting = [(0, len(ids))]
        if ids:
            starts[-1] = self._start_of_longest(ids)
        while waiting:
            low, high = waiting.pop()
            if starts[low] == starts[high]:
                starts[low:high] = starts[low]
            elif high - low > 1:
                middle = (low + high) // 2
                starts[middle] = self._start_of_longest(ids[:middle])
                waiting += [(low, middle), (middle, high)]
        at = np.arange(len(ids))
        return (np.searchsorted(starts, at, side="right") - 1 - at).astype(np.int32)

    def _start_of_longest(self, ids: list[int]) -> int:
        """Where the longest match that stops with the last of these tokens starts."""
        context = ids[-(MOST_TOKENS - 1) :]

        def length(answer: dict[str, Any]) -> int:
            return _whole_number(answer["suffix_len"], len(context))

        return len(ids) - self._ask(length, "infgram_prob", query_ids=[*context, ids[-1]])

    def ranks(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """First rank of each sequence and one past its last, both (shards, n) int64.

        A sequence of more than 500 tokens cannot be asked for and counts as not found.
        """
        segments = [
            self._segments(batch.ids[start:stop].tolist())
            if stop - start <= MOST_TOKENS
            else [(0, 0)] * self._shards
            for start, stop in zip(batch.bounds[:-1], batch.bounds[1:], strict=True)
        ]
        ranks = np.array(segments, np.int64).reshape(-1, self._shards, 2)
        return ranks[:, :, 0].T, ranks[:, :, 1].T

    def _segments(self, ids: list[int]) -> list[tuple[int, int]]:
        def segments(answer: dict[str, Any]) -> list[tuple[int, int]]:
            pairs = [
                (_whole_number(low), _whole_number(high))
                for low, high in answer["segment_by_shard"]
            ]
            if sum(high - low for low, high in pairs) != answer["cnt"] or not pairs:
                raise ValueError("cnt is not the sum of the segments")
            return pairs

        return self._ask(segments, "find", query_ids=ids)

    @cached_property
    def _shards(self) -> int:
        return len(self._segments([0]))

    def log_unigrams(self, ids: np.ndarray) -> np.ndarray:
        """Natural log of each id's share of the corpus, -inf where it does not occur."""
        unique, places = np.unique(ids, return_inverse=True)
        counts = np.array([self._count([id_]) for id_ in unique.tolist()], float)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(counts / self._count([]))[places]

    def _count(self, ids: list[int]) -> int:
        return self._ask(lambda answer: _whole_number(answer["count"]), "count", query_ids=ids)

    def windows(
        self,
        queries: Batch,
        which: np.ndarray,
        shard: np.ndarray,
        rank: np.ndarray,
        context: np.ndarray,
    ) -> Windows:
        """The text around occurrences: see `Searchable`."""
        found = [
            self._window(queries.ids[queries.bounds[i] : queries.bounds[i + 1]].tolist(), *where)
            for i, *where in zip(
                *map(np.ndarray.tolist, (which, shard, rank, context)), strict=True
            )
        ]
        ids = [np.array(window, np.int32) for window, *_ in found]
        return Windows(
            np.concatenate([np.empty(0, np.int32), *ids]),
            np.cumsum([0, *map(len, ids)]),
            [document for _, document, _, _ in found],
            np.array([start for _, _, start, _ in found], np.int64),
            np.array([start for _, _, _, start in found], np.int64),
        )

    def _window(
        self, ids: list[int], shard: int, rank: int, context: int
    ) -> tuple[list[int], str, int, int]:
        """A window, its document, the occurrence's and the window's place in that."""
        half = len(ids) + context

        def window(answer: dict[str, Any]) -> tuple[list[int], str, int, int]:
            document = f"{self.index}:{_whole_number(answer['doc_ix'])}"
            if answer.get("blocked"):
                return [], document, -1, -1
            tokens, offset = answer["token_ids"], _whole_number(answer["needle_offset"])
            if tokens[offset : offset + len(ids)] != ids:
                raise ValueError("the document does not hold the query where it says")
            first = max(offset - context, 0)
            cut = tokens[first : offset + half]
            if len(tokens) < answer["doc_len"]:
                return cut, document, -1, -1
            return cut, document, offset, first

        return self._ask(
            window,
            "get_doc_by_rank",
            query_ids=ids,
            s=shard,
            rank=rank,
            max_disp_len=min(2 * half, LONGEST_WINDOW),
        )

    def _ask(self, read: Callable[[dict[str, Any]], Any], query_type: str, **fields: Any) -> Any:
        """The answer to a query as `read` makes it out, from the disk or from the service.

        Raises
        ------
        UnusableService
            If there is no answer that can be read after all tries, or the service refuses.
        """
        question = {"index": self.index, "query_type": query_type, **fields}
        key = hashlib.sha256(f"{self.endpoint}\n{json.dumps(question)}".encode()).hexdigest()
        with self._cache() as answers:
            kept = answers.execute("SELECT answer FROM answers WHERE key = ?", [key]).fetchone()
        if kept:
            return read(json.loads(kept[0]))
        trouble = ""
        for attempt in range(self.tries):
            if attempt:
                time.sleep(self.pause_s * 2 ** (attempt - 1))
            try:
                answer = self._post(question)
                result = read(answer)
            except requests.RequestException as error:
                trouble = str(error)
            except (ValueError, TypeError, KeyError, IndexError) as error:
                trouble = f"an answer that is none to {query_type}: {error!r}"
            else:
                with self._cache() as answers:
                    row = [key, json.dumps(answer)]
                    answers.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", row)
                return result
        raise UnusableService(
            f"{self.endpoint}: no usable answer to {query_type} in {self.tries} tries ({trouble}); "
            "what was answered before is kept: run again to go on"
        )

    def _post(self, question: dict[str, Any]) -> dict[str, Any]:
        """One request, not before its time."""
        time.sleep(max(self._last[0] + 1 / self.requests_per_second - time.monotonic(), 0))
        self._last[0] = time.monotonic()
        response = self._session.post(self.endpoint, json=question, timeout=self.timeout_s)
        if response.status_code == requests.codes.too_many_requests or response.status_code >= 500:
            response.raise_for_status()
        answer = response.json()
        if isinstance(answer, dict) and "error" in answer:
            raise UnusableService(f"{self.endpoint}: index {self.index}: {answer['error']}")
        response.raise_for_status()
        return dict(answer)

    @contextmanager
    def _cache(self) -> Iterator[sqlite3.Connection]:
        """The answers on disk, in one transaction."""
        try:
            with self._answers:
                yield self._answers
        except sqlite3.Error as error:
            raise InvalidConfiguration(
                f"{self.cache}: not a cache of answers ({error}); name another file, or remove it"
            ) from error

    @cached_property
    def _answers(self) -> sqlite3.Connection:
        self.cache.parent.mkdir(parents=True, exist_ok=True)
        answers = sqlite3.connect(self.cache)
        answers.execute("PRAGMA journal_mode = WAL")
        answers.execute("PRAGMA synchronous = NORMAL")
        answers.execute("CREATE TABLE IF NOT EXISTS answers (key PRIMARY KEY, answer)")
        return answers


def _whole_number(value: Any, most: float = float("inf")) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{value!r} where a whole number is needed")
    return value
