"""Teacher forcing with transformers and torch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Many
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch

from memfoil.errors import InvalidModel
from memfoil.models.interface import Sequence, TokenScores, empty_scores
from memfoil.models.sequences import ks_of, require_scorable
from memfoil.models.softmax import token_scores
from memfoil.models.tokenizer import require_own
from memfoil.policies import Policy

# Measured: more tokens at once than these are no faster. Halved when memory runs out.
BATCH_TOKENS = {"cpu": 4096, "cuda": 32768}
# Logits that exist at a time: what a processor's cache holds, and a gigabyte on a GPU. But so few
# rows that reading the output layer's weights costs more than using them do not pay.
LOGITS = {"cpu": 2**20, "cuda": 2**29}
FEWEST_ROWS = 256
# Past torch's own 8 shapes it would stop compiling without a word.
MOST_SHAPES = 256

log = logging.getLogger(__name__)


class TorchModel:
    """A transformers model: the body once, then the output layer on suffix positions alone."""

    def __init__(
        self, folder: Path, network: Any, tokenizer: Any, start_of_text: tuple[int, ...]
    ) -> None:
        self.folder = folder
        self.network = network
        self.tokenizer = tokenizer
        self.start_of_text = start_of_text
        self.vocabulary: int = network.get_input_embeddings().weight.shape[0]
        self.context: int | None = getattr(
            network.config.get_text_config(), "max_position_embeddings", None
        )
        kind = network.device.type
        self.batch_tokens = BATCH_TOKENS.get(kind, BATCH_TOKENS["cpu"])
        logits = LOGITS.get(kind, LOGITS["cpu"])
        self.rows_at_once = max(FEWEST_ROWS, logits // self.vocabulary)
        # On a processor compiling takes longer than most jobs.
        self.compiles = kind == "cuda"
        require_own(tokenizer, folder, network.config.get_text_config(), self.vocabulary)
        self._require_plain_output_layer()

    @torch.inference_mode()
    def score(
        self, sequences: Many[Sequence], top_k: Many[int], policies: Many[Policy] = ()
    ) -> TokenScores:
        """Log-probability, rank, top-k log-masses and what policies say of every suffix token.

        The start-of-text tokens are put before each sequence here. Batches hold sequences of one
        length, so nothing is padded; when memory runs out they are halved, for good. On a GPU
        full batches run compiled, once for each shape; smaller ones do not, nor what policies
        need of the logits.

        Raises
        ------
        InvalidModel
            If a sequence is longer than the model's context, holds an id outside its vocabulary
            or start-of-text already, has no suffix or nothing before it; if logits are NaN or
            memory does not hold a single sequence.
        InvalidConfiguration
            If a k is not positive, or larger than the vocabulary.
        """
        require_scorable(self, sequences, ks_of(top_k, policies))
        suffixes = [len(s.token_ids) - s.prefix_tokens for s in sequences]
        ends = np.cumsum(suffixes)
        total = sum(suffixes)
        scores = empty_scores(total, top_k, policies)
        for batch in self._batches(sequences):
            rows = np.concatenate([np.arange(ends[i] - suffixes[i], ends[i]) for i in batch])
            part = self._score_batch([sequences[i] for i in batch], top_k, policies)
            for whole, piece in zip(scores, part, strict=True):
                whole[rows] = piece
        return scores

    def _batches(self, sequences: Many[Sequence]) -> Iterator[list[int]]:
        def length(i: int) -> int:
            return len(sequences[i].token_ids)

        for tokens, same in groupby(sorted(range(len(sequences)), key=length), key=length):
            waiting = list(same)
            while waiting:
                size = self._full_batch(tokens)
                yield waiting[:size]
                waiting = waiting[size:]

    def _full_batch(self, tokens: int) -> int:
        """Sequences of so many tokens at once: a power of two, which divides most jobs evenly."""
        most = max(1, self.batch_tokens // (tokens + len(self.start_of_text)))
        return 1 << (most.bit_length() - 1)

    def _score_batch(
        self, batch: list[Sequence], top_k: Many[int], policies: Many[Policy]
    ) -> TokenScores:
        try:
            return self._forward(batch, top_k, policies)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        # Here and not in the handler, whose traceback keeps the tensors alive.
        if len(batch) == 1:
            raise InvalidModel(
                f"{self.folder}: memory does not hold sequence {batch[0].name} alone; use a "
                "smaller dtype or a larger device"
            )
        if self.network.device.type == "cuda":
            torch.cuda.empty_cache()
        half = len(batch) // 2
        self.batch_tokens = half * (len(batch[0].token_ids) + len(self.start_of_text))
        log.warning(
            "%s: memory does not hold %d sequences at once; going on with %d",
            self.folder,
            len(batch),
            half,
        )
        parts = (self._score_batch(part, top_k, policies) for part in (batch[:half], batch[half:]))
        return TokenScores(*map(np.concatenate, zip(*parts, strict=True)))

    def _forward(
        self, batch: list[Sequence], top_k: Many[int], policies: Many[Policy]
    ) -> TokenScores:
        """One batch of sequences of one length; the state before a token predicts it."""
        device = self.network.device
        start = len(self.start_of_text)
        ids = torch.tensor([[*self.start_of_text, *s.token_ids] for s in batch], device=device)
        body, head = self._body, self._head
        if self.compiles and len(batch) == self._full_batch(len(batch[0].token_ids)):
            body, head = self._compiled
        if policies:  # whether a top-p needs a whole sort depends on the logits
            head = self._head
        states = body(ids[:, :-1])
        first = torch.tensor([start + s.prefix_tokens for s in batch], device=device)
        scored = torch.arange(ids.shape[1], device=device) >= first[:, None]
        states, targets = states[scored[:, 1:]], ids[scored]
        pieces = -(-len(targets) // self.rows_at_once)
        parts = [
            head(piece, target, tuple(top_k), tuple(policies))
            for piece, target in zip(
                states.tensor_split(pieces), targets.tensor_split(pieces), strict=True
            )
        ]
        scores = TokenScores(*(torch.cat(part).cpu().numpy() for part in zip(*parts, strict=True)))
        bad = np.isnan(scores.log_probability) | np.isnan(scores.log_mass).any(axis=1)
        if bad.any():
            row = int(np.repeat(range(len(batch)), scored.sum(1).cpu())[np.argmax(bad)])
            raise InvalidModel(
                f"{self.folder}: logits are NaN in sequence {batch[row].name}; the weights are "
                "damaged, or the dtype is too narrow for this model"
            )
        return scores

    def _body(self, ids: torch.Tensor) -> torch.Tensor:
        return self.network.base_model(input_ids=ids, use_cache=False).last_hidden_state

    @cached_property
    def _compiled(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        # its overloads lack the keyword
        body = torch.compile(  # type: ignore[call-overload]
            self._body, dynamic=False, recompile_limit=MOST_SHAPES
        )
        return body, torch.compile(self._head)

    def _head(
        self,
        states: torch.Tensor,
        targets: torch.Tensor,
        top_k: tuple[int, ...],
        policies: tuple[Policy, ...],
    ) -> tuple[torch.Tensor, ...]:
        """The output layer and all that is read off its logits, which it does not give back."""
        return token_scores(self._output(states), targets, top_k, policies)

    def _output(self, states: torch.Tensor) -> torch.Tensor:
        return self.network.get_output_embeddings()(states)

    @torch.inference_mode()
    def _require_plain_output_layer(self) -> None:
        """Refuse models that scale or cap their logits after the output layer."""
        ids = torch.arange(min(8, self.vocabulary), device=self.network.device)[None]
        whole = self.network(input_ids=ids, use_cache=False).logits
        if not torch.allclose(whole, self._output(self._body(ids)), 1e-5, 1e-5, equal_nan=True):
            raise InvalidModel(
                f"{self.folder}: this kind of model changes its logits after the output layer, "
                "which scoring does not do; it cannot be scored"
            )


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether torch raised an error because memory is full, on a GPU or not."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
