"""A run that was killed goes on where it stopped and ends with the same tables."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from tiny_models import CHAT, KNOWN, UNKNOWN, byte_level, sentence_piece, tiny_gpt2, tiny_llama

from memfoil.prompts import searches as module
from memfoil.prompts.frames import frame
from memfoil.prompts.journal import Journal, rests_on
from memfoil.prompts.searches import Searches, compress, find_prefixes
from memfoil.prompts.targets import target_ids
from memfoil.tables import (
    COMPRESSION,
    MULTI_PREFIX,
    PROMPT_LOSSES,
    PROMPT_RUNS,
    TARGETS,
    Provenance,
    read_share,
)
from memfoil.workflow import _imported_files


class Killed(BaseException):
    pass


def quietly(items, _):
    return iter(items)


def embed(texts):
    """Each text its own direction."""
    vectors = [np.random.default_rng(list(text.encode())).normal(size=50) for text in texts]
    return np.array([vector / np.linalg.norm(vector) for vector in vectors])


def targets_of(model, texts, originals=None) -> pd.DataFrame:
    around = frame(model, "plain")
    return pd.DataFrame(
        {
            "sequence_id": [f"t{i}" for i in range(len(texts))],
            "text": texts,
            "token_ids": [np.array(target_ids(around, text, "t")) for text in texts],
            "original": originals or [None] * len(texts),
        }
    )


@pytest.fixture(scope="module")
def known(knowing):
    return targets_of(knowing, [" " + KNOWN, " " + UNKNOWN])


def made(model, path, rest="same", kind="plain", **changes) -> Searches:
    options = {"top_k": 32, "width": 16, "seed": 1} | changes
    return Searches(model, kind, journal=Journal(path, rest), **options)


def both(targets, searches):
    compressed = compress(targets, searches, steps=3, longest=1.0, progress=quietly)
    prefixes = find_prefixes(
        targets, searches, embed, prompt_tokens=2, steps=3, min_distance=0.1, failures=2,
        progress=quietly,
    )  # fmt: skip
    return [*compressed, *prefixes]


@pytest.fixture(scope="module")
def whole(knowing, known, tmp_path_factory):
    """The tables of both searches of all targets, in their order."""
    return both(known, made(knowing, tmp_path_factory.mktemp("whole") / "journal"))


def test_tables_fit_and_what_they_count_agrees(whole, tmp_path):
    runs, losses, compression, p_runs, p_losses, prefixes = whole
    for table, frame_ in (
        (PROMPT_RUNS, runs), (PROMPT_LOSSES, losses), (COMPRESSION, compression),
        (PROMPT_RUNS, p_runs), (PROMPT_LOSSES, p_losses), (MULTI_PREFIX, prefixes),
    ):  # fmt: skip
        table.write(frame_, tmp_path / "table.parquet", Provenance("test"))
        assert len(table.read(tmp_path / "table.parquet")) == len(frame_) > 0
    found, unknown = compression.set_index("sequence_id").loc[["t0", "t1"]].itertuples()
    assert found.acr == found.target_tokens / found.prompt_tokens > 1
    assert unknown.acr == 0
    assert pd.isna(unknown.prompt_tokens)
    shortest = runs[(runs["sequence_id"] == "t0") & runs["generated"]]["prompt_tokens"].min()
    assert found.prompt_tokens == shortest
    counted = p_runs.groupby("sequence_id").agg(
        runs=("run", "size"), successes=("generated", "sum"), distinct=("distinct", "sum")
    )
    counted = counted.reindex(["t0", "t1"], fill_value=0)
    for name in counted:
        assert counted[name].tolist() == prefixes.set_index("sequence_id")[name].tolist()
    assert not prefixes["memorized"][1]
    steps = losses.groupby(["sequence_id", "run"])["step"].max()
    assert steps.tolist() == runs.set_index(["sequence_id", "run"])["steps"].sort_index().tolist()
    assert (losses["lowest"] <= losses["loss"]).all()


def test_every_prompt_generates_again_from_its_text_alone(knowing, known, whole):
    runs, *_ = whole
    around = frame(knowing, "plain")
    assert runs["generated"].any()
    for row in runs.itertuples():
        (read,) = around.read([row.prompt])
        assert read == [*knowing.start_of_text, *row.prompt_ids]
        target = known.set_index("sequence_id").loc[row.sequence_id, "text"]
        assert row.generated == row.generation.startswith(target)


@pytest.mark.slow
def test_a_killed_stage_goes_on_where_it_stopped_and_ends_with_the_same_tables(
    knowing, known, whole, tmp_path, monkeypatch
):
    search, done = module.gcg.search, []

    def dying(*args, **kwargs):
        if len(done) == 3:
            raise Killed
        done.append(search(*args, **kwargs))
        return done[-1]

    monkeypatch.setattr(module.gcg, "search", dying)
    with pytest.raises(Killed):
        both(known, made(knowing, tmp_path / "journal"))
    with (tmp_path / "journal").open("a") as file:
        file.write('["half a li')
    resumed: list[object] = []

    def counting(*args, **kwargs):
        resumed.append(None)
        return search(*args, **kwargs)

    monkeypatch.setattr(module.gcg, "search", counting)
    again = both(known, made(knowing, tmp_path / "journal"))
    for one, other in zip(whole, again, strict=True):
        pd.testing.assert_frame_equal(one, other)
    assert len(resumed) == len(whole[0]) + len(whole[3]) - 3


@pytest.mark.slow
@pytest.mark.parametrize("parts", [2, 3])
def test_the_parts_joined_are_the_tables_of_one_job(knowing, known, tmp_path, parts):
    """Also where there are more parts than targets."""
    tables = (
        PROMPT_RUNS, PROMPT_LOSSES, COMPRESSION, PROMPT_RUNS, PROMPT_LOSSES, MULTI_PREFIX,
    )  # fmt: skip
    TARGETS.write(
        known.assign(pool="p", role="control", part="whole"), tmp_path / "targets", Provenance("t")
    )

    def written(part, parts):
        own = read_share(TARGETS, tmp_path / "targets", (part, parts))
        found = both(own, made(knowing, tmp_path / f"journal {part} of {parts}"))
        paths = [tmp_path / f"{i}.{part} of {parts}" for i in range(len(tables))]
        for table, frame_, path in zip(tables, found, paths, strict=True):
            table.write(frame_, path, Provenance("t"))
        return paths

    pieces = zip(*(written(part, parts) for part in range(1, parts + 1)), strict=True)
    for table, whole, own in zip(tables, written(1, 1), pieces, strict=True):
        table.join(own, tmp_path / "joined", Provenance("t"))
        assert pq.read_table(tmp_path / "joined").equals(pq.read_table(whole))


def without_gaps(frame_: pd.DataFrame) -> list[dict]:
    """Rows with None for whatever kind of nothing a column has."""
    rows = frame_.astype(object).to_dict("records")
    return [
        {k: v if isinstance(v, list) or pd.notna(v) else None for k, v in r.items()} for r in rows
    ]


@pytest.mark.slow
def test_order_and_company_of_targets_change_nothing(knowing, known, whole, tmp_path):
    backward = both(known[::-1], made(knowing, tmp_path / "two"))
    alone = both(known.tail(1), made(knowing, tmp_path / "three"))
    for one, other, single in zip(whole, backward, alone, strict=True):
        key = [c for c in ("sequence_id", "procedure", "run", "step") if c in one]
        ordered = other.sort_values(key, ignore_index=True)
        pd.testing.assert_frame_equal(one.sort_values(key, ignore_index=True), ordered)
        kept = one[one["sequence_id"] == "t1"].reset_index(drop=True)
        assert without_gaps(kept) == without_gaps(single)


def test_a_journal_that_rests_on_something_else_is_begun_anew(tmp_path):
    first = Journal(tmp_path / "journal", {"seed": 1})
    first.put("a", [1, 2.5, None])
    assert Journal(tmp_path / "journal", {"seed": 1}).get("a") == [1, 2.5, None]
    assert Journal(tmp_path / "journal", {"seed": 2}).get("a") is None
    assert Journal(tmp_path / "journal", {"seed": 1}).get("a") is None


def test_what_a_journal_rests_on_leaves_out_the_list_of_targets_alone():
    made_of = Provenance("s", {"targets": "1", "model": "2"}, {"settings": 1}, "code")
    other = Provenance("s", {"other": "3", "model": "2"}, {"settings": 1}, "code")
    assert rests_on(made_of, apart_from="targets") == rests_on(other, apart_from="other")
    assert "2" in json.dumps(rests_on(made_of, apart_from="targets"))


def test_paraphrases_tell_whether_the_original_was_written(knowing, tmp_path):
    paraphrase = " " + KNOWN.replace("strained", "drained")
    targets = targets_of(knowing, [paraphrase], [" " + KNOWN])
    runs, _, _ = compress(
        targets, made(knowing, tmp_path / "j"), steps=3, longest=1.0, progress=quietly
    )
    assert not runs["generated"].any()
    assert runs["original_generated"].any()
    for row in runs.itertuples():
        assert row.original_generated == row.generation.startswith(" " + KNOWN)


def test_a_draft_model_with_another_tokenizer_and_a_chat_frame_search_too(tmp_path):
    model = tiny_llama(byte_level(CHAT))
    draft = tiny_gpt2(sentence_piece(CHAT))
    targets = targets_of(model, [UNKNOWN])
    runs, losses, _ = compress(
        targets,
        made(model, tmp_path / "j", kind="chat", draft=draft),
        steps=4,
        longest=0.1,
        progress=quietly,
    )
    assert len(runs) == 1
    assert losses["lowest"].iloc[-1] < losses["lowest"].iloc[0]


@pytest.mark.parametrize("script", ["compression.py", "multi_prefix.py", "parrots.py", "train.py"])
def test_a_change_of_calibration_or_figures_makes_no_search_again(script, pytestconfig):
    waiting, seen = [pytestconfig.rootpath / "workflow" / "scripts" / script], set()
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            waiting += _imported_files(path)
    names = {path.stem for path in seen}
    assert "calibration" not in names
    assert "criteria" not in names
    assert ("gcg" in names) == (script in ("compression.py", "multi_prefix.py"))
