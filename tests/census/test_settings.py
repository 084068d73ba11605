"""What the configuration says about a census: refused where it cannot be, else worked out."""

import copy
import datetime
from pathlib import Path

import pytest
import yaml

from memfoil.census import settings
from memfoil.errors import InvalidConfiguration

ROOT = Path(__file__).parents[2]
CONFIG = yaml.safe_load((ROOT / "config/config.yaml").read_text())


def changed(path, value):
    config = copy.deepcopy(CONFIG)
    *parents, last = path.split("/")
    place = config
    for key in parents:
        place = place[key]
    place[last] = value
    return config


def test_the_default_configuration_is_fine():
    settings.check(CONFIG)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("census/stride", {"unit": "tokens", "step": 51, "slice": 800}, "51 tokens are more than"),
        ("census/procedures", ["base", "top-3"], "top-3 needs 3 in scoring/top_k"),
        ("census/near_verbatim/decoding", "top-7", "top-7 is not in census/procedures"),
        ("census/near_verbatim/epsilon", 51, "too few for census/near_verbatim/epsilon"),
        ("decontamination/max_distance", 50, "too few for decontamination/max_distance"),
        ("decontamination/ngram_tokens", 51, "too few for decontamination/ngram_tokens"),
        (
            "census/controls/references",
            [{"name": "a", "texts": "x"}, {"name": "a", "index": "y"}],
            "census/controls/references: a occurs more than once",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused_by_its_key(path, value, message):
    with pytest.raises(InvalidConfiguration, match=message):
        settings.check(changed(path, value))


def test_characters_between_suffixes_are_no_matter_of_a_stride_in_characters():
    settings.check(changed("census/stride", {"unit": "characters", "step": 900, "slice": 800}))


def test_the_testbed_has_read_nothing_from_its_cutoff_on_and_keeps_documents_out():
    entries = {
        "testbed": {"source": "testbed"},
        "llama": {"source": "x/y", "cutoff": datetime.date(2023, 12, 31)},
        "unknown": {"source": "x/z"},
    }
    day = datetime.date.fromisoformat(str(CONFIG["testbed"]["cutoff"]))
    assert settings.cutoffs(CONFIG, entries) == {
        "testbed": day - datetime.timedelta(days=1),
        "llama": datetime.date(2023, 12, 31),
        "unknown": None,
    }
    kept = settings.kept_out(CONFIG, entries)
    assert kept == {"testbed": ["1907-Roosevelt-1", "1912-Taft-1"]}
    without = changed("testbed", None)
    assert settings.kept_out(without, entries) == {}
    assert settings.cutoffs(without, {"llama": entries["llama"]})["llama"].year == 2023
