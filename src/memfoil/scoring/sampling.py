"""Sampling: what a model writes behind a prompt, each continuation by its own random numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Many
from typing import Any

import numpy as np
import pandas as pd
import torch
from transformers import StaticCache

from memfoil.errors import InvalidConfiguration, InvalidModel, InvalidTable
from memfoil.models import Decoding, Request, TorchModel, VllmModel
from memfoil.models.transformer import is_out_of_memory

# Measured: more rows at once are no faster. Halved when memory runs out.
ROWS = {"cpu": 256, "cuda": 1024}
VLLM_ROWS = 4096  # given to vLLM at once, which batches them itself
CANDIDATES = 256
"""So many of the likeliest tokens are sorted at first; more only where they are not enough."""


def generate(
    model: TorchModel | VllmModel,
    prompts: pd.DataFrame,
    decoding: Decoding,
    *,
    seed: int,
    progress: Callable[..., Iterator[Any]] | None = None,
) -> pd.DataFrame:
    """Sample the continuations that a table of prompts asks for.

    Generation g of a prompt has random numbers of its own, drawn from `seed + g` and the
    prompt's name. Neither the order of the rows, nor the batch, nor the number of generations
    or tokens asked for changes the tokens, but for rounding in the model's logits.

    Parameters
    ----------
    prompts : DataFrame
        `prompt_id`, `setting`, `token_ids` (the model's, without start-of-text; may be empty)
        and `generations`, the number of continuations.

    Returns
    -------
    DataFrame
        GENERATIONS table, `generation_id` is `prompt_id/g` with g from 0; `text` is what the
        continuation says behind its prompt.

    Raises
    ------
    InvalidTable
        If there is no prompt.
    InvalidConfiguration
        If a prompt and its continuation do not fit into the model's context.
    InvalidModel
        If an id is not the model's, nothing stands before the first token, or logits are NaN.
    """
    if prompts.empty:
        raise InvalidTable("prompts: there is no prompt to continue")
    rows = prompts.loc[prompts.index.repeat(prompts["generations"])].reset_index(drop=True)
    number = rows.groupby("prompt_id", sort=False).cumcount()
    rows["generation_id"] = rows["prompt_id"] + "/" + number.astype(str)
    requests = [
        Request(f"{seed + g}\0{name}", [int(id_) for id_ in ids])
        for g, name, ids in zip(number, rows["prompt_id"], rows["token_ids"], strict=True)
    ]
    sampled = sample(model, requests, decoding, progress)
    rows["text"] = _texts(model.tokenizer, requests, sampled)
    rows["token_ids"] = pd.Series(sampled, dtype=object)
    return rows[["generation_id", "token_ids", "text", "prompt_id", "setting"]]


def sample(
    model: TorchModel | VllmModel,
    requests: Many[Request],
    decoding: Decoding,
    progress: Callable[..., Iterator[Any]] | None = None,
) -> list[np.ndarray]:
    """Token ids of each continuation, int32, without the token that ends a text.

    When memory runs out a batch is halved. Raises what `generate` does.
    """
    for request in requests:
        _check(model, request, decoding)
    results: list[np.ndarray] = [np.empty(0, np.int32)] * len(requests)
    rows = VLLM_ROWS if isinstance(model, VllmModel) else ROWS[model.network.device.type]
    batches: Iterable[list[int]] = list(_batches(requests, rows))
    if progress is not None:
        batches = progress(batches, "generating", len(list(batches)))
    for batch in batches:
        asked = [requests[i] for i in batch]
        if isinstance(model, VllmModel):
            sampled = model.sample(asked, decoding)
        else:
            sampled = _sample_batch(model, asked, decoding)
        for i, ids in zip(batch, sampled, strict=True):
            results[i] = ids
    return results


def _check(model: TorchModel | VllmModel, request: Request, decoding: Decoding) -> None:
    name = request.name.replace("\0", " ")
    ids, start = request.token_ids, len(model.start_of_text)
    length = start + len(ids)
    if not length:
        raise InvalidModel(
            f"prompt {name}: it is empty and {model.folder} puts nothing before a text; name its "
            "start-of-text token in start_of_text"
        )
    if model.context is not None and length + decoding.max_new_tokens > model.context:
        raise InvalidConfiguration(
            f"decoding/max_new_tokens: {decoding.max_new_tokens} behind the {length} tokens of "
            f"prompt {name} (with start-of-text) is more than {model.folder}'s context of "
            f"{model.context}"
        )
    if ids and not 0 <= min(ids) <= max(ids) < model.vocabulary:
        raise InvalidModel(
            f"prompt {name}: token ids from {min(ids)} to {max(ids)}, but {model.folder} has 0 to "
            f"{model.vocabulary - 1}; the prompts come from another tokenizer"
        )


def _batches(requests: Many[Request], size: int) -> Iterator[list[int]]:
    """Requests with prompts of about the same length together."""
    order = sorted(range(len(requests)), key=lambda i: len(requests[i].token_ids))
    for first in range(0, len(order), size):
        yield order[first : first + size]


def _sample_batch(model: TorchModel, batch: Many[Request], decoding: Decoding) -> list[np.ndarray]:
    try:
        return _sample(model, batch, decoding)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    # Here and not in the handler, whose traceback keeps the tensors alive.
    if len(batch) == 1:
        raise InvalidModel(
            f"{model.folder}: memory does not hold a single continuation; use a smaller dtype or "
            "a larger device"
        )
    if model.network.device.type == "cuda":
        torch.cuda.empty_cache()
    half = len(batch) // 2
    return [
        ids for part in (batch[:half], batch[half:]) for ids in _sample_batch(model, part, decoding)
    ]


@torch.inference_mode()
def _sample(model: TorchModel, batch: Many[Request], decoding: Decoding) -> list[np.ndarray]:
    """Continuations, a step at a time, earlier states kept.

    The shortest prompt goes through the model at once. From there on every row takes one token a
    step, its prompt's while there is one and a drawn one after it: so nothing is padded.
    """
    device = model.network.device
    ends = torch.tensor(_end_ids(model), device=device)
    prompts = [[*model.start_of_text, *request.token_ids] for request in batch]
    first = torch.tensor([len(ids) for ids in prompts], device=device)
    shortest, longest = int(first.min()), int(first.max())
    total = longest + decoding.max_new_tokens
    tokens = torch.zeros((len(batch), total), dtype=torch.int64, device=device)
    for row, ids in zip(tokens, prompts, strict=True):
        row[: len(ids)] = torch.tensor(ids)
    uniforms = torch.from_numpy(
        np.stack([uniforms_of(r.name, decoding.max_new_tokens) for r in batch])
    ).to(device)
    end = first + decoding.max_new_tokens
    cache = StaticCache(config=model.network.config, max_cache_len=total)
    new = tokens[:, :shortest]
    for place in range(shortest, total):
        output = model.network(input_ids=new, cache=cache, use_cache=True, logits_to_keep=1)
        writing = torch.nonzero((first <= place) & (place < end))[:, 0]
        if len(writing):
            logits = output.logits[writing, -1].float()
            _refuse_nan(model, logits)
            drawn = draw(logits, uniforms[writing, place - first[writing]], decoding)
            tokens[writing, place] = drawn
            ended = writing[torch.isin(drawn, ends)]
            end[ended] = place
        elif place >= longest:
            break
        new = tokens[:, place : place + 1]
    written = zip(tokens.cpu().numpy(), first.tolist(), end.tolist(), strict=True)
    return [row[start:stop].astype(np.int32) for row, start, stop in written]


def _refuse_nan(model: TorchModel, logits: torch.Tensor) -> None:
    if logits.isnan().any():
        raise InvalidModel(
            f"{model.folder}: logits are NaN; the weights are damaged, or the dtype is too narrow "
            "for this model"
        )


def _end_ids(model: TorchModel) -> list[int]:
    """Tokens that end a text: the end-of-text tokens, and those that begin another."""
    named = getattr(model.network.generation_config, "eos_token_id", None)
    listed = named if isinstance(named, list) else [named, model.tokenizer.eos_token_id]
    return sorted({*model.start_of_text, *(id_ for id_ in listed if id_ is not None)})


def uniforms_of(name: str, n: int) -> np.ndarray:
    """The first n random numbers in [0, 1) of a name; more only adds to them."""
    key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "little")
    return np.random.Generator(np.random.Philox(key=key)).random(n)


def draw(logits: torch.Tensor, uniforms: torch.Tensor, decoding: Decoding) -> torch.Tensor:
    """The token at which the cumulative probability, likeliest first, passes a random number.

    Parameters
    ----------
    logits : (n, vocabulary) float32
    uniforms : (n,) float64 in [0, 1)

    Returns
    -------
    (n,) int64
    """
    scaled = logits / decoding.temperature
    weights = (scaled - scaled.amax(1, keepdim=True)).exp_()
    if decoding.top_k is not None:
        return _draw_from(*weights.topk(min(decoding.top_k, weights.shape[1])), uniforms, decoding)
    # sorting every token is slow, and the likeliest nearly always hold the top-p
    values, order = weights.topk(min(CANDIDATES, weights.shape[1]))
    mass = weights.sum(1, dtype=torch.float64)
    drawn = _draw_from(values, order, uniforms, decoding, mass)
    few = torch.nonzero(values.sum(1, dtype=torch.float64) < decoding.top_p * mass)[:, 0]
    if len(few) and values.shape[1] < weights.shape[1]:
        everything = weights[few].sort(dim=1, descending=True)
        drawn[few] = _draw_from(*everything, uniforms[few], decoding)
    return drawn


def _draw_from(
    values: torch.Tensor,
    order: torch.Tensor,
    uniforms: torch.Tensor,
    decoding: Decoding,
    mass: torch.Tensor | None = None,
) -> torch.Tensor:
    """A token among those of some weights, which fall; `mass` is that of all, if there are more."""
    falling = values.double()
    until = falling.cumsum(1)
    whole = until[:, -1:] if mass is None else mass[:, None]
    inside = until - falling < decoding.top_p * whole
    until = falling.mul_(inside).cumsum(1)
    place = torch.searchsorted(until, uniforms[:, None] * until[:, -1:], right=True)
    return order.gather(1, place.clamp_(max=values.shape[1] - 1))[:, 0]


def _texts(tokenizer: Any, requests: Many[Request], sampled: Many[np.ndarray]) -> list[str]:
    """What each continuation says behind its prompt: many tokenizers drop a text's first space."""
    before = tokenizer.batch_decode(
        [r.token_ids for r in requests], clean_up_tokenization_spaces=False
    )
    whole = tokenizer.batch_decode(
        [[*r.token_ids, *ids.tolist()] for r, ids in zip(requests, sampled, strict=True)],
        clean_up_tokenization_spaces=False,
    )
    return [
        text[len(start) :] if text.startswith(start) else text.removeprefix(start.rstrip("\ufffd"))
        for start, text in zip(before, whole, strict=True)
    ]
