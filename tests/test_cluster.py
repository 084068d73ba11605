"""Requests against what Slurm says it has."""

import math

import pytest

from memfoil.cluster import Nodes, Request, parse, refuse_unmet
from memfoil.errors import InvalidConfiguration

LISTING = """\
debug*|21000|2|gpu:1|infinite
gpu|515000+|64|gpu:a100:4(S:0-1),gpu:h100:2,shard:8|2-12:30:00
short|8000|4+|(null)|45:30
"""


def test_memory_cores_gpus_and_limits_are_read():
    assert parse(LISTING) == (
        Nodes("debug", True, 21000, 2, 1, math.inf),
        Nodes("gpu", False, 515000, 64, 6, 2 * 1440 + 12 * 60 + 30),
        Nodes("short", False, 8000, 4, 0, 45.5),
    )


def asked(**changes):
    fitting = {"rule": "score", "partition": None, "mem_mb": 21000, "cores": 2, "gpus": 1}
    return Request(**fitting | {"minutes": 10_000} | changes)


def test_a_request_that_a_node_meets_is_let_through():
    refuse_unmet([asked(), asked(partition="gpu", gpus=6, minutes=60)], parse(LISTING))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"mem_mb": 21001},
            "rule score: asks the default partition for 21001 MB.*at most 21000 MB",
        ),
        ({"cores": 3}, "3 cores"),
        ({"gpus": 2}, "2 GPUs"),
        ({"partition": "short", "mem_mb": 1, "gpus": 0, "minutes": 46}, "at most .*46 minutes"),
        ({"partition": "long"}, "partition long is not there .sinfo lists debug, gpu, short"),
    ],
)
def test_what_no_node_meets_is_refused_by_one_line(changes, message):
    with pytest.raises(InvalidConfiguration, match=message) as caught:
        refuse_unmet([asked(**changes)], parse(LISTING))
    assert "\n" not in str(caught.value)
