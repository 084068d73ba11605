"""Scores of windows on a real model folder: prefixes, shards, searches."""

import numpy as np
import pandas as pd
import pytest
import torch
from small_models import TEXT, small_network, small_tokenizer

from memfoil.census import scores as census_scores
from memfoil.census import searches
from memfoil.census.windows import windows
from memfoil.errors import InvalidConfiguration
from memfoil.models import load
from memfoil.tables import (
    BEAM_SEARCHES,
    CENSUS_SCORES,
    CENSUS_WINDOWS,
    NEAR_VERBATIM,
    Provenance,
)

PREFIX, SUFFIX = 12, 6
SEARCH = searches.Search(epsilon=2, width=3, decoding="base", distance="levenshtein")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    tokenizer = small_tokenizer("<s> $A")
    small_network("llama", len(tokenizer), peak=8.0).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return load(folder, dtype="float64")


@pytest.fixture(scope="module")
def table(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("windows") / "windows.parquet"
    cuts = {
        "prefix_tokens": PREFIX,
        "suffix_tokens": SUFFIX,
        "stride": {"unit": "tokens", "step": 3},
    }
    parts = [windows(name, "".join(TEXT), model.tokenizer, **cuts)[0] for name in ("d", "c")]
    CENSUS_WINDOWS.write(pd.concat(parts), path, Provenance("windows"))
    return path


def progress(items, label, total=None):
    return iter(items)


def scored(model, table, path, prefix_tokens=(PREFIX, 4)):
    census_scores.score_windows(
        model,
        table,
        path,
        prefix_tokens=prefix_tokens,
        procedures=["base", "greedy", "top-3"],
        top_k=[3],
        provenance=Provenance("score"),
        progress=progress,
    )
    return CENSUS_SCORES.read(path)


@torch.inference_mode()
def log_p(model, ids, prefix):
    """The suffix of one window, given so many tokens before it, by one plain pass."""
    given = ids[PREFIX - prefix :]
    logits = model.network(torch.tensor([[*model.start_of_text, *given]])).logits[0]
    steps = logits[-SUFFIX - 1 : -1].log_softmax(-1)
    return float(steps.gather(1, torch.tensor(ids[-SUFFIX:])[:, None]).sum())


def test_every_window_has_the_probability_of_its_suffix_after_each_prefix(model, table, tmp_path):
    found = scored(model, table, tmp_path / "s.parquet").set_index(
        ["window_id", "prefix_tokens", "procedure"]
    )["log_score"]
    frame = CENSUS_WINDOWS.read(table)
    assert len(found) == len(frame) * 2 * 3
    for row in frame.iloc[::5].itertuples():
        for prefix in (PREFIX, 4):
            truth = log_p(model, row.token_ids.tolist(), prefix)
            assert found[row.window_id, prefix, "base"] == pytest.approx(truth, rel=1e-9)


def test_shards_do_not_change_a_score(model, table, tmp_path, monkeypatch):
    whole = scored(model, table, tmp_path / "whole.parquet")
    monkeypatch.setattr(census_scores, "SHARD", 7)
    parts = scored(model, table, tmp_path / "parts.parquet")
    key = ["window_id", "prefix_tokens", "procedure"]
    pd.testing.assert_frame_equal(
        parts.sort_values(key, ignore_index=True), whole.sort_values(key, ignore_index=True)
    )


def test_a_prefix_longer_than_the_windows_is_refused(model, table, tmp_path):
    with pytest.raises(InvalidConfiguration, match="13 is more than the 12"):
        scored(model, table, tmp_path / "s.parquet", prefix_tokens=[13])


def test_the_most_probable_windows_of_each_document_are_searched(model, table, tmp_path):
    scores, frame = scored(model, table, tmp_path / "s.parquet"), CENSUS_WINDOWS.read(table)
    chosen = searches.most_probable(frame, scores, decoding="base", prefix_tokens=4, most=5)
    own = scores[(scores["procedure"] == "base") & (scores["prefix_tokens"] == 4)]
    merged = frame.merge(own, on="window_id")
    for name, rows in merged.groupby("document_id"):
        picked = rows["window_id"].isin(chosen["window_id"])
        assert picked.sum() == 5, name
        assert rows.loc[picked, "log_score"].min() >= rows.loc[~picked, "log_score"].max()
    with pytest.raises(InvalidConfiguration, match="top-9 at 4 prefix tokens was not scored"):
        searches.most_probable(frame, scores, decoding="top-9", prefix_tokens=4, most=5)


@pytest.mark.parametrize("memory", [1000, 3])
def test_searches_bound_the_scores_whatever_memory_holds(
    model, table, tmp_path, monkeypatch, memory
):
    """A batch that memory does not hold is cut in two, down to a window."""
    scores, frame = scored(model, table, tmp_path / "s.parquet"), CENSUS_WINDOWS.read(table)
    forward = model.network.forward

    def limited(ids, *args, **kwargs):
        if len(ids) > memory:
            raise torch.OutOfMemoryError
        return forward(ids, *args, **kwargs)

    monkeypatch.setattr(model.network, "forward", limited)
    todo = searches.batches(model, frame, 4)
    paths = (tmp_path / "near.parquet", tmp_path / "beam.parquet")
    provenance = Provenance("search")
    searches.write_near_verbatim(model, todo, paths[0], SEARCH, provenance, progress)
    searches.write_beam_searches(model, todo, paths[1], SEARCH, provenance, progress)
    near, beams = NEAR_VERBATIM.read(paths[0]), BEAM_SEARCHES.read(paths[1])
    own = scores[(scores["procedure"] == "base") & (scores["prefix_tokens"] == 4)]
    mass = near.pivot(index="window_id", columns="radius", values="log_mass")
    verbatim = own.set_index("window_id")["log_score"]
    np.testing.assert_allclose(mass[0], verbatim[mass.index], rtol=1e-9)
    assert (mass[2] >= mass[0] - 1e-9).all()
    assert set(beams["window_id"]) == set(frame["window_id"])
    assert beams["top_distance"].dropna().le(2).all()
    assert (near["forward_tokens"] <= near["sampling_tokens"]).all()
