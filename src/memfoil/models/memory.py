"""Memory that the C library keeps for the next tensor instead of handing it back each time."""

from __future__ import annotations

import ctypes
import os
import platform

# Numbers of parameters of mallopt(3), from malloc.h.
M_TRIM_THRESHOLD = -1
M_TOP_PAD = -2
M_MMAP_MAX = -4
LARGEST_INT = 2**31 - 1
TOP_PAD_BYTES = 256 * 2**20


def fast_cpu_memory() -> bool:
    """Make torch's tensors on a CPU reuse warm memory; for the life of this process.

    By default glibc maps each large tensor afresh and unmaps it when freed, so every operation
    pays for page faults. Afterwards freed memory stays with the process, and torch asks for huge
    pages. Call it before the first tensor is made. Once is enough, more does no harm; where the
    C library is not glibc nothing is changed.

    Returns
    -------
    bool
        Whether the C library took the settings.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = (
        (M_MMAP_MAX, 0),
        (M_TRIM_THRESHOLD, LARGEST_INT),
        (M_TOP_PAD, TOP_PAD_BYTES),
    )
    taken = [mallopt(parameter, value) for parameter, value in settings]
    return all(taken)
