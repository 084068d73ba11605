"""The export of a finished run: all of its results are computed again, and it tells no secret."""

import contextlib
import functools
import getpass
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memfoil import tables
from memfoil.audit.again import AGAIN
from memfoil.audit.bare import AsMade
from memfoil.audit.export import export
from memfoil.audit.jobs import jobs_of
from memfoil.audit.verify import _computed, verify
from memfoil.tables import provenance_of, table_of

pytestmark = pytest.mark.workflow

RUN = "results/small"


@pytest.fixture(scope="module")
def exported(finished, tmp_path_factory):
    """The archive of the small run, and what it holds."""
    folder = tmp_path_factory.mktemp("export")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(finished.folder)
        export(RUN, folder / "run.zip")
    with zipfile.ZipFile(folder / "run.zip") as file:
        file.extractall(folder / "open")
    return folder / "run.zip", folder / "open"


def names_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet"))


def problems_of(folder, wanted):
    """What does not match when the jobs that read or wrote a table are made again."""
    return [
        problem
        for job in jobs_of(folder, names_in(folder))
        if wanted in (*job.inputs, *job.outputs)
        for _, problem in _computed(job)
        if problem
    ]


class Forged:
    """A table in which something is changed, with a seal that fits, until the block ends."""

    def __init__(self, path, change):
        self.path, self.change = path, change

    def __enter__(self):
        self.whole = self.path.read_bytes()
        table, origin = table_of(self.path), provenance_of(self.path)
        frame = table.read(self.path)
        table.write(self.change(frame), self.path, AsMade(origin["stage"], content=origin))

    def __exit__(self, *_):
        self.path.write_bytes(self.whole)


def test_everything_is_computed_again(exported):
    archive, folder = exported
    found = verify(archive)
    assert found.problems == []
    results = {
        name
        for name in names_in(folder)
        if provenance_of(folder / name)["stage"] in AGAIN
        and not name.endswith(("_runs.parquet", "_losses.parquet", "controls.parquet"))
    }
    assert set(found.checked) == results
    made = {provenance_of(folder / name)["stage"] for name in found.checked}
    assert made == set(AGAIN) - {"paired", "propensity_models"}  # there is one model
    assert set(found.checked) | set(found.by_digest) == set(names_in(folder))


@pytest.mark.parametrize("seed", [1, 2])
def test_one_changed_number_in_any_result_is_named(exported, seed):
    """Of the results of each job one number each, which the others do not hide."""
    archive, folder = exported
    random = np.random.default_rng(seed)
    checked = set(verify(archive).checked)
    for job in jobs_of(folder, names_in(folder)):
        own = sorted(checked & set(job.outputs))
        with contextlib.ExitStack() as stack:
            for name in own:
                forge = functools.partial(change_one, table_of(folder / name), random)
                stack.enter_context(Forged(folder / name, forge))
            said = [problem.split(": ")[0] for _, problem in _computed(job) if problem]
        assert sorted(said) == own


def change_one(table, random, frame):
    """A frame with one number or flag that is no key changed; without any, it lacks a row."""
    columns = [
        column.name
        for column in table.columns
        if pa.types.is_primitive(column.type)
        and not pa.types.is_date(column.type)
        and column.name not in table.key
        and frame[column.name].notna().any()
    ]
    if not columns:
        return frame.iloc[1:]
    name = random.choice(columns)
    row = random.choice(np.flatnonzero(frame[name].notna()))
    value = frame.loc[row, name]
    if isinstance(value, bool | np.bool_):
        frame.loc[row, name] = not value
    elif not np.isfinite(value):
        frame.loc[row, name] = -1.0
    else:
        whole = float(value).is_integer()
        frame.loc[row, name] = value - (1 if whole else max(abs(value), 1) / 1000)
    return frame


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("token_scores/testbed", "log_probability", -0.5),
        ("sequences/testbed", "role", "control"),
        ("census/scores/testbed/bush", "log_score", -0.5),
        ("census/near_verbatim/testbed/bush", "log_mass", 0.0),
        ("census/beam_searches/testbed/bush", "pool_distance", 0),
        ("census/testbed/controls", "member", False),
        ("census/texts", "text", " "),
        ("testbed/splits", "repetitions", 3),
        ("propensity/testbed/training/reproduction", "longest_unlooped", 99),
        ("propensity/testbed/training/reproduction", "code_like", True),
        ("propensity/testbed/foil/reproduction", "longest_unlooped", 99),
        ("propensity/testbed/generations", "setting", "prefix"),
        ("propensity/prompts/testbed", "similarity", 0.5),
        ("prompts/small/testbed/plain/compression_runs", "generated", True),
        ("prompts/small/testbed/plain/multi_prefix_runs", "distinct", True),
        ("prompts/small/testbed/plain/multi_prefix", "eta", 0.9),
        ("prompts/small/targets/testbed", "role", "candidate"),
    ],
)
def test_what_results_rest_on_cannot_be_changed_without_them(exported, name, column, value):
    _, folder = exported

    path = f"{RUN}/{name}.parquet"
    with Forged(folder / path, lambda frame: frame.assign(**{column: value})):
        assert problems_of(folder, path)


def test_no_text_no_place_and_no_user_is_told(exported, finished):
    archive, folder = exported
    passages = tables.PASSAGES.read(finished.folder / RUN / "passages.parquet")
    texts = [text[:40] for text in passages["text"]]
    pattern = re.compile(r"(?<![\w.<:/*])/(?:tmp|root|home|usr|work|opt|var|mnt|Users)\b")
    secrets = [str(finished.folder), str(Path.home()) + "/", f"/{getpass.getuser()}/"]
    for path in filter(Path.is_file, folder.rglob("*")):
        shown = path.read_bytes().decode(errors="replace")
        if path.suffix == ".parquet":
            frame = pd.read_parquet(path)
            columns = frame.select_dtypes(["object", "string"])
            shown = str(pq.read_schema(path).metadata)
            shown += "\n".join(str(v) for c in columns for v in frame[c].map(str).unique())
        assert not pattern.search(shown), (path, pattern.search(shown))
        assert not [secret for secret in secrets if secret in shown], path
        assert not [text for text in texts[::100] if text in shown], path
    assert archive.read_bytes() == again(finished, archive)


def again(finished, archive):
    """The bytes of a second export."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(finished.folder)
        export(RUN, archive.with_name("again.zip"))
    return archive.with_name("again.zip").read_bytes()
