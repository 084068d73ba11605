"""Teacher forcing three ways, on the same random sequences, in one run.

    python benchmarks/scoring.py [--device cpu|cuda] [--sequences N]

- plain: transformers as most use it: all logits, log_softmax in float32, topk over the vocabulary.
- lean: the body, then the output layer on scored positions alone; every operation by itself.
- memfoil: this project's scorer.

Sequences of 101 tokens, scores at the last 50 with top-40 mass; random weights. On a GPU the model
has OLMo 2 7B's shape in bfloat16; on a CPU 26 M parameters, in float32 and in bfloat16. Each way
runs in a process of its own, which measures the matrix product's rate first, and is timed warm (the
best of three rounds). FLOPs are those needed: a multiplication counts two, attention its causal
half, the output layer the scored positions. Memory is torch's peak on a GPU, and on a CPU the
process's, with the interpreter's 0.5 GB. `lean` and `memfoil` have memfoil's memory settings on a
CPU. The run fails if the ways do not agree.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tabulate import tabulate
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from memfoil.models import Sequence, TorchModel, fast_cpu_memory

TOKENS, SCORED, TOP_K = 101, 50, 40
ROUNDS = 3
SHAPES: dict[str, dict[str, Any]] = {
    "cuda": {
        "model_type": "olmo2", "vocab_size": 100352, "hidden_size": 4096, "num_hidden_layers": 32,
        "intermediate_size": 11008, "num_attention_heads": 32, "num_key_value_heads": 32,
    },
    "cpu": {
        "model_type": "llama", "vocab_size": 32000, "hidden_size": 384, "num_hidden_layers": 8,
        "intermediate_size": 1024, "num_attention_heads": 6, "num_key_value_heads": 6,
        "tie_word_embeddings": True,
    },
}  # fmt: skip
DTYPES = {"cuda": ["bfloat16"], "cpu": ["float32", "bfloat16"]}
SEQUENCES = {"cuda": 1024, "cpu": 128}
PLAIN_BATCH = 32
LEAN_BATCH = {"cuda": 256, "cpu": 32}
LEAN_ROWS = {"cuda": 4096, "cpu": 256}
MATRIX = {"cuda": 8192, "cpu": 2048}
# Two orders of the same sums in bfloat16 move a logit of about 1 by some hundredths.
TOLERANCE = {"float32": 1e-4, "bfloat16": 0.1}

Scores = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class Measured(NamedTuple):
    """What one process found."""

    rate: float
    first: float
    seconds: float
    flops: float
    parameters: int
    memory: float
    scores: Scores


def random_model(device: str, dtype: str) -> Any:
    torch.manual_seed(0)
    config = AutoConfig.for_model(**SHAPES[device], bos_token_id=None, eos_token_id=None)
    with torch.device(device):
        network = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, dtype))
    return network.eval().requires_grad_(False)


def plain(network: Any) -> Callable[[torch.Tensor], Scores]:
    def way(ids: torch.Tensor) -> Scores:
        parts = [batch_scores(batch) for batch in ids.split(PLAIN_BATCH)]
        return tuple(torch.cat(part) for part in zip(*parts, strict=True))  # type: ignore[return-value]

    def batch_scores(ids: torch.Tensor) -> Scores:
        logits = network(ids, use_cache=False).logits[:, :-1]
        log_p = logits.float().log_softmax(-1)[:, -SCORED:].flatten(0, 1)
        own = log_p.gather(1, ids[:, -SCORED:].reshape(-1, 1))
        rank = (log_p >= own).sum(1)
        return own[:, 0].cpu(), rank.cpu(), log_p.topk(TOP_K).values.logsumexp(1).cpu()

    return way


def lean(network: Any) -> Callable[[torch.Tensor], Scores]:
    device = network.device.type

    def way(ids: torch.Tensor) -> Scores:
        parts = [part for batch in ids.split(LEAN_BATCH[device]) for part in batch_scores(batch)]
        return tuple(torch.cat(part) for part in zip(*parts, strict=True))  # type: ignore[return-value]

    def batch_scores(ids: torch.Tensor) -> list[Scores]:
        states = network.base_model(ids[:, :-1], use_cache=False).last_hidden_state
        states, targets = states[:, -SCORED:].flatten(0, 1), ids[:, -SCORED:].flatten()
        rows = LEAN_ROWS[device]
        pieces = zip(states.split(rows), targets.split(rows), strict=True)
        return [piece_scores(*piece) for piece in pieces]

    def piece_scores(states: torch.Tensor, targets: torch.Tensor) -> Scores:
        logits = network.lm_head(states).float()
        own = logits.gather(1, targets[:, None])
        total = logits.logsumexp(1)
        rank = (logits >= own).sum(1)
        mass = logits.topk(TOP_K).values.logsumexp(1)
        return (own[:, 0] - total).cpu(), rank.cpu(), (mass - total).cpu()

    return way


def memfoil(network: Any) -> Callable[[torch.Tensor], Scores]:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"a": 0}, "a")))
    model = TorchModel(Path("random weights"), network, tokenizer, ())

    def way(ids: torch.Tensor) -> Scores:
        sequences = [
            Sequence(str(i), row, TOKENS - SCORED) for i, row in enumerate(ids.cpu().tolist())
        ]
        scores = model.score(sequences, (TOP_K,))
        log_p, rank, log_mass = map(torch.from_numpy, scores)
        return log_p, rank, log_mass[:, 0]

    return way


WAYS = {"plain": plain, "lean": lean, "memfoil": memfoil}


def needed_flops(network: Any) -> float:
    """FLOPs for one sequence."""
    config = network.config
    layers = [m for m in network.base_model.modules() if isinstance(m, torch.nn.Linear)]
    positions = TOKENS - 1
    body = 2 * positions * sum(layer.weight.numel() for layer in layers)
    pairs = positions * (positions + 1) // 2
    attention = 4 * config.num_hidden_layers * config.hidden_size * pairs
    return float(body + attention + 2 * SCORED * config.vocab_size * config.hidden_size)


def seconds_of(work: Callable[[], Any], device: str) -> float:
    start = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def matrix_rate(device: str, dtype: str) -> float:
    """FLOP/s of a large matrix product, the best of ten."""
    n = MATRIX[device]
    left, right = (torch.randn(n, n, device=device).to(getattr(torch, dtype)) for _ in range(2))
    product = torch.empty_like(left)
    times = [seconds_of(lambda: torch.mm(left, right, out=product), device) for _ in range(12)]
    return 2 * n**3 / min(times[2:])


@torch.inference_mode()
def measure(name: str, device: str, dtype: str, sequences: int) -> Measured:
    if name != "plain" and device == "cpu":
        fast_cpu_memory()
    rate = matrix_rate(device, dtype)
    network = random_model(device, dtype)
    generator = torch.Generator().manual_seed(1)
    vocabulary = network.config.vocab_size
    ids = torch.randint(0, vocabulary, (sequences, TOKENS), generator=generator).to(device)
    way = WAYS[name](network)
    first = seconds_of(lambda: way(ids), device)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    seconds = min(seconds_of(lambda: way(ids), device) for _ in range(ROUNDS))
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory = torch.cuda.max_memory_allocated() if device == "cuda" else kilobytes * 1024
    parameters = sum(p.numel() for p in network.parameters())
    return Measured(rate, first, seconds, needed_flops(network), parameters, memory / 1e9, way(ids))


def row(name: str, found: Measured, base: Measured, sequences: int, dtype: str) -> list[str]:
    apart = max(
        float((a.double() - b.double()).abs().max())
        for a, b in zip(found.scores[::2], base.scores[::2], strict=True)
    )
    if not apart <= TOLERANCE[dtype]:
        sys.exit(f"{name} and plain do not agree in {dtype}: a log-probability is {apart:.2g} off")
    return [
        dtype,
        name,
        f"{sequences / found.seconds:.1f}",
        f"{base.seconds / found.seconds:.2f}",
        f"{found.flops * sequences / found.seconds / found.rate:.2f}",
        f"{found.rate / 1e12:.3g}",
        f"{found.memory:.1f}",
        f"{found.first:.1f}",
        f"{apart:.1g}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--sequences", type=int)
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("torch sees no GPU here")
    sequences = options.sequences or SEQUENCES[options.device]
    rows = []
    processes = multiprocessing.get_context("spawn")
    for dtype in DTYPES[options.device]:
        found = {}
        for name in WAYS:
            with processes.Pool(1) as pool:
                found[name] = pool.apply(measure, (name, options.device, dtype, sequences))
        rows += [row(name, found[name], found["plain"], sequences, dtype) for name in WAYS]
    where = torch.cuda.get_device_name() if options.device == "cuda" else processor()
    print(f"{found['plain'].parameters / 1e6:.1f} M parameters, {sequences} sequences of {TOKENS}")
    print(f"tokens, {SCORED} scored, top-{TOP_K} mass; torch {torch.__version__}; {where}\n")
    headers = [
        "dtype", "way", "sequences/s", "over plain", "needed FLOP/s over the matrix rate",
        "matrix rate, TFLOP/s", "peak memory, GB", "first round, s", "most apart from plain",
    ]  # fmt: skip
    print(tabulate(rows, headers, tablefmt="github"))


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return f"{model}, {torch.get_num_threads()} threads"


if __name__ == "__main__":
    main()
