"""A run that is killed again and again ends with the tables of one that was left in peace."""

import random
from collections import Counter

import pytest
from kills import MOMENT, VICTIMS, strike
from small_run import checkout

from memfoil import tables

pytestmark = pytest.mark.faults


def contents(made):
    """Digest of everything a run has made but figures and pages drawn from the tables."""
    results = made.folder / "results" / "small"
    return {
        str(path.relative_to(results)): tables.digest(path)
        for path in sorted(results.rglob("*"))
        if path.is_file() and path.suffix not in (".svg", ".html", ".jsonl")
    }


def killed_run(made, strikes, kills, draw):
    """A run that ends in spite of the kills that are still to be made; notes them in `strikes`."""
    while len(strikes) < kills:
        struck = strike(made, VICTIMS[len(strikes) % 3], draw.uniform(*MOMENT))
        if struck is None:
            return
        strikes.append(struck)
        print(
            f"{struck.moment:.1f} s, {struck.victim}, in {', '.join(struck.stages) or 'no stage'}"
        )
    done = made.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_killed_run_goes_on_and_ends_with_the_same_tables(
    finished, tmp_path, pytestconfig, tried
):
    kills, seed = pytestconfig.getoption("kills"), pytestconfig.getoption("kill_seed")
    draw, strikes, run = random.Random(seed), [], 0
    while len(strikes) < kills:
        before, run = len(strikes), run + 1
        folder = tmp_path / str(run)
        folder.mkdir()
        made = checkout(folder, pytestconfig.rootpath)
        killed_run(made, strikes, kills, draw)
        struck = Counter(each.victim for each in strikes[before:])
        orphans = Counter(each.victim for each in strikes[before:] if each.orphans)
        same = contents(made) == contents(finished)
        for victim, times in struck.items():
            with tried(f"{victim} killed", times):
                assert not orphans[victim]
                assert same, contents(made).items() ^ contents(finished).items()
