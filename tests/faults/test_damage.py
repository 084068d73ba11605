"""Tables and indexes that are cut short or have a bit changed: found and named."""

import random

import pytest

from memfoil import tables
from memfoil.errors import InvalidIndex, InvalidTable
from memfoil.index import verify

pytestmark = pytest.mark.faults
SCORES = "results/small/scores/testbed.parquet"
INDEX = "results/small/index/testbed"


def flip(path, bit):
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


@pytest.fixture
def copy(finished, tmp_path):
    return finished.copy(tmp_path / "copy")


def test_a_table_cut_short_is_named(finished, tmp_path, tried):
    whole, cut = (finished.folder / SCORES).read_bytes(), tmp_path / "cut.parquet"
    for length in random.Random(1).sample(range(len(whole)), 30):
        cut.write_bytes(whole[:length])
        with tried("table cut short"), pytest.raises(InvalidTable, match=r"cut\.parquet: not a"):
            tables.SCORES.read(cut)


def test_no_changed_bit_of_a_table_changes_a_value_unnoticed(finished, tmp_path, tried):
    """What changes no value (a statistic in the footer) may pass: the digest tells."""
    whole, changed = (finished.folder / SCORES).read_bytes(), tmp_path / "changed.parquet"
    values, named = tables.SCORES.read(finished.folder / SCORES), 0
    for bit in random.Random(1).sample(range(8 * len(whole)), 100):
        changed.write_bytes(whole)
        flip(changed, bit)
        with tried("bit flipped in a table"):
            assert tables.digest(changed) != tables.digest(finished.folder / SCORES)
            try:
                assert tables.SCORES.read(changed).equals(values)
            except InvalidTable:
                named += 1
    assert named > 50


def test_a_changed_bit_of_an_index_is_named(finished, copy, tried):
    bits = random.Random(1)
    for path in sorted((copy.folder / INDEX).glob("*.0")):
        whole = path.read_bytes()
        for _ in range(5):
            flip(path, bits.randrange(8 * len(whole)))
            with tried("bit flipped in an index"), pytest.raises(InvalidIndex, match=path.name):
                verify(copy.folder / INDEX)
            path.write_bytes(whole)
