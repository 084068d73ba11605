"""Where a model's files are."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from memfoil.errors import InvalidModel
from memfoil.tables import OUTSIDE

FILES = ["*.json", "*.safetensors", "*.model", "merges.txt"]
TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "merges.txt")


def local_folder(folder: str | Path, revision: str | None) -> Path:
    """The folder itself, or with a revision the downloaded snapshot of a model on the hub.

    Raises
    ------
    InvalidModel
        If there is no such folder, or the hub has no such model or revision, does not hand it
        out, or cannot be reached.
    """
    if revision is None:
        if not Path(folder).is_dir():
            raise InvalidModel(
                f"{folder}: no such folder; a model on the hub needs a revision beside its name"
            )
        return Path(folder)
    try:
        found = Path(snapshot_download(str(folder), revision=revision, allow_patterns=FILES))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise InvalidModel(f"{folder} at revision {revision}: {_remedy(folder, error)}") from error
    if not re.fullmatch("[0-9a-f]{40}", revision):
        warnings.warn(
            f"{folder}: revision {revision} is no commit and may move; it is {found.name} now: put "
            "that in its place",
            stacklevel=2,
        )
    return found


def hub_input(source: str, revision: str | None, folder: Path) -> dict[str, str]:
    """How provenance names a model of the hub among the inputs: by the commit it resolved to.

    Parameters
    ----------
    folder : path
        Where the model was loaded from; the hub's cache names snapshots by their commit.

    Returns
    -------
    dict
        Empty without a revision: the digest of a folder is among the inputs already.
    """
    return {f"{OUTSIDE}{folder.name[:8]}:{source}": folder.name} if revision else {}


def _remedy(folder: str | Path, error: Exception) -> str:
    """What a user can do about a model that the hub does not hand out."""
    if isinstance(error, GatedRepoError):
        return (
            f"the model is gated; accept its licence at https://huggingface.co/{folder}, then log "
            "in with `hf auth login` or set HF_TOKEN"
        )
    if isinstance(error, RevisionNotFoundError):
        return "the hub has no such revision; take one of those it lists for the model"
    if isinstance(error, RepositoryNotFoundError):
        return "the hub has no such model, or not for you; check the name, and HF_TOKEN"
    return f"not in the local cache, and not to be had from the hub: {one_line(error)}"


def require_tokenizer(folder: Path) -> None:
    """Refuse a folder without tokenizer files: transformers would make up an empty tokenizer."""
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        raise InvalidModel(
            f"{folder}: no tokenizer in this folder (none of {', '.join(TOKENIZER_FILES)}); "
            "save the model's own tokenizer beside it"
        )


def require_weights(folder: Path) -> None:
    """Refuse a folder without a configuration or without weights in safetensors."""
    if not (folder / "config.json").is_file():
        raise InvalidModel(f"{folder}: no config.json; this is not a model folder of transformers")
    if not any(folder.glob("*.safetensors")):
        if any(folder.rglob("*.incomplete")):
            raise InvalidModel(f"{folder}: its download has not ended; fetch the model again")
        raise InvalidModel(
            f"{folder}: no weights in safetensors; convert them (pickled weights are not loaded)"
        )


def one_line(error: BaseException) -> str:
    """What an error says, white space collapsed, cut at 200 characters."""
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else text[:200] + "..."
