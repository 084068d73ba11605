"""The way of a prompt through its text, in context."""

import itertools

import pytest
import torch
from tiny_models import CHAT, TRIMMING, byte_level, sentence_piece, tiny_gpt2, tiny_llama

from memfoil.errors import InvalidConfiguration, InvalidModel
from memfoil.prompts.chance import generator_of, random_ids
from memfoil.prompts.frames import frame

FRAMES = {
    "byte-level, plain": lambda: frame(tiny_llama(byte_level()), "plain"),
    "byte-level, no start": lambda: frame(tiny_gpt2(byte_level()), "plain"),
    "byte-level, chat": lambda: frame(tiny_llama(byte_level(CHAT)), "chat"),
    "byte-level, trimming chat": lambda: frame(tiny_llama(byte_level(TRIMMING)), "chat"),
    "sentence-piece, plain": lambda: frame(tiny_llama(sentence_piece()), "plain"),
    "sentence-piece, trimming chat": lambda: frame(tiny_llama(sentence_piece(TRIMMING)), "chat"),
}


@pytest.mark.parametrize("name", FRAMES)
def test_what_survives_is_read_token_by_token_from_its_text_and_nothing_else_does(name):
    around = FRAMES[name]()
    generator = generator_of(1, name)
    drawn = around.allowed[torch.randint(len(around.allowed), (300, 3), generator=generator)]
    prompts = [tuple(row) for row in drawn.tolist()]
    surviving = around.surviving(prompts)
    assert 0 < len(surviving) < len(prompts)
    for prompt, text in surviving.items():
        (read,) = around.read([text])
        assert tuple(read) == (*around.before, *prompt, *around.after)
    for prompt in set(prompts) - set(surviving):
        whole = [*around.before[len(around.start) :], *prompt, *around.after]
        spelled = around.core.decode(whole, skip_special_tokens=False)
        inner = spelled[len(around.around[0]) : len(spelled) - len(around.around[1])]
        assert around.read([inner]) != around.inputs([prompt])


@pytest.mark.parametrize("name", FRAMES)
def test_the_start_token_stands_first_once_and_is_no_part_of_a_prompt(name):
    around = FRAMES[name]()
    prompt = random_ids(around, 5, generator_of(0))
    assert len(prompt) == 5
    (read,) = around.read([around.surviving([prompt])[prompt]])
    assert read.count(around.core.token_to_id("<s>")) == len(around.start)
    assert tuple(read[: len(around.start)]) == around.start
    assert around.core.token_to_id("<s>") not in around.allowed


def test_a_chat_reads_what_the_tokenizer_s_own_template_gives():
    model = tiny_llama(byte_level(CHAT))
    turn = [{"role": "user", "content": "the cat sat"}]
    whole = model.tokenizer.apply_chat_template(turn, add_generation_prompt=True).input_ids
    assert frame(model, "chat").read(["the cat sat"]) == [[*model.start_of_text, *whole]]


def test_tokens_that_merge_with_their_neighbours_or_the_template_do_not_survive():
    around = FRAMES["byte-level, plain"]()
    (cat,) = (ids[len(around.start) :] for ids in around.read(["the cat"]))
    letters = tuple(around.core.token_to_id(letter) for letter in "the")
    assert around.surviving([tuple(cat)]) == {tuple(cat): "the cat"}
    assert around.surviving([letters]) == {}


def test_the_name_of_a_special_token_is_text_in_a_plain_prompt_and_no_prompt_in_a_chat():
    plain, chat = FRAMES["byte-level, plain"](), FRAMES["byte-level, chat"]()
    turn = plain.core.token_to_id("<|turn|>")
    assert turn not in plain.read(["<|turn|>"])[0]
    spelled = tuple(plain.read(["<|turn|>"])[0][len(plain.start) :])
    assert plain.surviving([spelled])
    assert not chat.surviving([spelled])


def test_a_prompt_holds_no_half_characters_and_nothing_unprintable():
    around = FRAMES["byte-level, plain"]()
    for token in around.allowed.tolist():
        assert around.core.decode([token]).isprintable()
    ids = {around.core.token_to_id(char) for char in ("Ċ", "ä", "Ã")}
    assert not ids & set(around.allowed.tolist())


def test_no_chat_template_is_said_in_one_line():
    with pytest.raises(InvalidModel, match="tiny-gpt2: the tokenizer has no chat template"):
        frame(tiny_gpt2(byte_level()), "chat")
    with pytest.raises(InvalidModel, match="does not show a user's words once"):
        frame(tiny_llama(byte_level("{{ messages[0]['content'] | upper }}")), "chat")
    with pytest.raises(InvalidConfiguration, match="'chatty' is unknown"):
        frame(tiny_gpt2(byte_level()), "chatty")


def test_random_ids_depend_on_seed_and_name_alone():
    around = FRAMES["byte-level, plain"]()
    names = ["a", "b", "c"]
    drawn = {name: random_ids(around, 4, generator_of(3, name)) for name in names}
    assert drawn == {name: random_ids(around, 4, generator_of(3, name)) for name in names[::-1]}
    assert all(one != other for one, other in itertools.combinations(drawn.values(), 2))
    assert drawn["a"] != random_ids(around, 4, generator_of(4, "a"))
