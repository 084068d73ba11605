"""The match check: what it must see, what it must not see, and where it refuses."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from memfoil import tables
from memfoil.errors import InvalidDocuments, InvalidScores
from memfoil.matching import blind_auc, match

COMMON = np.array([f"word{letter}{other}" for letter in "abcdefghij" for other in "klmnopqrst"])


def texts(generator, n, words=COMMON, length=30):
    return [" ".join(generator.choice(words, length)) for _ in range(n)]


def passages(candidates, controls, documents=20, **columns):
    """Sequences whose documents hold both roles, or one each if `documents` is a pair."""
    n, m = len(candidates), len(controls)
    first, second = documents if isinstance(documents, tuple) else (documents, documents)
    prefix = ("a", "b") if isinstance(documents, tuple) else ("d", "d")
    names = [f"{prefix[0]}{i % first}" for i in range(n)]
    names += [f"{prefix[1]}{i % second}" for i in range(m)]
    frame = {
        "sequence_id": [f"s{i:05d}" for i in range(n + m)],
        "document_id": names,
        "pool": ["members"] * n + ["held-out"] * m,
        "role": ["candidate"] * n + ["control"] * m,
        "date": pd.Timestamp("1950-01-01"),
        "source": "made",
        "token_ids": [np.zeros(2, dtype=np.int32)] * (n + m),
        "prefix_tokens": 1,
        "text": [*candidates, *controls],
    }
    return pd.DataFrame(frame | columns)


def auc_of(frame, seed=0):
    result = match(frame, seed).set_index("quantity").loc["blind AUC"]
    return result["candidates"], result["low"], result["high"]


@pytest.fixture
def generator():
    return np.random.default_rng(1)


def test_the_same_distribution_is_a_match(generator):
    auc, low, high = auc_of(passages(texts(generator, 300), texts(generator, 300)))
    assert low < 0.5 < high
    assert auc == pytest.approx(0.5, abs=0.08)


def test_other_words_are_no_match(generator):
    auc, low, _ = auc_of(
        passages(texts(generator, 200, COMMON[:60]), texts(generator, 200, COMMON[40:]))
    )
    assert auc > 0.99
    assert low > 0.98


def test_identical_texts_are_exactly_a_match():
    assert auc_of(passages(["the same words"] * 60, ["the same words"] * 60)) == (0.5, 0.5, 0.5)


def test_digits_do_not_count(generator):
    """Texts that differ by their years alone, as two date ranges do."""

    def dated(n, first):
        years = generator.integers(first, first + 30, n)
        return [f"{t} {y}" for t, y in zip(texts(generator, n), years, strict=True)]

    _, low, high = auc_of(passages(dated(250, 1920), dated(250, 1990)))
    assert low < 0.5 < high


def test_what_marks_a_document_alone_does_not_count(generator):
    """Each document repeats a word of its own; learnt from the same document it tells all."""

    def marked(prefix):
        return [f"{t} {f'{prefix}{i % 20}word ' * 5}" for i, t in enumerate(texts(generator, 200))]

    letters = str.maketrans("0123456789", "abcdefghij")
    candidates, controls = (
        [text.translate(letters) for text in marked(prefix)] for prefix in ("first", "second")
    )
    _, low, high = auc_of(passages(candidates, controls, documents=(20, 20)))
    assert low < 0.5 < high


def test_the_interval_counts_documents_not_passages(generator):
    """The same number of passages from fewer documents that drift says less."""

    def drifting(documents):
        dialects = [generator.choice(COMMON, 40, replace=False) for _ in range(documents)]
        return [texts(generator, 1, dialects[i % documents])[0] for i in range(240)]

    def width(documents):
        frame = passages(drifting(documents), drifting(documents), (documents, documents))
        _, low, high = auc_of(frame)
        return high - low

    assert width(4) > 2 * width(120)


def test_order_of_rows_never_matters_and_the_seed_does(generator):
    frame = passages(texts(generator, 80), texts(generator, 80))
    pd.testing.assert_frame_equal(match(frame, 3), match(frame.sample(frac=1, random_state=0), 3))
    assert auc_of(frame, 3) != auc_of(frame, 4)


def test_lengths_dates_and_sources(generator):
    candidates, controls = texts(generator, 40), texts(generator, 40, length=15)
    dates = [*["1920-01-01"] * 20, *["1939-07-02"] * 20, *["2000-12-31"] * 40]
    sources = [*["a"] * 30, *["b"] * 10, *["a"] * 20, *["c"] * 20]
    frame = passages(candidates, controls, date=pd.to_datetime(dates), source=sources)
    result = match(frame, 0)
    tables.MATCH.validate(pa.Table.from_pandas(result, preserve_index=False), "match")
    values = result.set_index("quantity")[["candidates", "controls"]]
    assert values.loc["characters, median"].tolist() == [209.0, 104.0]
    assert values.loc["characters, mean"].tolist() == [209.0, 104.0]
    assert values.loc["year, first"].tolist() == pytest.approx([1920.0, 2001.0], abs=0.01)
    assert values.loc["year, last"].tolist() == pytest.approx([1939.5, 2001.0], abs=0.01)
    assert values.loc["year, median"].tolist() == pytest.approx([1929.75, 2001.0], abs=0.01)
    assert values.loc["sources, total variation"].tolist() == pytest.approx([0.5, 0.0])


def test_each_control_pool_is_compared_with_all_candidates(generator):
    frame = passages(texts(generator, 40), texts(generator, 60, COMMON[:50]))
    frame.loc[70:, "pool"] = "post-cutoff"
    counts = match(frame, 0).groupby("control_pool")["quantity"].nunique()
    assert counts.to_dict() == {"held-out": 7, "post-cutoff": 7}


@pytest.mark.parametrize("documents", [(1, 5), (5, 1), 1])
def test_a_single_document_cannot_be_cross_validated(generator, documents):
    frame = passages(texts(generator, 20), texts(generator, 20), documents)
    with pytest.raises(InvalidDocuments, match="at least two documents"):
        blind_auc(
            frame["text"].to_numpy(), (frame["role"] == "candidate").to_numpy(),
            frame["document_id"], 0,
        )  # fmt: skip
    quantities = set(match(frame, 0)["quantity"])
    assert "blind AUC" not in quantities
    assert len(quantities) == 6


def test_two_documents_of_a_class_are_enough(generator):
    auc, low, high = auc_of(passages(texts(generator, 40), texts(generator, 40), (2, 10)))
    assert 0 <= low <= auc <= high <= 1


@pytest.mark.parametrize(("missing", "left"), [("candidate", "control"), ("control", "candidate")])
def test_a_missing_role_is_named(generator, missing, left):
    frame = passages(texts(generator, 5), texts(generator, 5))
    with pytest.raises(InvalidScores, match=f"no {missing}"):
        match(frame[frame["role"] == left], 0)
