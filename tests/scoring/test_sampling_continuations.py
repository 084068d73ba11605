"""Sampled continuations against exact distributions, and what must not change them."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    Olmo2Config,
    Olmo2ForCausalLM,
    Olmo3Config,
    Olmo3ForCausalLM,
    PreTrainedTokenizerFast,
)

from memfoil.errors import InvalidConfiguration, InvalidModel, InvalidTable
from memfoil.models import TorchModel, load
from memfoil.scoring import sampling
from memfoil.scoring.sampling import Decoding, Request, draw, generate, sample, uniforms_of

WORDS = ["<s>", "</s>", *"abcdefgh"]
VOCABULARY = len(WORDS)


def tiny(folder, *, context=32, scale=1.0, start="<s>", end="</s>"):
    """A small random Llama with a word for each id."""
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=start, eos_token=end, unk_token="a"
    ).save_pretrained(folder)
    torch.manual_seed(1)
    network = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=context,
            bos_token_id=0,
            eos_token_id=1 if end else None,
        )
    )
    network.lm_head.weight.data *= scale
    network.save_pretrained(folder)
    return load(folder, start_of_text="bos" if start else "none")


@pytest.fixture(autouse=True)
def _one_thread():
    """Threads cost more than they bring to matrices this small."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny(tmp_path_factory.mktemp("tiny") / "model", scale=8.0)


def exact(logits, decoding):
    """The distribution of one token, by the definitions, token by token."""
    p = np.exp(np.float64(logits) / decoding.temperature)
    p /= p.sum()
    order = np.argsort(-p, kind="stable")
    if decoding.top_k:
        order = order[: decoding.top_k]
    kept, mass, whole = [], 0.0, p[order].sum()
    for token in order:
        if mass >= decoding.top_p * whole:
            break
        kept.append(token)
        mass += p[token]
    result = np.zeros(len(p))
    result[kept] = p[kept] / p[kept].sum()
    return result


def logits_behind(model, ids):
    with torch.inference_mode():
        return model.network(torch.tensor([[0, *ids]])).logits[0, -1].numpy()


DECODINGS = [
    Decoding(1.0, 1.0, None, 2),
    Decoding(0.7, 0.95, None, 2),
    Decoding(1.3, 0.6, None, 2),
    Decoding(1.0, 1.0, 3, 2),
    Decoding(0.7, 0.8, 4, 2),
]


@pytest.mark.parametrize("decoding", DECODINGS)
@pytest.mark.slow
def test_twenty_thousand_pairs_have_the_exact_distribution(model, decoding):
    """Chi-square over all continuations of two tokens; those with no probability never occur."""
    prompt = [2, 5, 3]
    requests = [Request(f"{i}", prompt) for i in range(20_000)]
    counted = pd.Series([tuple(ids) for ids in sample(model, requests, decoding)]).value_counts()
    ends = {0, 1}
    expected = {}
    first = exact(logits_behind(model, prompt), decoding)
    expected[()] = sum(first[token] for token in ends)
    for a in set(range(VOCABULARY)) - ends:
        second = exact(logits_behind(model, [*prompt, a]), decoding)
        expected[(a,)] = first[a] * sum(second[token] for token in ends)
        for b in set(range(VOCABULARY)) - ends:
            expected[a, b] = first[a] * second[b]
    assert sum(expected.values()) == pytest.approx(1)
    assert all(expected[pair] > 0 for pair in counted.index)
    frequent = [pair for pair, p in expected.items() if p * 20_000 >= 5]
    observed = [counted.get(pair, 0) for pair in frequent]
    wanted = np.array([expected[pair] for pair in frequent])
    assert len(frequent) > 3
    rest = 20_000 - sum(observed), 1 - wanted.sum()
    if rest[1] * 20_000 >= 5:
        observed, wanted = [*observed, rest[0]], np.append(wanted, rest[1])
    assert chisquare(observed, wanted / wanted.sum() * sum(observed)).pvalue > 0.001


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-2000, 2000), min_size=1, max_size=40, unique=True),
    st.floats(0.1, 3.0),
    st.floats(0.01, 1.0),
    st.one_of(st.none(), st.integers(1, 50)),
    st.integers(0, 2**31),
)
def test_one_token_comes_from_the_exact_distribution(logits, temperature, top_p, top_k, seed):
    """The share of random numbers that give each token is its probability."""
    decoding = Decoding(temperature, top_p, top_k, 1)
    rows = torch.tensor([logits], dtype=torch.float32) / 100
    grid = (np.arange(2000) + np.random.default_rng(seed).random()) / 2000
    drawn = draw(rows.expand(2000, -1), torch.from_numpy(grid), decoding)
    share = np.bincount(drawn.numpy(), minlength=len(logits)) / 2000
    expected = exact(rows[0].numpy(), decoding)
    assert np.abs(share - expected).max() < 1.01 / 2000


def test_of_equal_logits_exactly_k_may_be_drawn():
    grid = torch.linspace(0, 0.999, 200, dtype=torch.float64)
    drawn = draw(torch.zeros(1, 8).expand(200, -1), grid, Decoding(1.0, 1.0, 3, 1))
    assert len(drawn.unique()) == 3
    drawn = draw(torch.zeros(1, 8).expand(200, -1), grid, Decoding(1.0, 0.5, None, 1))
    assert len(drawn.unique()) == 4


def test_more_candidates_are_sorted_where_the_first_are_not_enough(monkeypatch):
    """Flat logits: the top-p needs nearly the whole vocabulary."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(50, 3000, generator=generator) * 0.1
    uniforms = torch.rand(50, generator=generator, dtype=torch.float64)
    decoding = Decoding(1.0, 0.95, None, 1)
    few = draw(logits, uniforms, decoding)
    monkeypatch.setattr(sampling, "CANDIDATES", 3000)
    assert (few == draw(logits, uniforms, decoding)).all()
    assert (logits.gather(1, few[:, None])[:, 0] < logits.topk(256)[0][:, -1]).any()


def test_random_numbers_are_uniform_and_only_grow():
    many = np.concatenate([uniforms_of(f"prompt {i}", 50) for i in range(200)])
    assert kstest(many, "uniform").pvalue > 0.01
    np.testing.assert_array_equal(uniforms_of("a", 100)[:7], uniforms_of("a", 7))
    assert not np.isin(uniforms_of("a", 50), uniforms_of("b", 50)).any()


def prompts(*token_ids, generations=3):
    return pd.DataFrame(
        {
            "prompt_id": [f"p{i}" for i in range(len(token_ids))],
            "setting": "generic",
            "token_ids": list(token_ids),
            "generations": generations,
        }
    )


SOME = prompts([2, 3], [4], [5, 6, 7], [3, 2], [], generations=4)
DECODING = Decoding(0.9, 0.95, None, 12)


def by_id(generations):
    ids = generations["token_ids"].map(lambda ids: ids.tolist())
    return dict(zip(generations["generation_id"], ids, strict=True))


def test_neither_batch_nor_order_nor_company_changes_a_continuation(model, monkeypatch):
    whole = by_id(generate(model, SOME, DECODING, seed=42))
    assert len(whole) == 20
    assert len({tuple(ids) for ids in whole.values()}) > 10
    assert by_id(generate(model, SOME.iloc[::-1], DECODING, seed=42)) == whole
    for i in range(len(SOME)):
        alone = by_id(generate(model, SOME.iloc[[i]], DECODING, seed=42))
        assert alone.items() <= whole.items()
    monkeypatch.setitem(sampling.ROWS, "cpu", 3)
    assert by_id(generate(model, SOME, DECODING, seed=42)) == whole


def test_more_generations_and_more_tokens_only_add(model):
    few = by_id(generate(model, SOME, DECODING, seed=42))
    more = by_id(generate(model, SOME.assign(generations=6), DECODING, seed=42))
    assert few.items() <= more.items()
    longer = by_id(generate(model, SOME, Decoding(0.9, 0.95, None, 20), seed=42))
    assert all(longer[name][: len(ids)] == ids for name, ids in few.items())
    assert any(len(longer[name]) > len(ids) for name, ids in few.items())


def test_another_seed_gives_other_text(model):
    assert by_id(generate(model, SOME, DECODING, seed=42)) != by_id(
        generate(model, SOME, DECODING, seed=7)
    )


def test_kept_states_give_what_the_whole_text_gives(model):
    """Each token again, from a pass over everything before it."""
    for name, ids in itertools.islice(by_id(generate(model, SOME, DECODING, seed=42)).items(), 12):
        prompt, g = name.split("/")
        before = list(SOME.set_index("prompt_id").loc[prompt, "token_ids"])
        uniforms = torch.from_numpy(uniforms_of(f"{42 + int(g)}\0{prompt}", 12))
        for step, id_ in enumerate(ids):
            logits = torch.from_numpy(logits_behind(model, before))[None]
            assert int(draw(logits, uniforms[[step]], DECODING)) == id_
            before.append(id_)


SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "max_position_embeddings": 32,
    "pad_token_id": None,
}


@pytest.mark.parametrize(
    "architecture",
    [
        lambda: GPT2LMHeadModel(
            GPT2Config(vocab_size=VOCABULARY, n_positions=32, n_embd=16, n_layer=2, n_head=2)
        ),
        lambda: Olmo2ForCausalLM(Olmo2Config(**SHAPE)),
        lambda: Olmo3ForCausalLM(Olmo3Config(**SHAPE, sliding_window=4)),
    ],
    ids=["GPT-2", "OLMo 2", "OLMo 3, window of 4"],
)
def test_every_kind_of_state_is_kept_right(model, architecture):
    """Against a pass over everything before each token, for other architectures."""
    torch.manual_seed(2)
    network = architecture().eval()
    network.get_output_embeddings().weight.data *= 8
    network.generation_config.eos_token_id = 1
    other = TorchModel(model.folder, network, model.tokenizer, (0,))
    written = by_id(generate(other, SOME, DECODING, seed=3))
    assert len({tuple(ids) for ids in written.values()}) > 5
    for name, ids in written.items():
        prompt, g = name.split("/")
        before = list(SOME.set_index("prompt_id").loc[prompt, "token_ids"])
        uniforms = torch.from_numpy(uniforms_of(f"{3 + int(g)}\0{prompt}", 12))
        for step, id_ in enumerate(ids):
            logits = torch.from_numpy(logits_behind(other, before))[None]
            assert int(draw(logits, uniforms[[step]], DECODING)) == id_
            before.append(id_)


def test_a_text_ends_where_the_model_ends_it(model):
    written = by_id(generate(model, SOME.assign(generations=50), DECODING, seed=1))
    assert not any({0, 1} & set(ids) for ids in written.values())
    lengths = {len(ids) for ids in written.values()}
    assert max(lengths) == 12
    assert min(lengths) < 12


def test_text_is_what_stands_behind_the_prompt(model):
    frame = generate(model, SOME, DECODING, seed=42)
    for text, ids in zip(frame["text"], frame["token_ids"], strict=True):
        assert text.split() == [WORDS[id_] for id_ in ids]


def test_memory_that_runs_out_halves_the_batch(model, monkeypatch):
    whole = by_id(generate(model, SOME, DECODING, seed=42))
    honest = sampling._sample

    def small(model, batch, decoding):
        if len(batch) > 2:
            raise torch.OutOfMemoryError("out of memory")
        return honest(model, batch, decoding)

    monkeypatch.setattr(sampling, "_sample", small)
    assert by_id(generate(model, SOME, DECODING, seed=42)) == whole
    monkeypatch.setattr(sampling, "_sample", lambda *_: (_ for _ in ()).throw(MemoryFault()))
    with pytest.raises(InvalidModel, match="single continuation"):
        generate(model, SOME, DECODING, seed=42)


class MemoryFault(torch.OutOfMemoryError):
    pass


def test_what_cannot_be_continued_is_one_line(model, tmp_path):
    with pytest.raises(InvalidConfiguration, match="context of 32"):
        generate(model, prompts([2] * 20), DECODING, seed=1)
    with pytest.raises(InvalidModel, match="another tokenizer"):
        generate(model, prompts([2, 99]), DECODING, seed=1)
    with pytest.raises(InvalidTable, match="no prompt"):
        generate(model, SOME.head(0), DECODING, seed=1)
    silent = tiny(tmp_path / "silent", start=None)
    with pytest.raises(InvalidModel, match="start_of_text"):
        generate(silent, prompts([]), DECODING, seed=1)
    assert len(generate(silent, prompts([2]), DECODING, seed=1)) == 3


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": 0}, {"top_p": 0}, {"top_p": 1.1}, {"top_k": 0}, {"max_new_tokens": 0}],
)
def test_a_decoding_that_makes_no_sense_is_refused(wrong):
    good = {"temperature": 1.0, "top_p": 1.0, "top_k": None, "max_new_tokens": 1}
    with pytest.raises(InvalidConfiguration, match=next(iter(wrong))):
        Decoding(**(good | wrong))


def test_damaged_weights_are_named(tmp_path):
    broken = tiny(tmp_path / "broken")
    broken.network.model.norm.weight.data[0] = float("nan")
    with pytest.raises(InvalidModel, match="NaN"):
        generate(broken, prompts([2]), DECODING, seed=1)
