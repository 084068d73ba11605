import json
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from small_models import small_network, small_tokenizer
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from memfoil.encoding import encode
from memfoil.errors import InvalidModel, InvalidTable
from memfoil.models import TokenScores, load
from memfoil.policies import Policy, policy_of
from memfoil.scoring import (
    derive,
    require_own_tokens,
    teacher_forced,
    teacher_forcing,
    write_token_scores,
)
from memfoil.tables import SEQUENCES, TOKEN_SCORES, Provenance


def table_of(ids, prefix_tokens, names=None):
    names = names or [f"s{i}" for i in range(len(ids))]
    return pd.DataFrame({"sequence_id": names, "token_ids": ids, "prefix_tokens": prefix_tokens})


class Echo:
    """Scores that name their token, to follow it from the sequence into the table."""

    def score(self, sequences, top_k, policies=()):
        ids = np.concatenate([np.array(s.token_ids[s.prefix_tokens :]) for s in sequences])
        of_policies = -np.outer(ids, [policy.temperature for policy in policies])
        masses = -np.outer(ids, top_k).astype(float)
        return TokenScores(-ids.astype(float), ids, masses, of_policies, 2 * of_policies)


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
    scores = teacher_forced(
        Echo(), sequences, top_k=(2, 3), policies=["temperature-4", "temperature-5+top-40"]
    )
    expected = [
        (f"s{i}", position, -token, token, *(-n * token for n in (2, 3, 4, 8, 5, 10)))
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


def random_table(n, path):
    """A SEQUENCES table of n sequences of 12 to 39 tokens, the first 10 given."""
    rng = np.random.default_rng(0)
    ids = [rng.integers(2, 300, rng.integers(12, 40)).astype(np.int32) for _ in range(n)]
    sequences = table_of(ids, 10).assign(
        document_id="d", pool="p", role="control", date=date(2000, 1, 1), source="s", text="t"
    )
    SEQUENCES.write(sequences, path, Provenance("sequences"))
    return sequences


def write_scores(folder, name, sequences, out):
    seen = []

    def progress(items, label, total):
        seen.append((label, total))
        return items

    write_token_scores(
        load(folder), sequences, out / name, top_k=(40, 5), provenance=Provenance("score"),
        progress=progress,
    )  # fmt: skip
    return TOKEN_SCORES.read(out / name), seen


@pytest.mark.slow
def test_the_table_does_not_depend_on_how_it_was_chunked(model_folders, tmp_path, monkeypatch):
    sequences = random_table(50, tmp_path / "sequences.parquet")
    whole = teacher_forced(load(model_folders["gpt2"]), sequences, top_k=(40, 5))
    for chunk, chunks in ((1024, 1), (50, 1), (7, 8), (1, 50)):
        monkeypatch.setattr(teacher_forcing, "CHUNK", chunk)
        scores, seen = write_scores(
            model_folders["gpt2"], f"{chunk}.parquet", tmp_path / "sequences.parquet", tmp_path
        )
        assert seen == [("scoring", chunks)]
        pd.testing.assert_frame_equal(scores, whole, rtol=0, atol=1e-5)
    assert (scores["log_mass_top_5"] <= scores["log_mass_top_40"]).all()
    assert len(list(tmp_path.iterdir())) == 5  # no chunk is left


KILLED_IN_ITS_FOURTH_CHUNK = """
import os, signal, sys
from memfoil.models.transformer import TorchModel
from memfoil.policies import Policy, policy_of
from memfoil.scoring import teacher_forcing
from memfoil.models import load
from memfoil.tables import Provenance

folder, sequences, out, calls = sys.argv[1], sys.argv[2], sys.argv[3], 0
teacher_forcing.CHUNK = 8
score = TorchModel.score

def score_until_killed(self, *given):
    global calls
    calls += 1
    if calls == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return score(self, *given)

TorchModel.score = score_until_killed
teacher_forcing.write_token_scores(
    load(folder), sequences, out, top_k=(40,), provenance=Provenance("score"),
    progress=lambda items, *_: items,
)
"""


@pytest.mark.slow
def test_a_killed_process_goes_on_after_its_last_chunk_and_writes_the_same_bytes(
    model_folders, tmp_path, monkeypatch
):
    random_table(60, tmp_path / "sequences.parquet")
    given = [str(model_folders["llama"]), str(tmp_path / "sequences.parquet")]
    killed = tmp_path / "killed.parquet"
    process = subprocess.run(
        [sys.executable, "-c", KILLED_IN_ITS_FOURTH_CHUNK, *given, str(killed)], check=False
    )
    assert process.returncode == -signal.SIGKILL
    assert not killed.exists()
    (kept,) = tmp_path.glob(".killed.parquet.*.shards")
    assert sorted(file.name for file in kept.glob("0*")) == [f"{n:06}.parquet" for n in range(3)]

    monkeypatch.setattr(teacher_forcing, "CHUNK", 8)
    calls = []
    model = load(given[0])
    score = model.score
    monkeypatch.setattr(model, "score", lambda *given: calls.append(given) or score(*given))
    for path in (killed, tmp_path / "whole.parquet"):
        write_token_scores(
            model, given[1], path, top_k=(40,), provenance=Provenance("score"),
            progress=lambda items, *_: items,
        )  # fmt: skip
        calls.append(path)
    assert [calls.index(killed), len(calls)] == [5, 5 + 1 + 8 + 1]
    assert killed.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert not kept.exists()


def test_no_sequence_is_refused(model_folders, tmp_path):
    model = load(model_folders["gpt2"])
    with pytest.raises(InvalidTable, match="no sequence to score"):
        teacher_forced(model, table_of([], []))
    random_table(1, tmp_path / "one.parquet")
    nothing = SEQUENCES.read(tmp_path / "one.parquet").iloc[:0]
    SEQUENCES.write(nothing, tmp_path / "sequences.parquet", Provenance("sequences"))
    with pytest.raises(InvalidTable, match=r"sequences.parquet: there is no sequence to score"):
        write_scores(model_folders["gpt2"], "t.parquet", tmp_path / "sequences.parquet", tmp_path)
    assert not (tmp_path / "t.parquet").exists()


def test_sequences_of_another_tokenizer_are_refused(tmp_path):
    own, text = small_tokenizer(), "the dog's bone was gone, and the cat sat on the mat for good."
    ids = encode(own, [text])[0].token_ids
    # as many tokens, all but the special ones with other ids
    core = json.loads(own.backend_tokenizer.to_str())
    vocabulary = core["model"]["vocab"]
    core["model"]["vocab"] = {t: i if i < 2 else 301 - i for t, i in vocabulary.items()}
    other = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(core)))
    sequences = table_of([ids] * 3, 5).assign(
        document_id="d", pool="p", role="control", date=date(2000, 1, 1), source="s", text=text
    )
    path = tmp_path / "sequences.parquet"
    SEQUENCES.write(sequences, path, Provenance("sequences"))
    require_own_tokens(path, own, Path("a/model"))
    with pytest.raises(InvalidModel, match=r"3 of 3 texts are other tokens to the .* of a/model"):
        require_own_tokens(path, other, Path("a/model"))
    # a few may be cut otherwise where the text ends
    sequences["text"] = ["cat", text, text]
    SEQUENCES.write(sequences, path, Provenance("sequences"))
    require_own_tokens(path, own, Path("a/model"))


@pytest.fixture(scope="module")
def peaked_model(tmp_path_factory):
    """Few likely continuations, so that suffixes of three tokens come up again and again."""
    folder = tmp_path_factory.mktemp("peaked")
    tokenizer = small_tokenizer("<s> $A")
    small_network("llama", len(tokenizer), seed=3, peak=60.0).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return load(folder)


def sample(model, prefix, suffix_tokens, policy, n, seed):
    """Suffixes that transformers' own generation draws, one row each."""
    torch.manual_seed(seed)
    given = torch.tensor([[*model.start_of_text, *prefix]])
    drawn = model.network.generate(
        given,
        attention_mask=torch.ones_like(given),
        do_sample=True,
        temperature=policy.temperature,
        top_k=policy.top_k or 0,
        top_p=policy.top_p,
        min_new_tokens=suffix_tokens,
        max_new_tokens=suffix_tokens,
        num_return_sequences=n,
        pad_token_id=1,
        eos_token_id=None,
    )
    return drawn[:, given.shape[1] :]


POLICIES = ["temperature-0.7", "top-p-0.8", "temperature-1.5+top-4+top-p-0.9"]


@pytest.mark.parametrize("procedure", ["base", "top-40", "top-2", *POLICIES])
@pytest.mark.slow
def test_scores_are_the_frequencies_of_20000_samples(peaked_model, procedure):
    prefix, n, suffix_tokens = [20, 30], 20_000, 3
    policy = Policy(1.0, 1.0, None) if procedure == "base" else policy_of(procedure)
    likely, counts = sample(peaked_model, prefix, suffix_tokens, policy, 1000, seed=1).unique(
        dim=0, return_counts=True
    )
    likely = likely[counts.argsort(descending=True)][:5]
    sequences = table_of([[*prefix, *suffix] for suffix in likely.tolist()], len(prefix))
    scores = derive(
        teacher_forced(peaked_model, sequences, top_k=(2, 40), policies=POLICIES),
        procedures=[procedure],
        suffix_lengths=[suffix_tokens],
    )
    drawn = sample(peaked_model, prefix, suffix_tokens, policy, n, seed=2)
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
