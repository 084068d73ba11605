"""Training of the testbed's model: what is read often it must know by heart."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors import SafetensorError
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from memfoil.errors import InvalidConfiguration, InvalidModel, InvalidTable
from memfoil.models import fast_cpu_memory, save_tokenizer

Progress = Callable[[Iterable[Any], str], Iterator[Any]]

Lesson = tuple[torch.Tensor, int]  # token ids, and how many of them are given, not learned

NO_TARGET = -100


@dataclass(frozen=True)
class Settings:
    """Shape of the model and schedule of its training."""

    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    context_tokens: int
    batch_passages: int
    muon_learning_rate: float
    adamw_learning_rate: float
    adamw_betas: tuple[float, float]
    warmup_steps: int
    decay_share: float
    clip_norm: float

    def __post_init__(self) -> None:
        if self.hidden_size % (2 * self.heads):
            raise InvalidConfiguration(
                f"testbed: hidden_size {self.hidden_size} is not a multiple of twice the "
                f"{self.heads} heads: rotary positions turn pairs of dimensions of each head"
            )


def train(
    corpus: pd.DataFrame,
    tokenizer: PreTrainedTokenizerFast,
    folder: str | Path,
    *,
    settings: Settings,
    seed: int,
    progress: Progress,
) -> pd.DataFrame:
    """Train a small Llama on a corpus, read once in its order, and save it as a model folder.

    Each passage is one training sequence, start-of-text in front. Muon moves the hidden matrices,
    AdamW embeddings and norms, both without weight decay; AdamW alone memorizes nothing in one
    short pass. The folder takes its name when it is complete.

    Parameters
    ----------
    corpus : CORPUS frame
    folder : path
        Model folder (configuration, safetensors, tokenizer); an older one is replaced.
    progress : callable
        `progress(batches, label)` iterates over the batches and shows how far it is.

    Returns
    -------
    TRAINING frame
        One row per optimizer step; `loss` in nats per token.

    Raises
    ------
    InvalidConfiguration
        If the corpus is empty or a passage is longer than the context.
    InvalidTable
        If the corpus has ids that the tokenizer does not.
    InvalidModel
        If the folder cannot be written, or something else has its name.
    """
    folder = Path(folder)
    if folder.exists() and not (folder / "config.json").exists() and any(folder.iterdir()):
        raise InvalidModel(f"{folder}: exists and is not a model folder; choose another name")
    sequences = _sequences(corpus, tokenizer, settings.context_tokens)
    fast_cpu_memory()
    torch.manual_seed(seed)
    model = LlamaForCausalLM(_architecture(settings, tokenizer))
    training = learn(model, [(ids, 1) for ids in sequences], settings, progress)
    save(model, tokenizer, folder)
    return training


def learn(
    model: LlamaForCausalLM, lessons: list[Lesson], settings: Settings, progress: Progress
) -> pd.DataFrame:
    """Let a model read lessons once, in their order; TRAINING frame."""
    size = settings.batch_passages
    batches = [lessons[i : i + size] for i in range(0, len(lessons), size)]
    optimizers = _optimizers(model.train(), settings)
    rows: list[tuple[int, int, float, float]] = []
    tokens = 0
    for step, batch in enumerate(progress(batches, "training"), start=1):
        fraction = _schedule(step, len(batches), settings)
        loss = _step(model, optimizers, fraction, batch, settings.clip_norm)
        tokens += sum(len(ids) - given for ids, given in batch)
        rows.append((step, tokens, loss, fraction * settings.muon_learning_rate))
    return pd.DataFrame(rows, columns=["step", "tokens", "loss", "learning_rate"])


def _sequences(
    corpus: pd.DataFrame, tokenizer: PreTrainedTokenizerFast, context_tokens: int
) -> list[torch.Tensor]:
    if corpus.empty:
        raise InvalidConfiguration("testbed: no passage to train on: plant some or add training")
    lengths = [len(ids) + 1 for ids in corpus["token_ids"]]
    if max(lengths) > context_tokens:
        name = corpus["document_id"].iloc[int(np.argmax(lengths))]
        raise InvalidConfiguration(
            f"testbed: context_tokens {context_tokens}: passage {name} takes {max(lengths)} with "
            "start-of-text: raise it or cut shorter passages"
        )
    start = [tokenizer.bos_token_id]
    sequences = [np.concatenate([start, ids]) for ids in corpus["token_ids"]]
    for name, ids in zip(corpus["document_id"], sequences, strict=True):
        if ids.min() < 0 or ids.max() >= len(tokenizer):
            raise InvalidTable(
                f"corpus: column token_ids, {name}: an id is outside the tokenizer's "
                f"{len(tokenizer)}: give the tokenizer that the corpus was made with"
            )
    return [torch.from_numpy(ids) for ids in sequences]


def _architecture(settings: Settings, tokenizer: PreTrainedTokenizerFast) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=settings.hidden_size,
        intermediate_size=settings.intermediate_size,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        max_position_embeddings=settings.context_tokens,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=None,
        # bf16 SDPA has a slow backward pass on CPUs
        attn_implementation="eager",
    )


def _optimizers(model: LlamaForCausalLM, settings: Settings) -> dict[torch.optim.Optimizer, float]:
    """Each optimizer with its peak learning rate."""
    hidden = [p for p in model.model.layers.parameters() if p.ndim == 2]
    rest = [p for p in model.parameters() if not any(p is matrix for matrix in hidden)]
    muon = torch.optim.Muon(hidden, lr=settings.muon_learning_rate, weight_decay=0.0)
    adamw = torch.optim.AdamW(
        rest, lr=settings.adamw_learning_rate, betas=settings.adamw_betas, weight_decay=0.0
    )
    return {muon: settings.muon_learning_rate, adamw: settings.adamw_learning_rate}


def _schedule(step: int, steps: int, settings: Settings) -> float:
    """Share of the peak learning rate: linear up, flat, linear down over the last steps."""
    up = step / max(settings.warmup_steps, 1)
    down = (steps - step + 1) / max(settings.decay_share * steps, 1)
    return min(up, 1.0, down)


def _step(
    model: LlamaForCausalLM,
    optimizers: dict[torch.optim.Optimizer, float],
    fraction: float,
    batch: list[Lesson],
    clip_norm: float,
) -> float:
    padded = torch.nn.utils.rnn.pad_sequence(
        [ids for ids, _ in batch], batch_first=True, padding_value=NO_TARGET
    )
    targets = padded.clone()
    for row, (_, given) in zip(targets, batch, strict=True):
        row[:given] = NO_TARGET
    with torch.autocast("cpu", dtype=torch.bfloat16):
        # padding comes after every token it could disturb, so it needs no attention mask
        logits = model(padded[:, :-1].clamp(min=0), use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1), targets[:, 1:].flatten(), ignore_index=NO_TARGET
    )
    torch.autograd.backward(loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
    for optimizer, peak in optimizers.items():
        for group in optimizer.param_groups:
            group["lr"] = fraction * peak
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()


def save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Save a model folder, which takes its name when it is complete."""
    temporary = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        model.save_pretrained(temporary)
        save_tokenizer(tokenizer, temporary)
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    except (OSError, SafetensorError) as error:
        raise InvalidModel(f"{folder}: cannot be written: {error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
