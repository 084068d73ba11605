"""Near-verbatim mass against full enumeration over tiny vocabularies."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Hamming, Levenshtein
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    Olmo2Config,
    Olmo2ForCausalLM,
)

from memfoil.scoring.near_verbatim import near_verbatim, recover, sampling_tokens

VOCABULARY, LENGTH, PREFIX, EPSILON = 4, 4, 3, 2
ALL = torch.tensor(list(itertools.product(range(VOCABULARY), repeat=LENGTH)))
DISTANCE = {"levenshtein": Levenshtein.distance, "hamming": Hamming.distance}
SPECIAL = {"vocab_size": VOCABULARY, "bos_token_id": None, "eos_token_id": None}
SHAPE = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
MODELS = {
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**SPECIAL, **SHAPE)),
    "olmo2": lambda: Olmo2ForCausalLM(Olmo2Config(**SPECIAL, **SHAPE)),
    "gpt2": lambda: GPT2LMHeadModel(GPT2Config(**SPECIAL, n_embd=16, n_layer=2, n_head=2)),
}


def model(kind: str = "llama", seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)
    network = MODELS[kind]().double().eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    return network


def windows(seed: int, n: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, VOCABULARY, (n, PREFIX + LENGTH), generator=generator)
    return ids[:, :PREFIX], ids[:, PREFIX:]


@torch.inference_mode()
def enumerated(
    network: torch.nn.Module, prefix: torch.Tensor, top_k: int | None = None
) -> torch.Tensor:
    """Log-probability of every continuation of one prefix, one full pass for each."""
    logits = network(torch.cat([prefix.expand(len(ALL), -1), ALL], 1)).logits[:, PREFIX - 1 : -1]
    log_p = logits.log_softmax(-1)
    if top_k:
        kept = log_p >= log_p.topk(top_k).values[..., -1:]
        log_p = log_p.masked_fill(~kept, -torch.inf).log_softmax(-1)
    return log_p.gather(-1, ALL[..., None])[..., 0].sum(1)


def distances(suffix: torch.Tensor, metric: str) -> np.ndarray:
    target = suffix.tolist()
    return np.array([DISTANCE[metric](one, target) for one in ALL.tolist()])


def enumerated_mass(network, prefixes, suffixes, metric, top_k=None) -> np.ndarray:
    rows = []
    for prefix, suffix in zip(prefixes, suffixes, strict=True):
        log_p, edits = enumerated(network, prefix, top_k), distances(suffix, metric)
        rows.append([float(log_p[edits <= r].logsumexp(0)) for r in range(EPSILON + 1)])
    return np.array(rows)


@pytest.mark.parametrize("metric", DISTANCE)
@pytest.mark.parametrize("top_k", [None, 2, 4])
@pytest.mark.parametrize("kind", MODELS)
def test_a_beam_as_wide_as_the_vocabulary_allows_gives_the_mass_itself(kind, top_k, metric):
    network, (prefixes, suffixes) = model(kind), windows(1)
    truth = enumerated_mass(network, prefixes, suffixes, metric, top_k)
    found = near_verbatim(
        network,
        prefixes,
        suffixes,
        epsilon=EPSILON,
        width=VOCABULARY ** (LENGTH - 1),
        top_k=top_k,
        metric=metric,
    )
    np.testing.assert_allclose(np.exp(found.log_mass), np.exp(truth), rtol=1e-9, atol=1e-15)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1000),
    top_k=st.sampled_from([None, 3]),
    metric=st.sampled_from(sorted(DISTANCE)),
    wide=st.integers(2, 12),
)
def test_bounds_grow_with_width_and_radius_between_the_suffix_and_the_truth(
    seed, top_k, metric, wide
):
    network, (prefixes, suffixes) = model(seed=seed), windows(seed, n=2)
    truth = enumerated_mass(network, prefixes, suffixes, metric, top_k)
    before = np.full_like(truth, -np.inf)
    for width in (wide - 1, wide):
        bound = near_verbatim(
            network, prefixes, suffixes, epsilon=EPSILON, width=width, top_k=top_k, metric=metric
        ).log_mass
        assert (bound <= truth + 1e-9).all()
        assert (bound >= before - 1e-9).all()
        assert (bound[:, 1:] >= bound[:, :-1]).all()
        np.testing.assert_allclose(np.exp(bound[:, 0]), np.exp(truth[:, 0]), rtol=1e-9)
        before = bound


def test_no_bound_is_below_the_probability_of_the_suffix_itself():
    """Even where the beam has one place and the suffix is nearly impossible."""
    network, (prefixes, _) = model(), windows(1, n=1)
    log_p = enumerated(network, prefixes[0])
    for rare in log_p.argsort()[:5]:
        bound = near_verbatim(network, prefixes, ALL[rare][None], epsilon=2, width=1)
        assert bound.log_mass.min() >= float(log_p[rare]) - 1e-9


def test_windows_do_not_disturb_each_other():
    """Also where most of them die early, as under a narrow policy."""
    network, (prefixes, suffixes) = model(), windows(5, n=9)
    for search in (near_verbatim, recover):
        together = search(network, prefixes, suffixes, epsilon=1, width=3, top_k=2)
        for i in range(len(prefixes)):
            alone = search(
                network, prefixes[i : i + 1], suffixes[i : i + 1], epsilon=1, width=3, top_k=2
            )
            for name in vars(alone):
                if name != "forward_tokens":
                    np.testing.assert_allclose(
                        getattr(alone, name)[0], getattr(together, name)[i], rtol=1e-9
                    )


@pytest.mark.parametrize("metric", DISTANCE)
def test_an_exhaustive_beam_search_puts_the_likeliest_first_and_the_suffix_in_the_pool(metric):
    network, (prefixes, suffixes) = model(), windows(2)
    found = recover(
        network,
        prefixes,
        suffixes,
        epsilon=EPSILON,
        width=VOCABULARY ** (LENGTH - 1),
        branches=VOCABULARY,
        metric=metric,
    )
    for i, (prefix, suffix) in enumerate(zip(prefixes, suffixes, strict=True)):
        top = distances(suffix, metric)[int(enumerated(network, prefix).argmax())]
        assert found.top_distance[i] == min(top, EPSILON + 1)
    assert (found.pool_distance == 0).all()
    assert (found.pool == VOCABULARY**LENGTH).all()


def test_beam_search_does_not_know_the_suffix():
    """What it comes up with is the same for any suffix; here it is compared with plain beams."""
    network, (prefixes, _) = model(), windows(3, n=1)
    pool = plain_beams(network, prefixes[0], width=3, branches=2)
    for suffix in ALL[::37]:
        found = recover(network, prefixes, suffix[None], epsilon=EPSILON, width=3, branches=2)
        edits = [Levenshtein.distance(one, suffix.tolist()) for one, _ in pool]
        assert found.pool[0] == len(pool)
        assert found.pool_distance[0] == min(*edits, EPSILON + 1)
        assert found.top_distance[0] == min(edits[0], EPSILON + 1)


@torch.inference_mode()
def plain_beams(network, prefix, width, branches) -> list[tuple[list[int], float]]:
    beams: list[tuple[list[int], float]] = [([], 0.0)]
    for step in range(LENGTH):
        grown = []
        for tokens, score in beams:
            ids = torch.cat([prefix, torch.tensor(tokens, dtype=torch.int64)])
            log_p = network(ids[None]).logits[0, -1].log_softmax(-1)
            top = log_p.topk(branches if step == LENGTH - 1 else VOCABULARY)
            grown += [
                ([*tokens, int(token)], score + float(value))
                for value, token in zip(top.values, top.indices, strict=True)
            ]
        grown.sort(key=lambda one: -one[1])
        beams = grown if step == LENGTH - 1 else grown[:width]
    return beams


@pytest.mark.parametrize("search", [near_verbatim, recover])
def test_at_the_default_width_a_search_costs_no_more_than_twenty_samples(search):
    network, (prefixes, suffixes) = model(), windows(4)
    found = search(network, prefixes, suffixes, epsilon=EPSILON)
    assert (found.forward_tokens <= sampling_tokens(PREFIX, LENGTH)).all()
    assert sampling_tokens(PREFIX, LENGTH) == PREFIX + 20 * (LENGTH - 1)


def test_positions_counted_are_positions_run():
    network, (prefixes, suffixes) = model(), windows(4)
    run = []
    network.register_forward_pre_hook(lambda _, args: run.append(args[0].numel()))
    found = near_verbatim(network, prefixes, suffixes, epsilon=1, width=3, top_k=2)
    assert found.forward_tokens.sum() == sum(run)
