"""Teacher forcing and sampling with vLLM."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Iterator
from collections.abc import Sequence as Many
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, GenerationConfig

from memfoil.errors import InvalidConfiguration, InvalidModel
from memfoil.models.folder import local_folder, one_line, require_weights
from memfoil.models.interface import Decoding, Request, Sequence, TokenScores, empty_scores
from memfoil.models.sequences import ks_of, require_scorable
from memfoil.models.softmax import kept
from memfoil.models.tokenizer import load_tokenizer, require_own
from memfoil.models.tokenizer import start_of_text as start_ids
from memfoil.policies import Policy

# Cached states are kept for a whole context: sequences are far shorter than what large models
# could read.
LONGEST = 4096
# Prompt log-probabilities take these x vocabulary x 6 bytes.
BATCH_TOKENS = 2048
# Sequences whose log-probabilities exist as Python numbers at a time.
CHUNK = 256
ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # gigabytes
}
ON_PROCESSOR = {"TORCH_COMPILE_DISABLE": "1"}  # compiling takes longer than most jobs


class VllmModel:
    """A model that vLLM runs. It sees one token less than the context: it always writes one."""

    def __init__(
        self,
        folder: Path,
        engine: Any,
        tokenizer: Any,
        start_of_text: tuple[int, ...],
        vocabulary: int,
        end_ids: Many[int],
    ) -> None:
        self.folder = folder
        self.engine = engine
        self.tokenizer = tokenizer
        self.start_of_text = start_of_text
        self.vocabulary = vocabulary
        self.context: int = engine.llm_engine.model_config.max_model_len - 1
        self.end_ids = list(end_ids)

    def score(
        self, sequences: Many[Sequence], top_k: Many[int], policies: Many[Policy] = ()
    ) -> TokenScores:
        """Log-probability, rank, top-k log-masses and what policies say of every suffix token.

        The first pass asks for log-probabilities and ranks. The second asks for the likeliest
        tokens up to the first suffix token that is not among the largest k: from there on nothing
        with a top-k can go on, and what it says of a token is NaN. So is the log-mass of a policy
        at another temperature than 1: vLLM gives no sums over the vocabulary there.

        Raises
        ------
        InvalidModel
            If a sequence cannot be scored, or logits are NaN.
        InvalidConfiguration
            If a k is not positive, or larger than the vocabulary, or a policy has none.
        """
        if any(policy.top_k is None for policy in policies):
            raise InvalidConfiguration(
                f"{self.folder}: vLLM gives no sums over the vocabulary, which a policy without a "
                "top-k needs; add one, or use torch"
            )
        require_scorable(self, sequences, ks_of(top_k, policies))
        parts = [
            self._score(sequences[first : first + CHUNK], top_k, policies)
            for first in range(0, len(sequences), CHUNK)
        ]
        return TokenScores(*map(np.concatenate, zip(*parts, strict=True)))

    def _score(
        self, sequences: Many[Sequence], top_k: Many[int], policies: Many[Policy]
    ) -> TokenScores:
        first = [start + len(self.start_of_text) for start in (s.prefix_tokens for s in sequences)]
        prompts = [[*self.start_of_text, *s.token_ids] for s in sequences]
        ends = np.cumsum([len(s.token_ids) - s.prefix_tokens for s in sequences])
        starts = [0, *ends[:-1].tolist()]
        scores = empty_scores(int(ends[-1]), top_k, policies)
        for i, flat in enumerate(self._prompt_logprobs(prompts, 0)):
            at = [flat.start_indices[p] for p in range(first[i], len(prompts[i]))]
            own = np.array([flat.logprobs[a] for a in at])
            if np.isnan(own).any():
                raise _nan(self.folder, f"sequence {sequences[i].name}")
            scores.log_probability[starts[i] : ends[i]] = np.minimum(own, 0.0)
            scores.rank[starts[i] : ends[i]] = [flat.ranks[a] for a in at]
        largest = max(ks_of(top_k, policies), default=0)
        inside = [_leading(scores.rank[a:b] <= largest) for a, b in zip(starts, ends, strict=True)]
        asked = [i for i, n in enumerate(inside) if n]
        shortened = [prompts[i][: first[i] + inside[i]] for i in asked]
        for i, flat in zip(asked, self._prompt_logprobs(shortened, largest), strict=True):
            rows = slice(starts[i], starts[i] + inside[i])
            own, likeliest = _likeliest(flat, first[i], inside[i], largest)
            if top_k:
                mass = np.logaddexp.accumulate(likeliest, axis=1)
                scores.log_mass[rows] = np.minimum(mass[:, np.array(top_k) - 1], 0.0)
            for column, policy in enumerate(policies):
                log_p, log_mass = _under(policy, own, scores.rank[rows], likeliest)
                scores.policy_log_probability[rows, column] = log_p
                scores.policy_log_mass[rows, column] = log_mass
        for column, policy in enumerate(policies):
            outside = scores.rank > policy.top_k
            scores.policy_log_probability[outside, column] = -np.inf
        return scores

    def _prompt_logprobs(self, prompts: Many[Many[int]], k: int) -> Iterator[Any]:
        """vLLM's flat log-probabilities of every token of the prompts, and of the k likeliest."""
        from vllm import SamplingParams

        if not prompts:
            return
        how = SamplingParams(
            prompt_logprobs=k, max_tokens=1, temperature=0, detokenize=False, flat_logprobs=True
        )
        given = [{"prompt_token_ids": list(ids)} for ids in prompts]
        for answer in self.engine.generate(given, how, use_tqdm=False):
            yield answer.prompt_logprobs

    def sample(self, requests: Many[Request], decoding: Decoding) -> list[np.ndarray]:
        """Token ids of each continuation, int32, without the token that ends a text.

        Each has a seed of its own, drawn from its name: neither batch nor order changes it, but
        for rounding. The tokens are others than those torch draws, their distribution is the
        same.

        Raises
        ------
        InvalidModel
            If logits are NaN.
        """
        from vllm import SamplingParams

        how = [
            SamplingParams(
                temperature=decoding.temperature,
                top_p=decoding.top_p,
                top_k=decoding.top_k or 0,
                max_tokens=decoding.max_new_tokens,
                seed=seed_of(request.name),
                stop_token_ids=self.end_ids,
                ignore_eos=True,
                detokenize=False,
                logprobs=0,
                flat_logprobs=True,
            )
            for request in requests
        ]
        given = [{"prompt_token_ids": [*self.start_of_text, *r.token_ids]} for r in requests]
        results = []
        for request, answer in zip(
            requests, self.engine.generate(given, how, use_tqdm=False), strict=True
        ):
            written = answer.outputs[0]
            if np.isnan(written.logprobs.logprobs).any():
                raise _nan(self.folder, f"prompt {request.name}".replace("\0", " "))
            ids = np.array(written.token_ids, np.int32)
            results.append(ids[:-1] if len(ids) and ids[-1] in self.end_ids else ids)
        return results


def load_vllm(
    folder: str | Path,
    *,
    revision: str | None,
    dtype: str,
    device: str,
    start_of_text: str,
    gpus: int,
) -> VllmModel:
    """A model folder in an engine of vLLM; see `load_backend`."""
    if importlib.util.find_spec("vllm") is None:
        raise InvalidConfiguration(
            f"backend vllm for {folder}: vLLM is not installed in this environment; run from the "
            "one that `make .venv-vllm/run.stamp` makes (on a GPU: envs/requirements-vllm-gpu.txt)"
        )
    path = local_folder(folder, revision)
    require_weights(path)
    tokenizer = load_tokenizer(path)
    start = start_ids(tokenizer, start_of_text)
    try:
        whole = AutoConfig.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        config = whole.get_text_config()
    except Exception as error:  # whatever transformers makes of what stands in the folder
        raise InvalidModel(f"{path}: model cannot be loaded: {one_line(error)}") from error
    require_own(tokenizer, path, config, config.vocab_size)
    engine = _engine(path, dtype, device, gpus, config)
    ends = [id_ for id_ in _end_ids(path, tokenizer, start) if id_ < config.vocab_size]
    return VllmModel(path, engine, tokenizer, start, config.vocab_size, ends)


def _engine(path: Path, dtype: str, device: str, gpus: int, config: Any) -> Any:
    for name, value in (ENVIRONMENT | (ON_PROCESSOR if device == "cpu" else {})).items():
        os.environ.setdefault(name, value)
    from vllm import LLM
    from vllm.platforms import current_platform

    if current_platform.is_cpu() != (device == "cpu"):
        here = "a processor" if current_platform.is_cpu() else "GPUs"
        raise InvalidConfiguration(
            f"device {device!r} for {path}: the vLLM installed here runs on {here}; use another "
            "device, or the environment made for this one"
        )
    context = min(getattr(config, "max_position_embeddings", None) or LONGEST, LONGEST)
    try:
        return LLM(
            model=str(path),
            dtype=dtype,
            tensor_parallel_size=max(1, gpus),
            max_model_len=context,
            max_num_batched_tokens=BATCH_TOKENS,
            max_num_seqs=64 if device == "cpu" else 256,
            max_logprobs=config.vocab_size,
            enable_prefix_caching=False,  # it would give no log-probabilities of a cached prompt
            enforce_eager=device == "cpu",
            generation_config="vllm",
            # In a narrow dtype many logits tie; the output layer in float32 tells them apart.
            hf_overrides={} if dtype == "float32" else {"head_dtype": "float32"},
            seed=0,
        )
    except Exception as error:  # vLLM raises whatever its loaders and torch raise
        raise InvalidModel(f"{path}: vLLM cannot load it: {one_line(error)}") from error


def _end_ids(path: Path, tokenizer: Any, start: tuple[int, ...]) -> list[int]:
    """Tokens that end a text: the end-of-text tokens, and those that begin another."""
    named = None
    if (path / "generation_config.json").is_file():
        named = GenerationConfig.from_pretrained(path).eos_token_id
    listed = named if isinstance(named, list) else [named, tokenizer.eos_token_id]
    return sorted({*start, *(id_ for id_ in listed if id_ is not None)})


def _leading(inside: np.ndarray) -> int:
    """How many are true before the first that is not."""
    return len(inside) if inside.all() else int(np.argmin(inside))


def _likeliest(flat: Any, first: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities (n,) of the tokens, which come first, and (n, k) of the likeliest."""
    begin = flat.start_indices[first]
    each = np.array(flat.logprobs[begin : begin + n * (k + 1)]).reshape(n, k + 1)
    return each[:, 0], each[:, 1:]


def _under(
    policy: Policy, own: np.ndarray, rank: np.ndarray, likeliest: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Log-probability and log-mass of a policy with a top-k, (n,) each."""
    highest = likeliest[:, :1]
    falling = torch.from_numpy(likeliest[:, : policy.top_k] - highest)
    log_p, log_kept = kept(
        policy, torch.from_numpy(own - highest[:, 0]), torch.from_numpy(rank), falling
    )
    if policy.temperature != 1:
        return log_p.numpy(), np.full(len(own), np.nan)
    return log_p.numpy(), np.minimum(log_kept.numpy() + highest[:, 0], 0.0)


def _nan(folder: Path, where: str) -> InvalidModel:
    return InvalidModel(
        f"{folder}: logits are NaN in {where}; the weights are damaged, or the dtype is too narrow "
        "for this model"
    )


def seed_of(name: str) -> int:
    """The seed of a request, 63 bits of its name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little") >> 1
