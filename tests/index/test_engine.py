"""The engine of infini-gram opens what memfoil builds, and gives the same answers."""

import json
import subprocess
from pathlib import Path

import infini_gram
import numpy as np
import pytest
from infini_gram.engine import InfiniGramEngine

from memfoil.errors import InvalidIndex
from memfoil.index import build, open_index

WIDTHS = {"u16": 65_535, "u32": 100_278}


@pytest.fixture(scope="module", params=[("u16", 1), ("u16", 3), ("u32", 1), ("u32", 2)], ids=str)
def both(request, tmp_path_factory, corpus):
    """(index, engine, documents): Zipfian ids over the whole vocabulary, traps among them."""
    token_dtype, shards = request.param
    vocab_size = WIDTHS[token_dtype]
    rng = np.random.default_rng(3)
    common = np.r_[1, 256, 257, 0, vocab_size - 1, rng.integers(0, vocab_size, 200)]
    weights = 1 / np.arange(1, len(common) + 1)
    lengths = [0, 1, 300, 0, *rng.integers(0, 120, 60)]
    weights = weights / weights.sum()
    documents = [rng.choice(common, n, p=weights).tolist() for n in lengths]
    documents[20] = documents[2][10:90]
    folder = tmp_path_factory.mktemp("engine") / "index"
    build(corpus(documents), folder, vocab_size=vocab_size, shards=shards)
    engine = InfiniGramEngine(
        str(folder),
        eos_token_id=0,
        vocab_size=vocab_size,
        token_dtype=token_dtype,
        ds_prefetch_depth=0,
        sa_prefetch_depth=0,
        od_prefetch_depth=0,
    )
    return open_index(folder), engine, documents


def ngrams(documents, vocab_size):
    """Hundreds of queries: present, spanning documents, absent, unseen, empty, too long."""
    rng = np.random.default_rng(4)
    joined = [i for document in documents for i in document]
    borders = np.cumsum([len(document) for document in documents])
    present = [
        joined[s : s + n] for n in (1, 2, 3, 5, 20) for s in rng.integers(0, len(joined), 60)
    ]
    spanning = [joined[max(b - 2, 0) : b + 2] for b in borders if 0 < b < len(joined)]
    absent = rng.integers(0, vocab_size, (100, 3)).tolist()
    special = [[], [vocab_size - 1], [0], [1], [256], joined, joined + joined, documents[20]]
    return present + spanning + absent + special


def test_counts_and_ranks_agree_on_hundreds_of_ngrams(both):
    index, engine, documents = both
    queries = ngrams(documents, index.vocab_size)
    assert len(queries) > 400
    counts = index.count_many(queries)
    assert {0, 1} < set(counts.tolist())
    for query, count in zip(queries, counts, strict=True):
        answer = engine.find(query)
        assert answer["cnt"] == count == engine.count(query)["count"]
        segments = [(segment.low, segment.high) for segment in index.find(query)]
        assert answer["segment_by_shard"] == segments


def test_positions_documents_and_metadata_agree(both):
    index, engine, documents = both
    compared = 0
    for query in ngrams(documents, index.vocab_size):
        if not query or not 0 < index.count(query) <= 50:
            continue
        found = []
        for segment in index.find(query):
            for rank in range(segment.low, segment.high):
                answer = engine.get_doc_by_rank(segment.shard, rank, 1000)
                name = json.loads(answer["metadata"])["document_id"]
                assert answer["token_ids"] == documents[answer["doc_ix"]]
                assert name == f"doc {answer['doc_ix']}"
                found.append((answer["doc_ix"], answer["needle_offset"]))
        places = index.occurrences(query, limit=100)
        assert sorted(found) == [
            (int(place.document_id.removeprefix("doc ")), place.start_token) for place in places
        ]
        assert all(index.window(place, len(query)).tolist() == query for place in places)
        compared += 1
    assert compared > 200


def test_the_first_and_the_last_rank_agree(both):
    index, engine, documents = both
    for shard in index.shards:
        separators = len(shard.offsets)
        for rank in (0, len(shard.tokens) - separators - 1):
            answer = engine.get_doc_by_rank(shard.number, rank, 1000)
            suffix = documents[answer["doc_ix"]][answer["needle_offset"] :]
            segment = index.find(suffix)[shard.number]
            assert engine.find(suffix)["segment_by_shard"][shard.number] == (
                segment.low,
                segment.high,
            )
            assert segment.low <= rank < segment.high
            assert index.longest_matches([suffix])[0][0] == len(suffix)


def test_longest_matches_agree_with_a_binary_search_over_counts(both):
    index, engine, documents = both
    rng = np.random.default_rng(5)
    joined = [i for document in documents for i in document]
    for _ in range(10):
        pieces = [joined[s : s + 7] for s in rng.integers(0, len(joined), 5)]
        sequence = [i for piece in pieces for i in piece]
        for start, length in enumerate(index.longest_matches([sequence])[0].tolist()):
            assert length == 0 or engine.count(sequence[start : start + length])["count"] > 0
            if start + length < len(sequence):
                assert engine.count(sequence[start : start + length + 1])["count"] == 0


def test_where_the_engine_matches_across_documents_memfoil_refuses(both):
    index, engine, documents = both
    separator = int(np.iinfo(index.shards[0].tokens.dtype).max)
    query = [documents[2][-1], separator]
    assert engine.count(query)["count"] > 0
    with pytest.raises(InvalidIndex, match="not of the index' vocabulary"):
        index.count(query)


def test_an_index_that_infini_gram_made_has_the_same_bytes_and_can_be_opened(tmp_path, corpus):
    documents = np.random.default_rng(6).integers(0, 700, (50, 40)).tolist()
    build(corpus(documents), tmp_path / "ours", vocab_size=700)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for name in ("tokenized.0", "offset.0"):
        (theirs / name).write_bytes((tmp_path / "ours" / name).read_bytes())
    size = (theirs / "tokenized.0").stat().st_size
    numbers = {"start-byte": 0, "end-byte": size, "ratio": 2, "token-width": 2}
    folders = {"data-file": theirs / "tokenized.0", "parts-dir": tmp_path}
    options = [f"--{name}={value}" for name, value in (numbers | folders).items()]
    builder = Path(infini_gram.__file__).with_name("rust_indexing")
    subprocess.run([builder, "make-part", *options], check=True, capture_output=True)
    (tmp_path / f"0-{size}").rename(theirs / "table.0")

    assert (theirs / "table.0").read_bytes() == (tmp_path / "ours" / "table.0").read_bytes()
    index = open_index(theirs, vocab_size=700)
    place = index.occurrences(documents[7][5:9], limit=1)[0]
    assert (place.document_id, place.start_token) == ("0:7", 5)

    line = json.dumps({"path": "a.jsonl", "linenum": 3, "metadata": {}}) + "\n"
    (theirs / "metadata.0").write_text(line * 50)
    (np.arange(50, dtype="<u8") * len(line)).tofile(theirs / "metaoff.0")
    index = open_index(theirs, vocab_size=700)
    assert index.shards[0].metadata_line(7) == line
    assert index.place("0:7").document == 7
