"""A policy has one name, and a name stands for one policy."""

import pytest

from memfoil.errors import InvalidConfiguration
from memfoil.policies import Policy, column_of, policy_of


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("temperature-0.7", Policy(0.7, 1.0, None)),
        ("temperature-2", Policy(2.0, 1.0, None)),
        ("top-40", Policy(1.0, 1.0, 40)),
        ("top-p-0.95", Policy(1.0, 0.95, None)),
        ("top-40+top-p-0.95", Policy(1.0, 0.95, 40)),
        ("temperature-1.25+top-p-0.5", Policy(1.25, 0.5, None)),
        ("temperature-10+top-8+top-p-0.05", Policy(10.0, 0.05, 8)),
    ],
)
def test_a_name_is_read(name, policy):
    assert policy_of(name) == policy


@pytest.mark.parametrize(
    "name",
    ["", "+", "base", "temperature-0", "temperature-0.70", "temperature--1", "top-0", "top-p-1",
     "top-p-0", "top-p-0.9+top-40", "top-40+temperature-0.7", "top-40+", "+top-40",
     "temperature-0.7top-40", "temperature-0.7+top-40+top-p-0.9+top-p-0.9", "top-40 "],
)  # fmt: skip
def test_what_is_no_name_is_refused_with_an_example(name):
    with pytest.raises(InvalidConfiguration, match=r"is unknown.*temperature-0\.7\+top-40"):
        policy_of(name)


def test_columns_are_named_in_snake_case():
    assert column_of("temperature-0.7+top-40+top-p-0.95") == "temperature_0.7_top_40_top_p_0.95"
