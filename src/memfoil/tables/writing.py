"""Writing under a temporary name, so that a name never stands for half a file."""

from __future__ import annotations

import glob
import os
import shutil
from pathlib import Path

from memfoil.errors import InvalidConfiguration


class atomic:  # noqa: N801 - used as `with atomic(path) as temporary`
    """A temporary path beside `path` that takes its name when the block ends without an error.

    Whatever happens inside, `path` is either its old self or complete; of two processes that write
    it at once, the last to end has it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __enter__(self) -> Path:
        require_file_place(self.path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.temporary = beside(self.path)
        return self.temporary

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if isinstance(error, OSError) and error.errno and error.filename is None:
                raise OSError(error.errno, error.strerror, str(self.path)) from error
            if error is None:
                with self.temporary.open("rb+") as file:
                    os.fsync(file.fileno())
                self.temporary.replace(self.path)
        finally:
            self.temporary.unlink(missing_ok=True)


def beside(path: Path) -> Path:
    """A hidden name beside `path` for this process alone.

    What processes that were killed left under such names, files or folders, is removed.
    """
    start, end = f".{path.name}.", ".partial"
    for left in path.parent.glob(f"{glob.escape(start)}*{end}"):
        process = left.name[len(start) : -len(end)]
        if not process.isdecimal() or _another_runs(int(process)):
            continue
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
    return path.with_name(f"{start}{os.getpid()}{end}")


def _another_runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return process != os.getpid()


def require_file_place(path: Path) -> None:
    """Refuse a path at which no file can be written.

    Raises
    ------
    InvalidConfiguration
        If it is a folder's, or `require_place` refuses it.
    """
    if not path.name or path.is_dir():
        raise InvalidConfiguration(f"{path}: a folder stands there; name a file in it")
    require_place(path)


def require_place(path: Path) -> None:
    """Refuse a path under which nothing can be made.

    Raises
    ------
    InvalidConfiguration
        If a part of it is a file, or the folder it would lie in takes no files.
    """
    place = next(parent for parent in path.absolute().parents if parent.exists())
    if not place.is_dir():
        raise InvalidConfiguration(f"{path}: {place} is a file, no folder; choose another place")
    if not os.access(place, os.W_OK | os.X_OK):
        raise InvalidConfiguration(
            f"{path}: the folder {place} takes no files: it is read-only, or another user's; "
            "choose another place"
        )
