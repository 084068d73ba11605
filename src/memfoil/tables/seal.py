"""A digest of a whole Parquet file inside itself, so that one flipped bit anywhere is found.

The seal is the SHA-256 of the file's bytes with zeros in place of the seal; it stands in the
Parquet metadata. A table that no other table reads needs it: nobody else keeps its digest.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

SEAL = "memfoil.seal"
UNSEALED = "0" * 64
_FIELD = re.compile(SEAL.encode() + rb"\x18\x40([0-9a-f]{64})")  # a Thrift string of 64 bytes
_CHUNK = 1 << 22


def seal(path: Path) -> None:
    """Write the seal into a Parquet file whose metadata has `UNSEALED` under `SEAL`."""
    start, _ = _place(path)
    value = _digest(path, start)
    with path.open("rb+") as file:
        file.seek(start)
        file.write(value.encode())


def is_sound(path: Path) -> bool:
    """Whether a Parquet file is sealed and holds exactly the bytes that were sealed.

    Raises
    ------
    ValueError
        If it has no seal, or is cut short.
    """
    start, value = _place(path)
    return _digest(path, start) == value


def _place(path: Path) -> tuple[int, str]:
    """Where in the file the seal stands, and the seal."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - 8))
        end = file.read(8)
        footer = int.from_bytes(end[:4], "little") + 8
        if end[4:] != b"PAR1" or footer > size:
            raise ValueError("cut short or damaged at its end")
        file.seek(size - footer)
        found = list(_FIELD.finditer(file.read(footer)))
    if not found:
        raise ValueError("has no seal: memfoil did not write it, or its end is damaged")
    return size - footer + found[-1].start(1), found[-1].group(1).decode()


def _digest(path: Path, start: int) -> str:
    result = hashlib.sha256()
    with path.open("rb") as file:
        left = start
        while left and (chunk := file.read(min(left, _CHUNK))):
            result.update(chunk)
            left -= len(chunk)
        result.update(UNSEALED.encode())
        file.seek(start + len(UNSEALED))
        while chunk := file.read(_CHUNK):
            result.update(chunk)
    return result.hexdigest()
