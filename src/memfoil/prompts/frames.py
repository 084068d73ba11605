"""What stands around a prompt: start-of-text, and the words of a chat template."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

from memfoil.encoding import bare
from memfoil.errors import InvalidConfiguration, InvalidModel
from memfoil.models import TorchModel

Ids = tuple[int, ...]
FRAMES = ("plain", "chat")


@dataclass(frozen=True, eq=False)
class Frame:
    """How a prompt's text becomes the model's input, and back.

    `before` (start-of-text first, where the model has one) and `after` are the token ids around
    the prompt's own. A prompt counts only if it survives the way through its text, in context:
    what the model reads when it is given the text must be `before + prompt + after`.
    """

    core: Tokenizer
    start: Ids
    before: Ids
    after: Ids
    render: Callable[[str], str]
    around: tuple[str, str]
    special: frozenset[int]

    def read(self, texts: Sequence[str]) -> list[list[int]]:
        """What the model reads when it is given these prompts, from their text alone."""
        rendered = [self.render(text) for text in texts]
        encodings = self.core.encode_batch_fast(rendered, add_special_tokens=False)
        return [[*self.start, *encoding.ids] for encoding in encodings]

    def inputs(self, prompts: Sequence[Sequence[int]]) -> list[list[int]]:
        """What the model reads when a prompt is these tokens."""
        return [[*self.before, *prompt, *self.after] for prompt in prompts]

    def surviving(self, prompts: Sequence[Ids]) -> dict[Ids, str]:
        """The prompts that the model reads token by token when given their text; with it."""
        wholes = self.inputs(prompts)
        decoded = self.core.decode_batch(
            [ids[len(self.start) :] for ids in wholes], skip_special_tokens=False
        )
        before, after = self.around
        texts = [text[len(before) : len(text) - len(after)] for text in decoded]
        return {
            prompt: text
            for prompt, text, whole, read in zip(
                prompts, texts, wholes, self.read(texts), strict=True
            )
            if whole == read
        }

    @cached_property
    def allowed(self) -> Tensor:
        """The tokens that a prompt may hold: printable text, nothing special; (n,) int64."""
        ids = [i for i in range(self.core.get_vocab_size()) if i not in self.special]
        texts = self.core.decode_batch([[i] for i in ids], skip_special_tokens=False)
        printable = [
            i
            for i, text in zip(ids, texts, strict=True)
            if text.isprintable() and "\N{REPLACEMENT CHARACTER}" not in text
        ]
        return torch.tensor(printable)


def plain(tokenizer: Any, start: Ids = ()) -> Frame:
    """The prompt alone, after start-of-text."""
    return Frame(bare(tokenizer), start, start, (), str, ("", ""), _special(tokenizer))


def frame(model: TorchModel, kind: str) -> Frame:
    """The frame that a model's prompts stand in.

    `plain`: the prompt alone, after start-of-text where the model has one. `chat`: the prompt as
    a user's turn in the model's own chat template, the model's turn opened.

    Raises
    ------
    InvalidConfiguration
        If there is no such frame.
    InvalidModel
        If the model has no chat template, or one that does not show the user's words once.
    """
    if kind not in FRAMES:
        raise InvalidConfiguration(f"frame {kind!r} is unknown; there are {', '.join(FRAMES)}")
    start = model.start_of_text
    if kind == "plain":
        return plain(model.tokenizer, start)
    core = bare(model.tokenizer)
    core.encode_special_tokens = False  # a template's own words are special tokens
    render = _template(model)
    before, after, around = _sides(core, render, model)
    return Frame(core, start, (*start, *before), after, render, around, _special(model.tokenizer))


def _special(tokenizer: Any) -> frozenset[int]:
    return frozenset(tokenizer.all_special_ids) | frozenset(tokenizer.added_tokens_decoder)


def _template(model: TorchModel) -> Callable[[str], str]:
    tokenizer: Any = model.tokenizer
    if not tokenizer.chat_template:
        raise InvalidModel(
            f"{model.folder}: the tokenizer has no chat template; use the frame plain, or an "
            "aligned model that has one"
        )
    start = tokenizer.decode(model.start_of_text) if model.start_of_text else ""

    def render(text: str) -> str:
        turn = [{"role": "user", "content": text}]
        whole: str = tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
        return whole.removeprefix(start)

    return render


def _sides(
    core: Tokenizer, render: Callable[[str], str], model: TorchModel
) -> tuple[Ids, Ids, tuple[str, str]]:
    """The tokens and the text that a template puts before and after every prompt.

    Read off two prompts without a common token: a space that the template puts before a prompt
    may belong to the prompt's first token.
    """
    samples = ("apple", "9")
    texts = [render(sample) for sample in samples]
    if any(text.count(sample) != 1 for text, sample in zip(texts, samples, strict=True)):
        raise InvalidModel(
            f"{model.folder}: the chat template does not show a user's words once, unchanged; use "
            "the frame plain"
        )
    one, other = (tuple(core.encode(text, add_special_tokens=False).ids) for text in texts)
    before, after = texts[0].split(samples[0])
    return _shared(one, other), _shared(one[::-1], other[::-1])[::-1], (before, after)


def _shared(one: Ids, other: Ids) -> Ids:
    """The longest common beginning."""
    differs = (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return one[: next(differs, min(len(one), len(other)))]
