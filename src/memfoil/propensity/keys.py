"""Random numbers that a name decides, and nothing else."""

from __future__ import annotations

import hashlib


def number(name: str) -> int:
    """A whole number below 2^64, the same for the same name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
