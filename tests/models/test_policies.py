"""Teacher-forced log-probabilities and log-masses of decoding policies, by brute force."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from memfoil.models import Sequence, load, softmax
from memfoil.models.softmax import token_scores
from memfoil.policies import Policy, policy_of

policies = st.builds(
    Policy,
    temperature=st.sampled_from([0.25, 0.7, 1.0, 1.3, 4.0]),
    top_p=st.sampled_from([0.05, 0.5, 0.9, 0.99, 1.0]),
    top_k=st.sampled_from([None, 1, 3, 40]),
)
# Hundredths, so that sums come near no top-p, and few values, so that ties are frequent.
vocabularies = st.lists(st.integers(-400, 400) | st.integers(-2, 2), min_size=1, max_size=30)


def brute_force(logits, target, policy):
    """Log-probability and log-mass by the definitions, one token after the other."""
    p = np.exp(np.array(logits, float) / policy.temperature)
    p /= p.sum()
    # of equal tokens the target is the last: a tie at the edge counts against it
    order = sorted(range(len(p)), key=lambda i: (-logits[i], i == target))[: policy.top_k]
    taken, whole = [], p[order].sum()
    for token in order:
        if p[taken].sum() >= policy.top_p * whole:
            break
        taken.append(token)
    mass = p[taken].sum()
    return np.log(p[target] / mass) if target in taken else -np.inf, np.log(mass)


def scored(logits, target, policy):
    rows = torch.tensor([logits], dtype=torch.float64)
    parts = token_scores(rows, torch.tensor([target]), (), (policy,))
    return parts[3].item(), parts[4].item()


@settings(deadline=None, max_examples=300)
@given(vocabularies, policies, st.data())
def test_policies_are_the_definitions_token_by_token(hundredths, policy, data):
    logits = [value / 100 for value in hundredths]
    target = data.draw(st.integers(0, len(logits) - 1))
    expected = brute_force(logits, target, policy)
    np.testing.assert_allclose(scored(logits, target, policy), expected, rtol=0, atol=1e-9)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(-400, 400), min_size=2, max_size=30, unique=True), policies)
def test_the_tokens_of_a_policy_share_all_probability(hundredths, policy):
    logits = [value / 100 for value in hundredths]
    total = sum(np.exp(scored(logits, target, policy)[0]) for target in range(len(logits)))
    assert total == pytest.approx(1, abs=1e-9)


def test_policies_leave_the_other_scores_as_they_are():
    logits = torch.randn(50, 300, generator=torch.Generator().manual_seed(0)).bfloat16()
    targets = torch.arange(50)
    with_policies = token_scores(logits.clone(), targets, (5,), (Policy(0.7, 0.9, None),))
    without = token_scores(logits.clone(), targets, (5,))
    for one, other in zip(with_policies[:3], without[:3], strict=True):
        assert torch.equal(one, other)
    assert without[3].shape == without[4].shape == (50, 0)


def test_flat_distributions_are_sorted_whole_for_a_top_p(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(40, 3000, generator=generator)
    logits[:20] *= 20.0  # these are not flat
    targets = logits.argsort(1, descending=True)[:, ::200].flatten()[:40]
    asked = (Policy(1.3, 0.9, None), Policy(1.0, 0.5, None))
    few = token_scores(logits.clone(), targets, (), asked)
    monkeypatch.setattr(softmax, "CANDIDATES", 3000)
    whole = token_scores(logits.clone(), targets, (), asked)
    for one, other in zip(few, whole, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "name",
    ["temperature-0.7", "top-p-0.9", "temperature-1.3+top-5", "temperature-0.7+top-40+top-p-0.8"],
)
def test_a_model_gives_what_its_own_logits_say(model_folders, name):
    model = load(model_folders["llama"])
    policy = policy_of(name)
    rng = np.random.default_rng(0)
    sequences = [Sequence(f"s{i}", rng.integers(2, 300, 20).tolist(), 8) for i in range(6)]
    scores = model.score(sequences, (), [policy])
    expected = []
    for _, ids, prefix in sequences:
        given_ids = torch.tensor([[*model.start_of_text, *ids]])
        logits = model.network(given_ids).logits[0].double().numpy()
        start = len(model.start_of_text)
        expected += [
            brute_force(logits[start + place - 1].tolist(), ids[place], policy)
            for place in range(prefix, len(ids))
        ]
    log_p, log_mass = np.array(expected).T
    np.testing.assert_allclose(scores.policy_log_probability[:, 0], log_p, rtol=0, atol=2e-5)
    np.testing.assert_allclose(scores.policy_log_mass[:, 0], log_mass, rtol=0, atol=2e-5)
