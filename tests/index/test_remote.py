"""The client of the hosted index, against a server here that speaks the same protocol."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
from infini_gram.engine import InfiniGramEngine

from memfoil.errors import InvalidConfiguration, InvalidIndex, UnusableService
from memfoil.index import build, open_index, open_remote
from memfoil.tracing import maximal_spans, trace

VOCAB_SIZE = 300


class Service:
    """infini-gram's own engine behind the API's query types, with tempers."""

    def __init__(self, folder):
        self.engine = InfiniGramEngine(
            str(folder),
            eos_token_id=0,
            vocab_size=VOCAB_SIZE,
            ds_prefetch_depth=0,
            sa_prefetch_depth=0,
            od_prefetch_depth=0,
        )
        self.questions = []
        self.times = []
        self.temper = lambda number, answer: answer

    def answer(self, question):
        self.questions.append(question)
        self.times.append(time.monotonic())
        ids = question.get("query_ids")
        if question["index"] != "tiny":
            return {"error": f"Invalid index: {question['index']}"}
        if len(ids) > 500:
            return {"error": "Please limit your input to <= 500 tokens!"}
        kind = question["query_type"]
        if kind == "count":
            return self.engine.count(ids)
        if kind == "find":
            return self.engine.find(ids)
        if kind == "infgram_prob":
            return self.engine.infgram_prob(ids[:-1], ids[-1])
        assert kind == "get_doc_by_rank"
        assert 1 <= question["max_disp_len"] <= 10_000
        return self.engine.get_doc_by_rank(
            question["s"], question["rank"], question["max_disp_len"]
        )


@contextmanager
def listening(service):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = service.answer(question)
            answer = service.temper(len(service.questions), answer)
            status, body = answer if isinstance(answer, tuple) else (200, json.dumps(answer))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def documents():
    rng = np.random.default_rng(5)
    texts = [rng.integers(0, 12, n).tolist() for n in (1, 40, 700, 0, 25, 90)]
    return [*texts, texts[2][100:650], *[[7, 7, 7, 8, 20 + i] for i in range(15)], [13] * 30]


@pytest.fixture(scope="module")
def local(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("remote") / "index"
    build(corpus(documents()), folder, vocab_size=VOCAB_SIZE, shards=2)
    return open_index(folder)


@pytest.fixture
def service(local):
    service = Service(local.folder)
    with listening(service) as endpoint:
        service.endpoint = endpoint
        yield service


@pytest.fixture
def remote(tmp_path, service):
    """`remote(key=value, ...)`: the index that a file with these settings describes."""

    def opened(**settings):
        content = {
            "endpoint": service.endpoint,
            "index": "tiny",
            "vocab_size": VOCAB_SIZE,
            "cache": "answers.sqlite",
            "pause_s": 0.001,
            "requests_per_second": 1e6,
        }
        path = tmp_path / "hosted.yaml"
        path.write_text(json.dumps(content | settings))
        return open_remote(path)

    return opened


def sequences():
    texts = documents()
    rng = np.random.default_rng(6)
    pieces = [texts[2][30:90] + texts[5][:20] + [299] + texts[4][3:9], texts[1], [299], []]
    return [*pieces, [7, 7, 7, 8, 1], rng.integers(0, 12, 60).tolist(), [13] * 40, [12, 12]]


def generations(*texts):
    names = [f"g{i}" for i in range(len(texts))]
    return pd.DataFrame({"generation_id": names, "token_ids": pd.Series(texts, dtype=object)})


def test_answers_are_those_of_the_files(local, remote):
    hosted = remote()
    ours, theirs = local.longest_matches(sequences()), hosted.longest_matches(sequences())
    assert [a.tolist() for a in theirs] == [a.tolist() for a in ours]
    ids = np.arange(30)
    assert np.allclose(hosted.log_unigrams(ids), local.log_unigrams(ids), atol=0.1)
    queries = [s[:5] for s in sequences() if s]
    for a, b in zip(
        hosted.ranks(hosted.batch(queries)), local.ranks(local.batch(queries)), strict=True
    ):
        assert a.tolist() == b.tolist()


def test_a_trace_is_that_of_the_files(local, remote):
    frame = generations(*sequences())
    ours, theirs = (next(trace(frame, index, seed=3)) for index in (local, remote()))
    exact = ["generation_id", "start", "end", "count", "occurrence", "window", "match"]
    for name in exact:
        assert [list(np.atleast_1d(v)) for v in theirs[name]] == [
            list(np.atleast_1d(v)) for v in ours[name]
        ]
    assert theirs.document_id.str.startswith("tiny:").all()
    known = theirs.document_start.notna()
    assert known.any()
    assert (theirs.document_start[known] == ours.document_start[known]).all()
    assert (theirs.window_start[known] == ours.window_start[known]).all()
    spans = (next(maximal_spans(frame, index)) for index in (local, remote()))
    assert next(spans).equals(next(spans))


def test_no_question_is_asked_twice_not_even_in_a_later_run(service, remote):
    frame = generations(*sequences())
    first = next(trace(frame, remote(), seed=3))
    asked = [json.dumps(question, sort_keys=True) for question in service.questions]
    assert len(set(asked)) == len(asked) > 100
    again = next(trace(frame, remote(), seed=3))
    assert len(service.questions) == len(asked)
    assert again.drop(columns="window").equals(first.drop(columns="window"))


def test_a_text_that_occurs_whole_is_one_question(service, remote):
    text = documents()[2][:400]
    assert remote().longest_matches([text])[0].tolist() == list(range(400, 0, -1))
    assert len(service.questions) == 1


@pytest.mark.slow
def test_a_match_longer_than_the_service_takes_comes_in_parts(local, remote):
    text = documents()[2]
    lengths = remote().longest_matches([text])[0]
    assert lengths.max() == 499
    assert (lengths == np.minimum(local.longest_matches([text])[0], 499)).all()
    rows = next(trace(generations(text), remote(), seed=1))
    assert (rows.end - rows.start).max() == 499
    assert set(rows.match) <= {"whole", "partial"}


def test_overlapping_parts_are_one_where_their_union_can_be_found(remote, monkeypatch):
    """As if the service looked at 30 tokens at once, but could be asked for 50."""
    hosted, text = remote(), documents()[5][:50]
    short = [np.minimum(30, np.arange(50, 0, -1))]
    monkeypatch.setattr(type(hosted), "longest_matches", lambda *_: short)
    monkeypatch.setattr("memfoil.tracing.spans.RARE_SHARE", 1)
    rows = next(trace(generations(text), hosted, seed=1))
    assert set(zip(rows.start, rows.end, strict=True)) == {(0, 50)}
    absent = [*text[:29], 299, *text[30:]]
    rows = next(trace(generations(absent), hosted, seed=1))
    assert rows.empty


@pytest.mark.parametrize(
    "fault",
    [
        (503, "busy"),
        (429, "slow down"),
        (200, "<html>"),
        (200, "[]"),
        (200, '{"suffix_len": -1}'),
        (200, '{"suffix_len": 10000}'),
        (200, '{"suffix_len": true}'),
        (200, '{"latency": 3}'),
    ],
)
def test_a_service_that_falters_is_asked_again(local, service, remote, fault):
    service.temper = lambda number, answer: fault if number % 3 else answer
    text = documents()[4]
    assert remote().longest_matches([text])[0].tolist() == local.longest_matches([text])[0].tolist()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ((500, "broken"), "500 Server Error"),
        ((404, "nothing here"), "infgram_prob in 2 tries"),
        ((200, "<html>"), "Expecting value"),
        ((200, '{"suffix_len": 7000}'), "7000 where a whole number is needed"),
    ],
)
def test_a_service_that_stays_wrong_is_named(service, remote, fault, message):
    service.temper = lambda number, answer: fault
    with pytest.raises(UnusableService, match=message) as raised:
        remote(tries=2).longest_matches([[1, 2, 3]])
    assert service.endpoint in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(service.questions) == 2


def test_a_wrong_answer_is_not_kept(local, service, remote):
    service.temper = lambda number, answer: {"suffix_len": 99}
    with pytest.raises(UnusableService):
        remote(tries=1).longest_matches([[1, 2, 3]])
    service.temper = lambda number, answer: answer
    expected = local.longest_matches([[1, 2, 3]])[0].tolist()
    assert remote().longest_matches([[1, 2, 3]])[0].tolist() == expected


def test_segments_must_add_up_to_the_count(service, remote):
    service.temper = lambda number, answer: answer | {"cnt": answer["cnt"] + 1}
    hosted = remote(tries=1)
    with pytest.raises(UnusableService, match="cnt is not the sum"):
        hosted.ranks(hosted.batch([[1, 2]]))


def test_documents_must_hold_the_query(local, service, remote):
    def temper(number, answer):
        return answer | {"token_ids": [0] * 50} if "token_ids" in answer else answer

    service.temper = temper
    with pytest.raises(UnusableService, match="does not hold the query"):
        next(trace(generations(documents()[1]), remote(tries=1), seed=1))


def test_a_document_taken_down_has_an_empty_window(service, remote):
    def temper(number, answer):
        return answer | {"token_ids": [], "blocked": True} if "token_ids" in answer else answer

    service.temper = temper
    rows = next(trace(generations(documents()[1]), remote(), seed=1))
    assert rows.window.map(len).tolist() == [0] * len(rows)
    assert len(rows)


def test_a_service_that_is_too_slow(service, remote):
    service.temper = lambda number, answer: time.sleep(0.5) or answer
    with pytest.raises(UnusableService, match="timed out"):
        remote(tries=2, timeout_s=0.05).longest_matches([[1, 2, 3]])


def test_no_service(remote):
    with pytest.raises(UnusableService, match="no usable answer to infgram_prob in 2 tries"):
        remote(endpoint="http://127.0.0.1:9/", tries=2).longest_matches([[1, 2, 3]])


def test_what_was_answered_before_a_failure_is_kept(local, service, remote):
    service.temper = lambda number, answer: answer if number <= 10 else (500, "down")
    text = sequences()[0]
    with pytest.raises(UnusableService, match="run again to go on"):
        remote(tries=1).longest_matches([text])
    service.temper = lambda number, answer: answer
    before = len(service.questions)
    assert remote().longest_matches([text])[0].tolist() == local.longest_matches([text])[0].tolist()
    asked = [json.dumps(question) for question in service.questions]
    assert not set(asked[:10]) & set(asked[before:])


def test_what_the_service_calls_an_error_is_not_asked_again(service, remote):
    with pytest.raises(UnusableService, match="index large: Invalid index: large"):
        remote(index="large").longest_matches([[1, 2]])
    assert len(service.questions) == 1


def test_requests_keep_their_distance(service, remote):
    """None comes before its turn; on a busy machine one may come late, and the next then soon."""
    start = time.monotonic()
    remote(requests_per_second=50).longest_matches([sequences()[5][:12]])
    assert len(service.times) > 4
    assert (np.array(service.times) - start > 0.019 * np.arange(len(service.times))).all()


def test_ids_outside_the_vocabulary_are_never_asked(service, remote):
    with pytest.raises(InvalidIndex, match="id 300 is not of the index' vocabulary of 300 ids"):
        remote().longest_matches([[1, 300]])
    assert not service.questions


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"endpoint": "ftp://x"}, "hosted.yaml: endpoint: 'ftp://x' does not match"),
        ({"tires": 3}, "unknown key tires; did you mean tries"),
        ({"tries": 0}, "tries: 0 is less than the minimum"),
        ({"vocab_size": "many"}, "vocab_size: 'many' is not of type"),
    ],
)
def test_a_wrong_description_is_refused(remote, settings, message):
    with pytest.raises(InvalidConfiguration, match=message):
        remote(**settings)


def test_a_cache_that_is_none_is_refused(tmp_path, remote):
    (tmp_path / "answers.sqlite").write_text("not a database, but long enough to be read as one")
    with pytest.raises(InvalidConfiguration, match="not a cache of answers"):
        remote().longest_matches([[1]])
