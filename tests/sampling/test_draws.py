"""Pools drawn by one rule: order, shards and other pools change nothing."""

import pandas as pd
import pytest
from dated_passages import CANDIDATE, CONTROL, draw, passages
from hypothesis import given, settings
from hypothesis import strategies as st

from memfoil.errors import InvalidConfiguration
from memfoil.sampling.draws import CROWDED, SMALL_POOL
from memfoil.tables import DRAWS, LEFT_OUT, PASSAGES, Provenance


@settings(deadline=None, max_examples=15)
@given(
    st.integers(1, 70),
    st.integers(0, 40),
    st.integers(1, 6),
    st.integers(0, 2**40),
    st.randoms(use_true_random=False),
)
def test_a_larger_pool_keeps_the_earlier_draws_whatever_the_order_of_rows(
    n, more, max_per_document, seed, random
):
    frame = passages()
    order = list(range(len(frame)))
    random.shuffle(order)
    smaller, _ = draw(
        frame, {"m": CANDIDATE | {"passages": n}, "c": CONTROL}, seed, max_per_document
    )
    larger, _ = draw(
        frame.iloc[order],
        {"c": CONTROL | {"passages": 3}, "m": CANDIDATE | {"passages": n + more}},
        seed,
        max_per_document,
    )
    first = smaller[smaller["pool"] == "m"]["passage_id"].tolist()
    assert larger[larger["pool"] == "m"]["passage_id"].tolist()[: len(first)] == first
    assert first
    drawn_from = frame.set_index("passage_id").loc[first, "document_id"]
    assert drawn_from.value_counts().max() <= max_per_document


def test_a_draw_is_the_greedy_walk_along_the_keys():
    """Against a loop that takes passages one by one in the order of a pool without any limit."""
    frame = passages()
    pools = {"m": CANDIDATE, "c": CONTROL}
    unlimited, _ = draw(frame, pools, max_per_document=99)
    walk = unlimited[unlimited["pool"] == "m"]["passage_id"]
    taken, skipped, counts = [], [], {}
    for passage in walk:
        document = passage.split(":")[0]
        if len(taken) == 20:
            break
        if counts.get(document, 0) == 2:
            skipped.append(passage)
            continue
        counts[document] = counts.get(document, 0) + 1
        taken.append(passage)
    drawn, left_out = draw(frame, pools | {"m": CANDIDATE | {"passages": 20}})
    mine = drawn[drawn["pool"] == "m"]
    assert mine["passage_id"].tolist() == taken
    assert mine["draw"].tolist() == list(range(1, 21))
    assert left_out[left_out["detail"] == "m"]["item_id"].tolist() == skipped
    assert skipped


def test_removing_other_passages_leaves_the_rest_in_their_order():
    """Sharding: the keys of a passage know nothing of the others."""
    frame = passages()
    pools = {"m": CANDIDATE, "c": CONTROL}
    whole, _ = draw(frame, pools, max_per_document=99)
    kept = frame.sample(frac=0.5, random_state=1)
    part, _ = draw(kept, pools, max_per_document=99)
    assert part["passage_id"].tolist() == [
        name for name in whole["passage_id"] if name in set(kept["passage_id"])
    ]


@pytest.mark.slow
def test_seeds_give_different_draws_spread_over_the_documents():
    frame = passages(n_documents=200, each=4)
    pools = {"m": CANDIDATE | {"passages": 50}, "c": CONTROL}
    draws = [set(draw(frame, pools, seed)[0]["passage_id"].head(50)) for seed in range(20)]
    assert len({frozenset(drawn) for drawn in draws}) == 20
    # 20 draws of 50 among 400: each passage is expected 2.5 times, none should be in all
    counts = pd.Series([name for drawn in draws for name in drawn]).value_counts()
    assert counts.max() <= 11  # P(one of 400 Binomial(20, 1/8) > 11) < 1e-4
    assert len(counts) > 350  # expected 400 (1 - (7/8)^20) = 372


def test_pools_respect_dates_inclusively_sources_and_splits():
    frame = passages()
    splits = pd.DataFrame(
        {"passage_id": frame["passage_id"], "split": ["held-out", "training"] * 75}
    )
    pools = {
        "m": {
            "role": "candidate",
            "passages": "all",
            "from": "1996-06-01",
            "to": pd.Timestamp("1998-06-01").date(),
            "sources": ["odd"],
            "split": "training",
        },
        "c": CONTROL,
    }
    drawn, _ = draw(frame, pools, max_per_document=99, splits=splits)
    both = frame.merge(splits, on="passage_id")
    open_to = both[
        both["date"].isin(pd.to_datetime(["1996-06-01", "1997-06-01", "1998-06-01"]))
        & (both["source"] == "odd")
        & (both["split"] == "training")
    ]
    assert set(drawn[drawn["pool"] == "m"]["passage_id"]) == set(open_to["passage_id"])
    assert len(open_to)


def test_a_pool_that_cannot_be_filled_gives_what_there_is_and_says_so():
    frame = passages()
    drawn, left_out = draw(frame, {"m": CANDIDATE | {"passages": 1000}, "c": CONTROL})
    assert (drawn["pool"] == "m").sum() == 30  # 15 documents before 2000, 2 of each
    row = left_out[left_out["reason"] == SMALL_POOL]
    assert row[["item_id", "detail"]].to_numpy().tolist() == [["m", "30 of 1000"]]
    crowded = left_out[(left_out["reason"] == CROWDED) & (left_out["detail"] == "m")]
    assert len(crowded) == 45


def test_draws_and_passages_fit_their_tables(tmp_path):
    frame = passages()
    drawn, left_out = draw(frame, {"m": CANDIDATE, "c": CONTROL})
    for table, content in ((PASSAGES, frame), (DRAWS, drawn), (LEFT_OUT, left_out)):
        table.write(content, tmp_path / "t.parquet", Provenance("test"))
        pd.testing.assert_frame_equal(
            table.read(tmp_path / "t.parquet"), content.reset_index(drop=True)
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"from": "2030-01-01"}, "from 2030-01-01 to 9999-12-31; .* from 1995-06-01 to 2004-06-01"),
        ({"from": "2003-01-01", "to": "2001-01-01"}, "from 2003-01-01 is after to 2001-01-01"),
        ({"from": "soon"}, "pool c: from is 'soon'; write a day as"),
        ({"from": 2000}, "pool c: from is 2000; write a day as"),
        ({"from": "1990-01-01"}, r"open to both pools m and c"),
        ({"sources": ["odd", "evne"]}, "no passage has the source 'evne'; there are even, odd"),
        ({"sources": []}, "its sources and its split have no passage in common"),
        ({"split": "held-out"}, "these documents have no splits"),
        ({"passages": 0}, "pool c: passages is 0"),
        ({"passages": True}, "pool c: passages is True"),
        ({"passages": "some"}, "pool c: passages is 'some'"),
        ({"role": "controls"}, "no pool has the role control"),
        ({"role": "candidate"}, "no pool has the role control"),
        ({"form": "2000-01-01"}, "pool c: unknown key 'form'"),
    ],
)  # fmt: skip
def test_a_pool_that_makes_no_sense_is_refused(change, message):
    with pytest.raises(InvalidConfiguration, match=message):
        draw(passages(), {"m": CANDIDATE, "c": CONTROL | change})


def test_an_unknown_split_or_role_is_refused():
    frame = passages()
    splits = pd.DataFrame({"passage_id": frame["passage_id"], "split": "training"})
    with pytest.raises(InvalidConfiguration, match="split 'heldout'; there are training"):
        draw(frame, {"m": CANDIDATE, "c": CONTROL | {"split": "heldout"}}, splits=splits)
    with pytest.raises(InvalidConfiguration, match="pool x: role None is neither"):
        draw(frame, {"m": CANDIDATE, "c": CONTROL, "x": {"passages": "all"}})
    with pytest.raises(InvalidConfiguration, match="max_per_document is 0"):
        draw(frame, {"m": CANDIDATE, "c": CONTROL}, max_per_document=0)
