import subprocess
import sys

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from memfoil import sampling
from memfoil.errors import InvalidConfiguration, InvalidDocuments, InvalidModel
from memfoil.tables import DRAWS, LEFT_OUT, PASSAGES, SEQUENCES, Provenance

CANDIDATE = {"role": "candidate", "passages": "all", "to": "1999-12-31"}
CONTROL = {"role": "control", "passages": "all", "from": "2000-01-01"}


def documents(texts, dates=None):
    return pd.DataFrame(
        {
            "document_id": [f"d{i}" for i in range(len(texts))],
            "text": texts,
            "date": pd.to_datetime(dates or ["2000-01-01"] * len(texts)).astype("datetime64[ms]"),
            "source": "s",
            "title": None,
            "author": None,
        }
    )


def passages(n_documents=30, each=5):
    """Passages of a few words from documents of 1995 to 2004, one source for even documents."""
    dates = [f"{1995 + i % 10}-06-01" for i in range(n_documents)]
    texts = [" ".join(f"w{i}.{j}" for j in range(3 * each)) for i in range(n_documents)]
    frame, _ = sampling.cut(documents(texts, dates), 3)
    even = frame["document_id"].str[1:].astype(int) % 2 == 0
    return frame.assign(source=even.map({True: "even", False: "odd"}))


def draw(frame, pools, seed=0, max_per_document=2, splits=None):
    return sampling.draw(frame, pools, seed=seed, max_per_document=max_per_document, splits=splits)


words = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=5)
spaces = st.sampled_from([" ", "\n\n", "\t", " \u3000 ", "\r\n", "\u00a0"])


@given(st.lists(st.tuples(words, spaces), max_size=40), st.integers(1, 6))
def test_passages_are_exact_stretches_that_follow_each_other(pieces, n):
    text = "".join(word + space for word, space in pieces)
    filler = " ".join("w" * 1 for _ in range(n))
    frame, left_out = sampling.cut(documents([text, filler]), n)
    mine = frame[frame["document_id"] == "d0"]
    for passage in mine.itertuples():
        assert passage.text == text[passage.start_char : passage.end_char]
        assert len(passage.text.split()) == n
        assert passage.text.strip() == passage.text
        assert passage.passage_id == f"d0:{passage.start_char}-{passage.end_char}"
    cut_words = [word for passage in mine["text"] for word in passage.split()]
    assert cut_words == text.split()[: len(text.split()) // n * n]
    # every word is in a passage or in what was left out
    rest = len(text.split()) % n
    listed = left_out[left_out["item_id"].str.startswith("d0")]
    if rest or not len(mine):
        assert listed["detail"].tolist() == [f"{rest} of {n} words"]
        assert listed["reason"].iloc[0] == (
            sampling.REMAINDER if len(mine) else sampling.SHORT_DOCUMENT
        )
    else:
        assert listed.empty


def test_documents_all_too_short_are_refused_with_the_longest_length():
    with pytest.raises(InvalidDocuments, match=r"no document has the 9 words .* longest has 3"):
        sampling.cut(documents(["a b c", "a"]), 9)


def test_words_of_a_passage_must_be_positive():
    with pytest.raises(InvalidConfiguration, match="words is 0"):
        sampling.cut(documents(["a b c"]), 0)


@settings(deadline=None, max_examples=40)
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
    row = left_out[left_out["reason"] == sampling.SMALL_POOL]
    assert row[["item_id", "detail"]].to_numpy().tolist() == [["m", "30 of 1000"]]
    crowded = left_out[(left_out["reason"] == sampling.CROWDED) & (left_out["detail"] == "m")]
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


def characters():
    """A tokenizer that makes a token of every character and none of white space."""
    core = Tokenizer(models.WordLevel({chr(i): i for i in range(33, 127)}))
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex("."), "isolated")]
    )
    return PreTrainedTokenizerFast(tokenizer_object=core)


def test_sequences_take_the_first_tokens_and_the_characters_they_cover(tmp_path):
    frame = passages()
    drawn, _ = draw(frame, {"m": CANDIDATE, "c": CONTROL})
    rows, left_out = sampling.sequences(
        drawn, frame, characters(), prefix_tokens=4, suffix_tokens=3
    )
    assert rows["sequence_id"].tolist() == drawn["passage_id"].tolist()
    assert left_out.empty
    for row, text in zip(
        rows.itertuples(),
        frame.set_index("passage_id").loc[rows["sequence_id"], "text"],
        strict=True,
    ):
        assert text.startswith(row.text)
        assert [ord(c) for c in row.text if c != " "] == row.token_ids
        assert (len(row.token_ids), row.prefix_tokens) == (7, 4)
    SEQUENCES.write(rows, tmp_path / "s.parquet", Provenance("test"))
    assert SEQUENCES.read(tmp_path / "s.parquet")["text"].equals(rows["text"])


def test_passages_with_too_few_tokens_are_left_out_and_listed():
    frame = passages(n_documents=30)
    drawn, _ = draw(frame, {"m": CANDIDATE, "c": CONTROL})
    lengths = {p.passage_id: len(p.text.replace(" ", "")) for p in frame.itertuples()}
    needed = 13  # w9.9 w9.8 w9.7 has 12 characters, w10.9 15
    rows, left_out = sampling.sequences(
        drawn, frame, characters(), prefix_tokens=10, suffix_tokens=needed - 10
    )
    short = [name for name in drawn["passage_id"] if lengths[name] < needed]
    assert short
    assert left_out["item_id"].tolist() == short
    assert left_out["detail"].tolist() == [f"{lengths[name]} of {needed}" for name in short]
    assert len(rows) + len(left_out) == len(drawn)


def test_sequences_longer_than_every_passage_are_refused():
    frame = passages()
    drawn, _ = draw(frame, {"m": CANDIDATE, "c": CONTROL})
    with pytest.raises(InvalidModel, match="no drawn passage has 100 tokens"):
        sampling.sequences(drawn, frame, characters(), prefix_tokens=50, suffix_tokens=50)
    with pytest.raises(InvalidConfiguration, match="prefix_tokens 0"):
        sampling.sequences(drawn, frame, characters(), prefix_tokens=0, suffix_tokens=50)


@pytest.mark.slow
def test_a_long_document_is_not_copied_for_each_of_its_passages():
    code = (
        "import resource, pandas as pd\n"
        "from memfoil import sampling\n"
        "d = pd.DataFrame({'document_id': ['d'], 'text': ['word ' * 200_000],\n"
        "    'date': pd.to_datetime(['2000-01-01']), 'source': ['s']})\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "print(len(sampling.cut(d, 10)[0]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "20000\n", done.stderr


def test_documents_older_than_every_control_are_encoded_whole():
    days = ["2000-01-01", "2001-06-01", "2001-06-02", "2003-01-01"]
    frame = documents(["ab cd", "ef gh", "ij kl", "mn op"], days)
    passages, _ = sampling.cut(frame, 2)
    roles = ["candidate", "candidate", "control", "control"]
    draws = pd.DataFrame({"passage_id": passages["passage_id"], "role": roles})
    corpus = sampling.older_documents(frame, draws, passages, characters())
    assert corpus["document_id"].tolist() == frame["document_id"].tolist()[:2]
    assert [len(ids) for ids in corpus["token_ids"]] == [4, 4]
    with pytest.raises(InvalidDocuments, match="no document is older than the first control"):
        sampling.older_documents(frame.tail(2), draws, passages, characters())
