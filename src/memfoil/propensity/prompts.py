"""The prompts of five settings: from none at all to the beginning of a training document.

Source: PropMe 2026, sections 3.1 and 4.2, appendix H.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from memfoil.errors import InvalidDocuments
from memfoil.index import Searchable
from memfoil.models.embeddings import Embedder
from memfoil.propensity.documents import random_documents
from memfoil.propensity.keys import number
from memfoil.propensity.screen import REPEATED, LeftOut, Screen, token_ids, unrepeated
from memfoil.propensity.sentences import common_share, common_words, whole_sentences
from memfoil.propensity.similarity import closest, nearest
from memfoil.sampling.left_out import listed
from memfoil.tables import PROMPTS
from memfoil.testbed.split import smallest_keys
from memfoil.tracing import Reader

UNFIT = "no whole sentence of the length drawn in the language"
FAR = "others of its source are closer to the training text"
SHORT = "document too short for a prefix"

Progress = Callable[..., Iterator[Any]]


@dataclass(frozen=True)
class Plan:
    """How many prompts of which kind."""

    prompts: int
    generations: int
    language: str
    prefix_tokens: int
    document_tokens: int
    similarity_documents: int
    common_share: float
    seed: int


def prompts(
    plan: Plan,
    index: Searchable,
    tokenizer: Any,
    sentences: pd.DataFrame,
    passages: pd.DataFrame,
    embedder: Embedder,
    progress: Progress | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The prompts of all settings, and what was left out of them and why.

    A prompt-free setting has one prompt for each continuation, so that a bootstrap over prompts
    is one over continuations there.

    Parameters
    ----------
    index : Searchable
        The training text.
    tokenizer : fast tokenizer of transformers
        Of the index.
    sentences : DataFrame
        Everyday ones: `sentence_id` and `text`.
    passages : DataFrame
        Of documents the model was not trained on: `passage_id`, `document_id`, `text`, and
        `source`, among whose values specific prompts are shared out equally.

    Returns
    -------
    PROMPTS and LEFT_OUT frames

    Raises
    ------
    InvalidDocuments
        If no sentence, passage or document is left for a setting.
    InvalidConfiguration
        If wordfreq does not know the language, or the index cannot give documents.
    """
    screen = Screen(index, tokenizer, plan.seed)
    left_out: LeftOut = []
    generic = _generic(plan, screen, sentences, left_out)
    specific = _specific_candidates(plan, screen, generic["tokens"], passages, left_out)
    documents = random_documents(index, f"{plan.seed} similarity")
    length = 4 * embedder.max_tokens
    texts = [
        tokenizer.decode(ids[:length], clean_up_tokenization_spaces=False)
        for _, (_, ids) in zip(range(2 * plan.similarity_documents), documents, strict=False)
    ]
    near, apart = texts[::2], embedder.embed(texts[1::2] or texts, progress)
    vectors = embedder.embed(list(specific["text"]), progress)
    specific["similarity"] = nearest(vectors, embedder.embed(near, progress))
    chosen = closest(specific, plan.prompts)
    rest = specific.drop(chosen.index)
    left_out += [
        (name, FAR, f"cosine {value:.3f}")
        for name, value in zip(rest["prompt_id"], rest["similarity"], strict=True)
    ]
    generic = generic.head(plan.prompts)
    both = pd.concat([generic, chosen], ignore_index=True)
    both["similarity"] = nearest(embedder.embed(list(both["text"]), progress), apart)
    frame = pd.concat(
        [
            _unconditional(plan),
            _minimal_cues(plan, tokenizer),
            both.assign(generations=plan.generations),
            _prefixes(plan, index, tokenizer, left_out),
        ],
        ignore_index=True,
    )
    return frame.reindex(columns=PROMPTS.names), listed(left_out)


def _unconditional(plan: Plan) -> pd.DataFrame:
    n = plan.prompts * plan.generations
    return pd.DataFrame(
        {
            "prompt_id": [f"unconditional {i}" for i in range(1, n + 1)],
            "setting": "unconditional",
            "text": "",
            "token_ids": pd.Series([np.empty(0, np.int32)] * n, dtype=object),
            "generations": 1,
        }
    )


def _minimal_cues(plan: Plan, tokenizer: Any) -> pd.DataFrame:
    """A common word for each continuation, drawn by its frequency and capitalized."""
    words = common_words(plan.language)
    n = plan.prompts * plan.generations
    frequencies = np.array(list(words.values()))
    generator = np.random.default_rng([plan.seed, len(words)])
    drawn = generator.choice(list(words), n, p=frequencies / frequencies.sum())
    texts = [str(word).capitalize() for word in drawn]
    return pd.DataFrame(
        {
            "prompt_id": [f"minimal cue {i}" for i in range(1, n + 1)],
            "setting": "minimal cue",
            "text": texts,
            "token_ids": token_ids(tokenizer, texts),
            "generations": 1,
        }
    )


def _generic(
    plan: Plan, screen: Screen, sentences: pd.DataFrame, left_out: LeftOut
) -> pd.DataFrame:
    """All sentences that may serve, in the order in which they are taken."""
    frame = pd.DataFrame(
        {
            "prompt_id": "generic " + sentences["sentence_id"].astype(str),
            "setting": "generic",
            "text": sentences["text"],
        }
    )
    names = smallest_keys(set(frame["prompt_id"]), len(frame), f"{plan.seed} generic")
    frame = frame.set_index("prompt_id").loc[names].reset_index()
    frame = screen(unrepeated(frame, left_out), left_out)
    if frame.empty:
        raise InvalidDocuments(
            "generic prompts: every sentence occurs whole in the index; give others in "
            "propensity/generic"
        )
    return frame


def _specific_candidates(
    plan: Plan,
    screen: Screen,
    lengths: pd.Series,
    passages: pd.DataFrame,
    left_out: LeftOut,
) -> pd.DataFrame:
    """One whole sentence of each passage, of a length drawn from those of the generic prompts."""
    words = common_words(plan.language)
    found = [
        [s for s in whole_sentences(text) if common_share(s, words) >= plan.common_share]
        for text in passages["text"]
    ]
    tokens = iter(token_ids(screen.tokenizer, [sentence for of in found for sentence in of]))
    rows = []
    for passage, candidates in zip(passages.itertuples(), found, strict=True):
        name = f"specific {passage.passage_id}"
        sizes = [len(next(tokens)) for _ in candidates]
        wanted = int(lengths.iloc[number(f"{plan.seed} length {name}") % len(lengths)])
        tolerance = max(1.0, 0.1 * wanted)
        fit = [s for s, n in zip(candidates, sizes, strict=True) if abs(n - wanted) <= tolerance]
        if fit:
            text = fit[number(f"{plan.seed} sentence {name}") % len(fit)]
            rows.append((name, "specific", text, passage.source, passage.document_id))
        else:
            left_out.append((name, UNFIT, f"{wanted} tokens"))
    columns = ["prompt_id", "setting", "text", "source", "document_id"]
    frame = pd.DataFrame(rows, columns=columns)
    if frame.empty:
        raise InvalidDocuments(
            f"specific prompts: none of {len(passages)} passages has a whole sentence as long as "
            "the generic ones; name more pools in propensity/specific, or longer passages"
        )
    frame = screen(unrepeated(frame, left_out), left_out)
    if frame.empty:
        raise InvalidDocuments("specific prompts: every sentence occurs whole in the index")
    return frame


def _prefixes(plan: Plan, index: Searchable, tokenizer: Any, left_out: LeftOut) -> pd.DataFrame:
    """The first tokens of random training documents, and what follows them there."""
    first: dict[bytes, tuple[str, np.ndarray]] = {}
    for document_id, ids in random_documents(index, f"{plan.seed} prefix"):
        key = np.asarray(ids[: plan.prefix_tokens]).tobytes()
        if len(ids) < plan.document_tokens:
            left_out.append((document_id, SHORT, f"{len(ids)} of {plan.document_tokens} tokens"))
        elif key in first:
            left_out.append((document_id, REPEATED, f"as {first[key][0]}"))
        else:
            first[key] = document_id, ids[: 2 * plan.prefix_tokens]
        if len(first) == plan.prompts:
            break
    if not first:
        raise InvalidDocuments(
            f"prefix prompts: no training document has {plan.document_tokens} tokens; ask for "
            "fewer in propensity/document_tokens"
        )
    names, ids = zip(*first.values(), strict=True)
    low, high = index.ranks(index.batch(ids))
    prefixes = [piece[: plan.prefix_tokens] for piece in ids]
    after = [piece[plan.prefix_tokens :] for piece in ids]
    reader = Reader(tokenizer, index.vocab_size)
    return pd.DataFrame(
        {
            "prompt_id": [f"prefix {name}" for name in names],
            "setting": "prefix",
            "text": tokenizer.batch_decode(prefixes, clean_up_tokenization_spaces=False),
            "token_ids": pd.Series(prefixes, dtype=object),
            "generations": plan.generations,
            "document_id": names,
            "continuation": [text.rstrip("\ufffd") for text in reader.texts(after)],
            "occurrences": (high - low).sum(axis=0),
        }
    )
