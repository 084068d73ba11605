"""Near-verbatim search beside drawing 20 samples, in one run on the same windows.

    python benchmarks/near_verbatim.py [--model FOLDER] [--windows 64] [--device cpu]

Without a model folder a small Llama with random weights is made. For teacher forcing, 20 samples
after a shared prefix, the constrained search and beam search: windows a second, and the positions
that each runs through the model per window. Prefix and suffix have 50 tokens.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from tabulate import tabulate
from transformers import AutoModelForCausalLM, DynamicCache, LlamaConfig, LlamaForCausalLM

from memfoil.models import fast_cpu_memory
from memfoil.scoring.near_verbatim import SAMPLES, near_verbatim, recover, sampling_tokens

PREFIX = SUFFIX = 50
EPSILON = 5
BATCH = {"cpu": 32, "cuda": 64}


def small_llama() -> LlamaForCausalLM:
    """The default run's testbed: 2.2 M parameters, a vocabulary of 2048."""
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=2048, hidden_size=192, intermediate_size=512, num_hidden_layers=4,
            num_attention_heads=6, tie_word_embeddings=True, bos_token_id=None, eos_token_id=None,
        )
    )  # fmt: skip


@torch.inference_mode()
def teacher_forced(model: torch.nn.Module, prefixes: torch.Tensor, suffixes: torch.Tensor) -> int:
    model(torch.cat([prefixes, suffixes[:, :-1]], 1), use_cache=False)
    return PREFIX + SUFFIX - 1


@torch.inference_mode()
def sampled(model: torch.nn.Module, prefixes: torch.Tensor, suffixes: torch.Tensor) -> int:
    """20 samples a window, the prefix run once, keys and values kept."""
    cache = DynamicCache(config=model.config)
    logits = model(prefixes, cache=cache, use_cache=True, logits_to_keep=1).logits
    run = prefixes.shape[1]
    cache.batch_repeat_interleave(SAMPLES)
    logits = logits.repeat_interleave(SAMPLES, 0)
    for _ in range(suffixes.shape[1] - 1):
        tokens = torch.multinomial(logits[:, -1].float().softmax(-1), 1)
        logits = model(tokens, cache=cache, use_cache=True).logits
        run += SAMPLES
    torch.multinomial(logits[:, -1].float().softmax(-1), 1)
    return run


def searched(model: torch.nn.Module, prefixes: torch.Tensor, suffixes: torch.Tensor) -> float:
    found = near_verbatim(model, prefixes, suffixes, epsilon=EPSILON)
    return float(found.forward_tokens.mean())


def searched_top_40(
    model: torch.nn.Module, prefixes: torch.Tensor, suffixes: torch.Tensor
) -> float:
    found = near_verbatim(model, prefixes, suffixes, epsilon=EPSILON, top_k=40)
    return float(found.forward_tokens.mean())


def beams(model: torch.nn.Module, prefixes: torch.Tensor, suffixes: torch.Tensor) -> float:
    found = recover(model, prefixes, suffixes, epsilon=EPSILON)
    return float(found.forward_tokens.mean())


WAYS: dict[str, Callable[..., float]] = {
    "teacher forcing": teacher_forced,
    f"{SAMPLES} samples": sampled,
    "near-verbatim search, base": searched,
    "near-verbatim search, top-40": searched_top_40,
    "beam search": beams,
}


def measured(
    way: Callable[..., float], model: torch.nn.Module, ids: torch.Tensor, size: int
) -> tuple[float, float]:
    """Seconds a window, and positions run through the model a window."""
    batches = [ids[i : i + size] for i in range(0, len(ids), size)]
    way(model, batches[0][:2, :PREFIX], batches[0][:2, PREFIX:])
    start = time.perf_counter()
    tokens = [way(model, batch[:, :PREFIX], batch[:, PREFIX:]) for batch in batches]
    if ids.is_cuda:
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / len(ids), float(np.mean(tokens))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="a model folder; default: a small random Llama")
    parser.add_argument("--windows", type=int, default=64)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    options = parser.parse_args()
    fast_cpu_memory()
    model = AutoModelForCausalLM.from_pretrained(options.model) if options.model else small_llama()
    model = model.to(options.device, getattr(torch, options.dtype)).eval()
    generator = torch.Generator().manual_seed(1)
    shape = (options.windows, PREFIX + SUFFIX)
    ids = torch.randint(0, model.config.vocab_size, shape, generator=generator)
    ids = ids.to(options.device)
    rows = []
    for name, way in WAYS.items():
        seconds, tokens = measured(way, model, ids, BATCH[options.device])
        rows.append((name, f"{1 / seconds:.1f}", f"{tokens:.0f}"))
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{parameters / 1e6:.1f} M parameters, {options.dtype}, {options.device},")
    print(f"{torch.get_num_threads()} threads, {options.windows} windows of {PREFIX} + {SUFFIX}")
    print(f"tokens; 20 samples by count: {sampling_tokens(PREFIX, SUFFIX)} positions a window\n")
    print(tabulate(rows, ["", "windows/s", "positions a window"], tablefmt="github"))


if __name__ == "__main__":
    main()
