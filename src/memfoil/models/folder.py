"""Where a model's files are."""

from __future__ import annotations

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

FILES = ["*.json", "*.safetensors", "*.model", "merges.txt"]
TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "merges.txt")


def local_folder(folder: str | Path, revision: str | None) -> Path:
    """The folder itself, or with a revision the downloaded snapshot of a model on the hub.

    Raises
    ------
    InvalidModel
        If there is no such folder, or the hub has no such model or cannot be reached.
    """
    if revision is None:
        if not Path(folder).is_dir():
            raise InvalidModel(
                f"{folder}: no such folder; a model on the hub needs a revision beside its name"
            )
        return Path(folder)
    try:
        return Path(snapshot_download(str(folder), revision=revision, allow_patterns=FILES))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise InvalidModel(
            f"{folder} at revision {revision}: not in the local cache, and not to be had from "
            f"the hub: {_what_to_do(error)}: {one_line(error)}"
        ) from error


def _what_to_do(error: Exception) -> str:
    """What stands between a person and a model on the hub, and the way around it."""
    kinds = {type(error), type(error.__cause__)}  # a look into the cache may have come after
    if GatedRepoError in kinds:
        return "it is gated; accept its licence on its page, then log in with hf auth login"
    if RevisionNotFoundError in kinds:
        return "it has no such revision; take a commit from its page"
    if RepositoryNotFoundError in kinds:
        return "there is none of that name, or it is private; check the name, or hf auth login"
    return "without a connection, fetch it elsewhere and bring the cache, or name a folder"


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
        raise InvalidModel(
            f"{folder}: no weights in safetensors; convert them (pickled weights are not loaded)"
        )


def one_line(error: BaseException) -> str:
    """What an error says, white space collapsed, cut at 200 characters."""
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else text[:200] + "..."
