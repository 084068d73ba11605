import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from small_models import small_network, small_tokenizer

from memfoil.errors import InvalidTable
from memfoil.models import TokenScores, load
from memfoil.scoring import derive, teacher_forced
from memfoil.tables import TOKEN_SCORES, Provenance


def table_of(ids, prefix_tokens, names=None):
    names = names or [f"s{i}" for i in range(len(ids))]
    return pd.DataFrame({"sequence_id": names, "token_ids": ids, "prefix_tokens": prefix_tokens})


class Echo:
    """Scores that name their token, to follow it from the sequence into the table."""

    def score(self, sequences, top_k):
        ids = np.concatenate([np.array(s.token_ids[s.prefix_tokens :]) for s in sequences])
        return TokenScores(-ids.astype(float), ids, -np.outer(ids, top_k).astype(float))


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.integers(1, 10**6), min_size=2, max_size=9).flatmap(
            lambda ids: st.tuples(st.just(ids), st.integers(0, len(ids) - 1))
        ),
        min_size=1,
        max_size=12,
    )
)
def test_every_token_lands_on_its_own_row(cases):
    sequences = table_of([ids for ids, _ in cases], [prefix for _, prefix in cases])
    scores = teacher_forced(Echo(), sequences, top_k=(2, 3))
    expected = [
        (f"s{i}", position, -token, token, -2 * token, -3 * token)
        for i, (ids, prefix) in enumerate(cases)
        for position, token in enumerate(ids[prefix:], start=1)
    ]
    assert list(scores.itertuples(index=False, name=None)) == expected


def test_order_of_rows_changes_no_bit(model_folders):
    rng = np.random.default_rng(0)
    ids = [rng.integers(2, 300, rng.integers(12, 40)).tolist() for _ in range(100)]
    sequences = table_of(ids, 10)
    model = load(model_folders["llama"])
    scores = teacher_forced(model, sequences)
    shuffled = teacher_forced(model, sequences.sample(frac=1, random_state=1))
    key = ["sequence_id", "position"]
    pd.testing.assert_frame_equal(
        scores.sort_values(key, ignore_index=True),
        shuffled.sort_values(key, ignore_index=True),
        check_exact=True,
    )


def test_scores_fit_their_table_and_progress_sees_every_block(model_folders, tmp_path):
    seen = []

    def progress(items, label, total):
        seen.append((label, len(items), total))
        return iter(items)

    sequences = table_of([np.arange(5, 25, dtype=np.int32)] * 3, 10)
    scores = teacher_forced(
        load(model_folders["gpt2"]), sequences, top_k=(40, 5), progress=progress
    )
    assert seen == [("scoring", 1, 1)]
    assert len(scores) == 30
    TOKEN_SCORES.write(scores, tmp_path / "t.parquet", Provenance("test"))
    read = TOKEN_SCORES.read(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(read, scores)
    assert (scores["log_mass_top_5"] <= scores["log_mass_top_40"]).all()


def test_no_sequence_is_refused(model_folders):
    with pytest.raises(InvalidTable, match="no sequence to score"):
        teacher_forced(load(model_folders["gpt2"]), table_of([], []))


@pytest.fixture(scope="module")
def peaked_model(tmp_path_factory):
    """Few likely continuations, so that suffixes of three tokens come up again and again."""
    folder = tmp_path_factory.mktemp("peaked")
    tokenizer = small_tokenizer("<s> $A")
    small_network("llama", len(tokenizer), seed=3, peak=60.0).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return load(folder)


def sample(model, prefix, suffix_tokens, top_k, n, seed):
    """Suffixes that transformers' own generation draws at temperature 1, one row each."""
    torch.manual_seed(seed)
    given = torch.tensor([[*model.start_of_text, *prefix]])
    drawn = model.network.generate(
        given,
        attention_mask=torch.ones_like(given),
        do_sample=True,
        temperature=1.0,
        top_k=top_k,
        top_p=1.0,
        min_new_tokens=suffix_tokens,
        max_new_tokens=suffix_tokens,
        num_return_sequences=n,
        pad_token_id=1,
        eos_token_id=None,
    )
    return drawn[:, given.shape[1] :]


@pytest.mark.parametrize(("procedure", "top_k"), [("base", 0), ("top-40", 40), ("top-2", 2)])
def test_scores_are_the_frequencies_of_20000_samples(peaked_model, procedure, top_k):
    prefix, n, suffix_tokens = [20, 30], 20_000, 3
    likely, counts = sample(peaked_model, prefix, suffix_tokens, top_k, 1000, seed=1).unique(
        dim=0, return_counts=True
    )
    likely = likely[counts.argsort(descending=True)][:5]
    sequences = table_of([[*prefix, *suffix] for suffix in likely.tolist()], len(prefix))
    scores = derive(
        teacher_forced(peaked_model, sequences, top_k=(2, 40)),
        procedures=[procedure],
        suffix_lengths=[suffix_tokens],
    )
    drawn = sample(peaked_model, prefix, suffix_tokens, top_k, n, seed=2)
    for suffix, log_score in zip(likely, scores["log_score"], strict=True):
        count = int((drawn == suffix).all(dim=1).sum())
        probability = np.exp(log_score)
        assert count > 100
        assert binomtest(count, n, probability).pvalue > 1e-5
        # and the bound is sharp: a fifth more or less would be noticed
        assert binomtest(count, n, probability * 0.8).pvalue < 1e-3
        assert binomtest(count, n, min(1.0, probability * 1.2)).pvalue < 1e-2


def test_greedy_generation_is_what_greedy_scores_say(peaked_model):
    for seed in range(5):
        prefix = np.random.default_rng(seed).integers(2, 300, 6).tolist()
        given = torch.tensor([[*peaked_model.start_of_text, *prefix]])
        generated = peaked_model.network.generate(
            given, attention_mask=torch.ones_like(given), do_sample=False, max_new_tokens=8,
            min_new_tokens=8, eos_token_id=None, pad_token_id=1,
        )[0, given.shape[1] :].tolist()  # fmt: skip
        other = [*generated[:5], (generated[5] + 1) % 300, *generated[6:]]
        scores = derive(
            teacher_forced(peaked_model, table_of([prefix + generated, prefix + other], 6)),
            procedures=["greedy"],
            suffix_lengths=range(1, 9),
        )
        exact, changed = np.split(scores["log_score"].to_numpy(), 2)
        assert (exact == 0).all()
        assert np.isneginf(changed).tolist() == [False] * 5 + [True] * 3
