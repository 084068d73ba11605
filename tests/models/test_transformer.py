import re
import shutil

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, logsumexp
from small_models import small_tokenizer
from torch._dynamo.testing import CompileCounter
from torch._inductor.utils import run_and_get_code
from transformers import AutoConfig, AutoModelForCausalLM

from memfoil.errors import InvalidConfiguration, InvalidModel
from memfoil.models import Sequence, load
from memfoil.models.softmax import token_scores
from memfoil.models.transformer import is_out_of_memory

TOP_K = (1, 5, 40)


def random_sequences(n, seed=0, low=2, vocabulary=300):
    """Lengths from 2 to 40, prefixes of any length."""
    rng = np.random.default_rng(seed)
    result = []
    for i in range(n):
        length = int(rng.integers(2, 41))
        ids = rng.integers(low, vocabulary, length).tolist()
        result.append(Sequence(f"s{i}", ids, int(rng.integers(1, length))))
    return result


def reference(folder, start, sequence, top_k):
    """All logits of one sequence alone in float64, and everything from them by definition."""
    network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)
    ids = [*start, *sequence.token_ids]
    with torch.no_grad():
        logits = network(torch.tensor([ids])).logits[0].numpy()
    rows = []
    for place in range(len(start) + sequence.prefix_tokens, len(ids)):
        before, token = logits[place - 1], ids[place]
        ordered = np.sort(log_softmax(before))[::-1]
        rows.append(
            (
                log_softmax(before)[token],
                int((before >= before[token]).sum()),
                *(logsumexp(ordered[:k]) for k in top_k),
            )
        )
    return np.array(rows)


def as_matrix(scores):
    return np.column_stack([scores.log_probability, scores.rank, scores.log_mass])


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def kind(request):
    return request.param


def test_scores_are_those_of_an_independent_float64_computation(model_folders, kind):
    model = load(model_folders[kind])
    start = {"llama": (0,), "gpt2": ()}[kind]
    sequences = random_sequences(12)
    expected = np.concatenate(
        [reference(model_folders[kind], start, sequence, TOP_K) for sequence in sequences]
    )
    scored = as_matrix(model.score(sequences, TOP_K))
    assert scored.shape == expected.shape
    np.testing.assert_array_equal(scored[:, 1], expected[:, 1])
    np.testing.assert_allclose(scored, expected, atol=1e-5, rtol=0)
    # the model is peaked, so this was no easy case
    assert expected[:, 0].min() < -20
    assert expected[:, 2].max() > -0.05


@pytest.mark.parametrize(
    "architecture", ["olmo2", "olmo3", "gpt_neox", "qwen2", "qwen3", "mistral", "gemma"]
)
def test_architectures_in_use_are_scored_as_their_own_logits_say(tmp_path, architecture):
    torch.manual_seed(0)
    config = AutoConfig.for_model(
        architecture,
        vocab_size=304,  # Qwen 2 adds a token to its tokenizer
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=8,
        max_position_embeddings=64,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=0,
    )
    network = AutoModelForCausalLM.from_config(config)
    network.get_output_embeddings().weight.data *= 30
    network.save_pretrained(tmp_path)
    small_tokenizer().save_pretrained(tmp_path)
    sequences = random_sequences(3, seed=5)
    expected = np.concatenate([reference(tmp_path, (), s, TOP_K) for s in sequences])
    for dtype, tolerance in (("float64", 1e-9), ("float32", 1e-4)):
        scored = as_matrix(load(tmp_path, dtype=dtype).score(sequences, TOP_K))
        np.testing.assert_allclose(scored, expected, atol=tolerance)


def test_float64_agrees_to_float64(model_folders, kind):
    sequences = random_sequences(3, seed=1)
    model = load(model_folders[kind], dtype="float64")
    expected = np.concatenate(
        [reference(model_folders[kind], model.start_of_text, s, TOP_K) for s in sequences]
    )
    np.testing.assert_allclose(as_matrix(model.score(sequences, TOP_K)), expected, atol=1e-9)


def test_neither_company_nor_order_nor_chunks_change_a_score(model_folders, kind):
    model = load(model_folders[kind])
    sequences = random_sequences(40, seed=2)
    together = as_matrix(model.score(sequences, TOP_K))
    model.batch_tokens, model.rows_at_once = 1, 1
    alone = np.concatenate([as_matrix(model.score([s], TOP_K)) for s in sequences])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    model.batch_tokens, model.rows_at_once = 100, 7
    turned = model.score(sequences[::-1], TOP_K)
    lengths = [len(s.token_ids) - s.prefix_tokens for s in sequences[::-1]]
    pieces = np.split(as_matrix(turned), np.cumsum(lengths)[:-1])
    np.testing.assert_allclose(together, np.concatenate(pieces[::-1]), atol=1e-5)


def test_the_output_layer_sees_each_suffix_token_once_and_few_at_a_time(model_folders, kind):
    model = load(model_folders[kind])
    seen = []
    model.network.get_output_embeddings().register_forward_hook(
        lambda _layer, _given, result: seen.append(result.shape)
    )
    model.rows_at_once = 10
    sequences = random_sequences(30, seed=3)
    model.score(sequences, TOP_K)
    assert all(len(shape) == 2 and shape[0] <= 10 for shape in seen)
    assert sum(rows for rows, _ in seen) == sum(
        len(s.token_ids) - s.prefix_tokens for s in sequences
    )


def test_tied_logits_count_against_the_target(llama_copy):
    """All logits equal: every token has the last rank, and none is the arg max."""
    network = AutoModelForCausalLM.from_pretrained(llama_copy)
    network.model.norm.weight.data.zero_()
    network.save_pretrained(llama_copy)
    scores = load(llama_copy).score(random_sequences(5), TOP_K)
    assert (scores.rank == 300).all()
    np.testing.assert_allclose(scores.log_probability, -np.log(300), rtol=1e-12)
    np.testing.assert_allclose(
        scores.log_mass, np.log([[1, 5, 40]] * len(scores.rank)) - np.log(300)
    )


def test_two_tokens_of_the_same_logit_are_both_second(llama_copy):
    network = AutoModelForCausalLM.from_pretrained(llama_copy)
    network.lm_head.weight.data[7] = network.lm_head.weight.data[9]
    network.save_pretrained(llama_copy)
    model = load(llama_copy)
    prefix = list(range(20, 30))
    pairs = [Sequence(str(i), [*prefix, token], 10) for i, token in enumerate([7, 9])]
    first, second = model.score(pairs, ()).rank
    assert first == second
    ranks = model.score([Sequence("x", [*prefix, t], 10) for t in range(300)], ()).rank
    assert first - 1 not in ranks  # nobody has the better of the two places
    assert first in ranks


def test_start_of_text_is_put_in_front_once_and_not_counted(model_folders):
    """The same ids given by hand to a model that puts nothing in front, one token further on."""
    ids = list(range(50, 70))
    with_start = load(model_folders["llama"])
    without = load(model_folders["llama"], start_of_text="none")
    assert with_start.start_of_text == (0,)
    scores = with_start.score([Sequence("x", ids, 10)], TOP_K)
    by_hand = without.score([Sequence("x", [0, *ids], 11)], TOP_K)
    assert len(scores.rank) == 10
    np.testing.assert_array_equal(as_matrix(scores), as_matrix(by_hand))
    plain = without.score([Sequence("x", ids, 10)], TOP_K)
    assert not np.allclose(scores.log_probability, plain.log_probability)
    with pytest.raises(InvalidModel, match="sequence x: begins with start-of-text"):
        with_start.score([Sequence("x", [0, *ids], 11)], TOP_K)


def test_without_a_prefix_the_start_of_text_alone_is_given(model_folders):
    ids = list(range(50, 60))
    scores = load(model_folders["llama"]).score([Sequence("x", ids, 0)], ())
    assert len(scores.rank) == 10
    with pytest.raises(InvalidModel, match="there must be a token to score and one before it"):
        load(model_folders["gpt2"]).score([Sequence("x", ids, 0)], ())


@pytest.mark.parametrize(
    ("sequence", "message"),
    [
        (Sequence("a", list(range(2, 66)), 5), "sequence a: 65 tokens with .* context of .* is 64"),
        (Sequence("b", [5, 6, 300], 2), "sequence b: token ids from 5 to 300, but .* has 0 to 299"),
        (Sequence("c", [5, -1, 6], 2), "sequence c: token ids from -1 to 6"),
        (Sequence("d", [5, 6], 2), "sequence d: 2 prefix tokens of 2 in all"),
        (Sequence("e", [], 0), "sequence e: 0 prefix tokens of 0"),
        (Sequence("f", [5, 6], -1), "sequence f: -1 prefix tokens"),
    ],
)  # fmt: skip
def test_a_sequence_that_cannot_be_scored_is_named(model_folders, sequence, message):
    good = random_sequences(3)
    with pytest.raises(InvalidModel, match=message) as caught:
        load(model_folders["llama"]).score([*good, sequence], TOP_K)
    assert "\n" not in str(caught.value)


def test_the_context_may_be_filled_to_the_last_place(model_folders):
    scores = load(model_folders["llama"]).score([Sequence("a", list(range(2, 65)), 5)], ())
    assert len(scores.rank) == 58


@pytest.mark.parametrize("k", [0, -1, 301])
def test_a_k_that_no_vocabulary_of_300_has_is_refused(model_folders, k):
    message = rf"top_k \[40, {k}\]: each k must be from 1 to 300, the vocabulary of .*llama"
    with pytest.raises(InvalidConfiguration, match=message) as caught:
        load(model_folders["llama"]).score(random_sequences(1), (40, k))
    assert "\n" not in str(caught.value)


def test_a_k_may_be_the_whole_vocabulary(model_folders):
    scores = load(model_folders["llama"]).score(random_sequences(1), (300,))
    assert np.abs(scores.log_mass).max() < 1e-6


def test_when_memory_runs_out_batches_are_halved_and_nothing_else_changes(
    model_folders, monkeypatch, caplog
):
    sequences = random_sequences(60, seed=4)
    plain = load(model_folders["llama"]).score(sequences, TOP_K)
    model = load(model_folders["llama"])
    body = model._body

    def small_memory(ids):
        if len(ids) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return body(ids)

    monkeypatch.setattr(model, "_body", small_memory)
    np.testing.assert_allclose(
        as_matrix(model.score(sequences, TOP_K)), as_matrix(plain), atol=1e-5
    )
    assert model.batch_tokens < 4096
    assert "memory does not hold 2 sequences at once; going on with 1" in caplog.messages[-1]
    said = len(caplog.messages)
    model.score(sequences, TOP_K)
    assert len(caplog.messages) == said  # batches stay small: it does not run out again


needs_compiler = pytest.mark.skipif(
    shutil.which("g++") is None, reason="torch compiles with a C++ compiler"
)


@pytest.mark.slow
@needs_compiler
def test_compiled_the_scores_are_the_same(model_folders, kind):
    """What a GPU runs for full batches, two shapes of them and a rest that is not full."""
    rng = np.random.default_rng(6)
    sequences = [
        Sequence(f"s{i}", rng.integers(2, 300, length).tolist(), int(rng.integers(1, 20)))
        for i, length in enumerate([24] * 19 + [31] * 8)
    ]
    model = load(model_folders[kind])
    model.batch_tokens, model.rows_at_once = 8 * 32, 50
    eager = model.score(sequences, TOP_K)
    model.compiles = True
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = model.score(sequences, TOP_K)
    np.testing.assert_allclose(as_matrix(compiled), as_matrix(eager), atol=1e-5)
    assert not torch._dynamo.utils.counters["graph_break"]
    shapes = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    model.score(sequences, TOP_K)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == shapes


@pytest.mark.slow
def test_every_shape_is_compiled_once_however_many_there_are(model_folders, monkeypatch):
    model, body, compiled = load(model_folders["llama"]), CompileCounter(), torch.compile

    def without_code(function, **options):
        return compiled(function, backend=body, **options) if function == model._body else function

    monkeypatch.setattr(torch, "compile", without_code)
    torch._dynamo.reset()
    model.compiles, model.batch_tokens = True, 1
    sequences = [Sequence(f"s{n}", list(range(2, 2 + n)), 1) for n in range(3, 13)]
    for _ in range(2):
        model.score(sequences, TOP_K)
    assert body.frame_count == len(sequences)


@pytest.mark.slow
@needs_compiler
def test_compiled_logits_in_bfloat16_never_lie_in_memory_in_float32():
    rows, vocabulary = 56, 3001
    layer = torch.nn.Linear(64, vocabulary, bias=False, dtype=torch.bfloat16)

    def head(states, targets):
        return token_scores(layer(states), targets, (40,))

    torch.manual_seed(0)
    states = torch.randn(rows, 64, dtype=torch.bfloat16)
    targets = torch.randint(0, vocabulary, (rows,))
    with torch.inference_mode():
        compiled, code = run_and_get_code(torch.compile(head), states, targets)
        eager = head(states, targets)
    for one, other in zip(compiled, eager, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    allocated = re.findall(rf"empty_strided_cpu\(\({rows}, {vocabulary}\).*torch\.(\w+)\)", code[0])
    assert allocated
    assert set(allocated) == {"bfloat16"}


def test_a_sequence_that_memory_cannot_hold_alone_is_named(model_folders, monkeypatch):
    model = load(model_folders["llama"])

    def no_memory(ids):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(model, "_body", no_memory)
    with pytest.raises(InvalidModel, match="memory does not hold sequence s0 alone"):
        model.score(random_sequences(1), TOP_K)


def test_what_torch_says_when_a_processor_has_no_memory_left_is_understood():
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.int8)
    assert is_out_of_memory(caught.value)
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2, 3) @ torch.ones(2, 3)
    assert not is_out_of_memory(caught.value)
