"""Settings that do not fit the rest of the configuration."""

import copy
from pathlib import Path

import pytest
import yaml

from memfoil.errors import InvalidConfiguration
from memfoil.propensity.settings import check

CONFIG = yaml.safe_load((Path(__file__).parents[2] / "config/config.yaml").read_text())


def changed(**changes):
    config = copy.deepcopy(CONFIG)
    config["propensity"] |= changes
    return config


def test_the_default_run_and_a_danish_one_fit():
    check(CONFIG)
    check(changed(language="da", generic="dan_sentences.tsv"))
    check(changed(index="i", index_tokenizer={"folder": "t"}, foil="f"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"specific": ["planted"]}, "planted is no pool of controls; .* held-out, post-cutoff"),
        ({"specific": ["nowhere"]}, "propensity/specific: nowhere is no pool of controls"),
        ({"language": "da"}, "propensity/generic: .* English, the language is da"),
        ({"document_tokens": 99}, "propensity/document_tokens: 99 .* prefix of 50 tokens"),
        ({"index": "i"}, "propensity/index_tokenizer: .* tokenizer of i"),
        ({"index": "i", "index_tokenizer": {"folder": "t"}}, "propensity/foil: name an index"),
    ],
)
def test_what_does_not_fit_is_one_line(changes, said):
    with pytest.raises(InvalidConfiguration, match=said) as caught:
        check(changed(**changes))
    assert "\n" not in str(caught.value)
