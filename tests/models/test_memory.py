import platform
import resource

import pytest
import torch

from memfoil.models import fast_cpu_memory


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's settings")
def test_large_tensors_come_from_warm_memory():
    """A tensor mapped afresh costs a page fault for each of its pages, small or huge."""
    assert fast_cpu_memory()
    rounds, megabytes = 20, 64
    faults = [_faults(megabytes) for _ in range(rounds)]
    assert sum(faults[rounds // 2 :]) < rounds // 2 * megabytes // 2 / 10  # huge pages: 2 MB each


def _faults(megabytes):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(megabytes, 2**18)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
