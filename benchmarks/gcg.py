"""Greedy coordinate gradient beside the PyPI package `nanogcg` 0.3.0, in one run.

    pip install --no-deps --target FOLDER -r envs/requirements-benchmarks.txt
    PYTHONPATH=FOLDER python benchmarks/gcg.py results/demo/testbed/model

Same model, random targets, starting prompts, width, top-k and steps; neither stops before the last
step. Printed are steps per second, the lowest and the last loss, and the loss of the best prompt
when it is read from its text alone: nanogcg looks at the way of a prompt through its text without
what stands around it. Its cache of the prefix, which this version of transformers does not know, is
off; the prefix is one start token.
"""

from __future__ import annotations

import argparse
import copy
import logging
import time
from typing import Any

import nanogcg
import pandas as pd
import torch

from memfoil.models import load
from memfoil.prompts import gcg
from memfoil.prompts.chance import generator_of, random_ids
from memfoil.prompts.elicitation import Elicitation
from memfoil.prompts.frames import Ids, frame


def main() -> None:
    options = parsed()
    torch.set_num_threads(options.threads)
    model = load(options.model, device=options.device, dtype=options.dtype)
    around = frame(model, "plain")
    rows = []
    for number in range(options.targets):
        names = (options.seed, number)
        target = random_ids(around, options.target_tokens, generator_of(*names, "target"))
        start = random_ids(around, options.prompt_tokens, generator_of(*names, "start"))
        task = Elicitation(model, around, target)
        contest = [("memfoil", memfoil_search), ("nanogcg", nanogcg_search)]
        for name, search in contest if number % 2 else contest[::-1]:
            rows.append({"target": number, "search": name} | search(task, start, options))
    found = pd.DataFrame(rows)
    print(found.sort_values(["target", "search"]).to_string(index=False, float_format="%.3f"))
    print()
    print(found.drop(columns="target").groupby("search").mean().to_string(float_format="%.3f"))


def memfoil_search(task: Elicitation, start: Ids, options: argparse.Namespace) -> dict[str, Any]:
    settings = gcg.Settings(options.steps, options.top_k, options.width)
    began = time.perf_counter()
    found = gcg.search(
        task, len(start), settings, generator=generator_of(options.seed, "search"), start=start
    )
    seconds = time.perf_counter() - began
    losses = [step.loss for step in found.steps[1:]]
    return report(task, losses, found.text, seconds)


def nanogcg_search(task: Elicitation, start: Ids, options: argparse.Namespace) -> dict[str, Any]:
    tokenizer = copy.deepcopy(task.model.tokenizer)  # it is given a chat template
    config = nanogcg.GCGConfig(
        num_steps=options.steps,
        optim_str_init=task.frame.surviving([start])[start],
        search_width=options.width,
        topk=options.top_k,
        use_prefix_cache=False,
        seed=options.seed,
        verbosity="ERROR",
    )
    target = task.frame.core.decode(list(task.target), skip_special_tokens=False)
    began = time.perf_counter()
    found = nanogcg.run(task.model.network, tokenizer, "{optim_str}", target, config)
    seconds = time.perf_counter() - began
    return report(task, found.losses, found.best_string, seconds)


def report(task: Elicitation, losses: list[float], text: str, seconds: float) -> dict[str, Any]:
    read = task.losses(task.frame.read([text]))[0]
    return {
        "steps_per_second": len(losses) / seconds,
        "lowest_loss": min(losses),
        "last_loss": losses[-1],
        "from_text_alone": float(read[0]),
    }


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model", help="a model folder")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--targets", type=int, default=4)
    parser.add_argument("--target-tokens", type=int, default=12)
    parser.add_argument("--prompt-tokens", type=int, default=20)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--top-k", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    logging.getLogger("nanogcg").setLevel(logging.ERROR)
    main()
