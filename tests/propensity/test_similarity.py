"""The choice of specific prompts: close to the training text, whatever their length."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from memfoil.propensity.similarity import closest, equal_shares, nearest, without_length


def test_nearest_is_the_largest_cosine():
    generator = np.random.default_rng(0)
    vectors, documents = generator.normal(size=(50, 8)), generator.normal(size=(30, 8))
    vectors, documents = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (vectors, documents)
    )
    expected = [max(float(np.dot(a, b)) for b in documents) for a in vectors]
    np.testing.assert_allclose(nearest(vectors, documents), expected)
    assert nearest(vectors[:0], documents).shape == (0,)


SOURCES = st.dictionaries(st.text("abcd", min_size=1, max_size=2), st.integers(0, 50), min_size=1)


@given(SOURCES, st.integers(0, 150))
def test_shares_are_as_equal_as_the_sources_allow(available, wanted):
    shares = equal_shares(available, wanted)
    assert sum(shares.values()) == min(wanted, sum(available.values()))
    assert all(0 <= shares[name] <= available[name] for name in available)
    # whoever got less than another has nothing left, but for one that does not divide
    for name in available:
        if shares[name] < available[name]:
            assert shares[name] >= max(shares.values()) - 1


def test_a_small_source_gives_all_and_the_others_share_the_rest():
    assert equal_shares({"a": 10, "b": 500, "c": 500}, 100) == {"a": 10, "b": 45, "c": 45}
    assert equal_shares({"a": 50, "b": 50}, 5) == {"a": 3, "b": 2}


@given(st.lists(st.tuples(st.integers(1, 5), st.floats(-1, 1)), min_size=1, max_size=60))
def test_nothing_of_the_length_is_left(pairs):
    tokens, similarity = (pd.Series(column) for column in zip(*pairs, strict=True))
    adjusted = without_length(similarity, tokens)
    for length in tokens.unique():
        of = tokens == length
        assert abs(adjusted[of].mean()) < 1e-12
        ranks = adjusted[of].rank(), similarity[of].rank()
        gaps = similarity[of].sort_values().diff().dropna()
        if (gaps > 1e-9).all():
            assert (ranks[0] == ranks[1]).all()


def test_long_sentences_are_not_favoured():
    """Similarity grows with length here; a plain choice would take long ones alone."""
    generator = np.random.default_rng(1)
    tokens = generator.integers(5, 15, 2000)
    frame = pd.DataFrame(
        {
            "prompt_id": [f"{i:04}" for i in range(2000)],
            "source": np.where(np.arange(2000) % 2, "x", "y"),
            "tokens": tokens,
            "similarity": 0.03 * tokens + generator.normal(scale=0.05, size=2000),
        }
    )
    kept = closest(frame, 200)
    assert kept["source"].value_counts().to_dict() == {"x": 100, "y": 100}
    assert abs(kept["tokens"].mean() - tokens.mean()) < 0.7
    assert frame.nlargest(200, "similarity")["tokens"].mean() > tokens.mean() + 3
    plain = frame["similarity"] - frame.groupby("tokens")["similarity"].transform("mean")
    assert plain[kept.index].mean() > plain.quantile(0.9)
    shuffled = closest(frame.sample(frac=1, random_state=3), 200)
    assert set(shuffled["prompt_id"]) == set(kept["prompt_id"])
