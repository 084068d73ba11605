"""eta and its parts by brute force, the search's stopping rules, and the statistics."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tiny_models import KNOWN, UNKNOWN, byte_level, elicit, tiny_gpt2

from memfoil.models import TorchModel
from memfoil.prompts.multi_prefix import (
    budget,
    compare,
    continuations,
    is_distinct,
    memorization_score,
    prefixes_needed,
    recall,
    search_prefixes,
)


def eta_as_written(probabilities, matches) -> float:
    """The double sum of section 3.2, term by term; tokens are counted from 1."""
    n = len(probabilities) + 1
    total = 0.0
    for i in range(1, n):
        logs = [math.log(probabilities[t - 1] + 1e-9) for t in range(i, n)]
        r = (n - i) / i * math.exp(sum(logs) / (n - i))
        sim = sum(matches[i - 1][t] for t in range(i, n)) / (n - i)
        total += r * sim
    return total / (n - 1)


@given(st.integers(2, 9).flatmap(lambda n: st.tuples(
    arrays(float, n - 1, elements=st.floats(0, 1)), arrays(bool, (n - 1, n)),
)))  # fmt: skip
def test_eta_is_the_double_sum_as_written(drawn):
    probabilities, matches = drawn
    with np.errstate(divide="ignore"):
        eta = memorization_score(np.log(probabilities), matches)
    assert eta == pytest.approx(eta_as_written(probabilities, matches), rel=1e-9)


def test_eta_of_perfect_recall_is_the_mean_of_its_weights_and_zero_without_a_match():
    weights = [(5 - i) / i for i in range(1, 5)]
    perfect = memorization_score(np.zeros(4), np.ones((4, 5)))
    assert perfect == pytest.approx(np.mean(weights), rel=1e-8)
    assert memorization_score(np.zeros(4), np.zeros((4, 5))) == 0
    assert prefixes_needed(perfect, 5) == math.ceil(5 * np.mean(weights))
    assert prefixes_needed(0.0, 5) == 0
    assert prefixes_needed(1e-12, 5) == 1


def test_budget_is_ten_or_twice_what_is_needed():
    assert [budget(needed) for needed in (0, 1, 5, 6, 30)] == [10, 10, 10, 12, 60]


@pytest.mark.parametrize("model", ["knowing", "untrained", "no start token"])
def test_one_batched_generation_equals_a_generation_from_each_prefix(model, request):
    if model == "no start token":
        torch_model = tiny_gpt2(byte_level())
    else:
        torch_model = request.getfixturevalue(model)
    target = elicit(torch_model, " " + KNOWN).target
    other = elicit(torch_model, " " + UNKNOWN).target
    n = min(len(target), len(other))
    written = continuations(torch_model, [target[:n], other[:n]])
    for row, truth in zip(written, (target[:n], other[:n]), strict=True):
        for i in range(1, n):
            given_ids = torch.tensor([[*torch_model.start_of_text, *truth[:i]]])
            alone = torch_model.network.generate(
                given_ids,
                attention_mask=torch.ones_like(given_ids),
                do_sample=False,
                max_new_tokens=n - i,
                pad_token_id=0,
            )[0, len(torch_model.start_of_text) :]
            assert row[i - 1].tolist() == alone.tolist()


def test_recall_of_many_targets_is_that_of_each_alone_and_tells_known_from_unknown(
    knowing: TorchModel,
):
    known, unknown = (elicit(knowing, " " + text).target for text in (KNOWN, UNKNOWN))
    targets = [known, unknown, known[:6], unknown[:6], known[:2]]
    together = recall(knowing, targets)
    for target, found in zip(targets, together, strict=True):
        (alone,) = recall(knowing, [target])
        assert found.eta == pytest.approx(alone.eta, rel=1e-4)
        assert found.discoverable == alone.discoverable
    assert together[0].discoverable
    assert not together[1].discoverable
    assert together[0].eta > 5 * together[1].eta


def test_distinct_is_a_cosine_distance_above_the_minimum_from_all():
    one, near, far = (np.array(v) / np.linalg.norm(v) for v in ([1, 0], [1, 0.1], [0, 1]))
    assert is_distinct(near, [], 0.3)
    assert not is_distinct(near, [far, one], 0.3)
    assert is_distinct(far, [one], 0.3)
    assert not is_distinct(one, [one], 0.0)


def outcomes(successes: str, needed: int, failures: int = 100) -> list[bool]:
    """A search whose runs succeed with distinct prefixes (x), the same one again (=), or not."""

    def attempt(run: int) -> tuple[str, bool]:
        mark = successes[run - 1] if run <= len(successes) else "."
        return "same" if mark == "=" else str(run), mark != "."

    def embed(text: str) -> np.ndarray:
        return np.eye(100)[0 if text == "same" else int(text)]

    return search_prefixes(attempt, embed, needed=needed, failures=failures, min_distance=0.5)


@pytest.mark.parametrize(
    ("successes", "needed", "runs", "distinct"),
    [
        ("xxx", 2, 2, 2),
        ("x..x", 2, 4, 2),
        ("====", 2, 10, 1),
        ("", 1, 10, 0),
        ("", 8, 16, 0),
        ("xxx", 0, 0, 0),
        (".........x", 1, 10, 1),
    ],
)
def test_the_search_stops_when_enough_is_found_or_the_budget_is_spent(
    successes, needed, runs, distinct
):
    flags = outcomes(successes, needed)
    assert (len(flags), sum(flags)) == (runs, distinct)


def test_a_row_of_failures_gives_up_early():
    assert len(outcomes("..x...", 3, failures=3)) == 6
    assert len(outcomes("", 1, failures=3)) == 3


def test_the_rank_biserial_effect_is_the_share_of_pairs_won_minus_lost():
    memorized, other = [1.0, 0.8, 0.5, 0.2], [0.0, 0.2, 0.1]
    pairs = [(a > b) - (a < b) for a in memorized for b in other]
    result = compare(memorized, other)
    assert result is not None
    assert result.rank_biserial == pytest.approx(np.mean(pairs))
    assert result.u == sum(p > 0 for p in pairs) + 0.5 * pairs.count(0)
    assert 0 < result.p_value < 0.05
    assert compare([], other) is None
    assert compare(memorized, []) is None
