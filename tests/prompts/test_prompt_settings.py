"""Prompt searches that would compare nothing are refused; what an extent takes."""

import copy
from pathlib import Path

import pytest
import yaml

from memfoil.errors import InvalidConfiguration
from memfoil.prompts import settings

CONFIG = yaml.safe_load((Path(__file__).parents[2] / "config/config.yaml").read_text())
CANDIDATE = {"name": "a", "role": "candidate", "pool": "planted", "tokens": 8, "default_run": 1}
CONTROL = {"name": "b", "role": "control", "pool": "held-out", "tokens": 8, "default_run": 1}
RANDOM = {"name": "c", "role": "control", "random": 2, "tokens": [5, 9]}
SEARCH = {"model": "testbed", "frame": "plain", "procedures": ["parrots"], "default_run": True}


def changed(**changes):
    config = copy.deepcopy(CONFIG)
    config["prompts"] |= changes
    return config


def test_the_default_run_fits():
    settings.check(CONFIG)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sets": [CANDIDATE, CONTROL, CONTROL]}, "prompts/sets: b occurs more than once"),
        (
            {"sets": [CANDIDATE, CONTROL | {"pool": "nowhere"}]},
            "prompts/sets: b: pool nowhere is not among the pools; there are held-out, planted",
        ),
        ({"sets": [CONTROL, RANDOM]}, "prompts/sets: no candidate set; "),
        ({"sets": [CANDIDATE]}, "prompts/sets: no control set; "),
        (
            {"sets": [CANDIDATE, RANDOM], "searches": [SEARCH]},
            "prompts/sets: no control set in the default run; ",
        ),
        (
            {"searches": [SEARCH, SEARCH | {"procedures": ["compression"]}]},
            "prompts/searches: testbed, plain occurs more than once",
        ),
    ],
)
def test_what_compares_nothing_is_one_line(changes, said):
    with pytest.raises(InvalidConfiguration, match=said) as caught:
        settings.check(changed(**changes))
    assert "\n" not in str(caught.value)


def test_repetitions_are_known_only_with_a_testbed():
    config = changed(sets=[CANDIDATE | {"repetitions": 16}, CONTROL]) | {"testbed": None}
    with pytest.raises(InvalidConfiguration, match="a: repetitions are known only with a testbed"):
        settings.check(config)


def test_the_default_run_takes_what_is_marked_for_it():
    config = changed(
        sets=[CANDIDATE, RANDOM],
        searches=[SEARCH, SEARCH | {"frame": "chat", "default_run": False}],
    )
    assert [search["frame"] for search in settings.searches(config, "small")] == ["plain"]
    assert [search["frame"] for search in settings.searches(config, "full")] == ["plain", "chat"]
    (small,) = settings.target_sets(config, "small")
    assert (small["name"], small["sequences"]) == ("a", 1)
    assert [each.get("sequences") for each in settings.target_sets(config, "full")] == [None, None]
    assert settings.procedures(config, "testbed", "chat") == ["parrots"]
