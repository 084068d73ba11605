"""Parrot templates: braces are themselves, mistakes have one line; scores by direct evaluation."""

import numpy as np
import pandas as pd
import pytest
import torch
from tiny_models import KNOWN, TEXT, UNKNOWN, byte_level, tiny_llama

from memfoil.errors import InvalidTemplates
from memfoil.prompts.frames import frame
from memfoil.prompts.parrot import Template, parrot, read_templates
from memfoil.prompts.targets import target_ids
from memfoil.tables import PARROTS, Provenance


def write(tmp_path, text: str) -> str:
    path = tmp_path / "templates.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_template_s_other_braces_survive(tmp_path):
    path = write(
        tmp_path, 'template_id,kind,template\nj,coax,"{""a"": {}, ""b"": ""{target}"", {x}"\n'
    )
    (template,) = read_templates(path)
    assert template.fill("{y} said") == '{"a": {}, "b": "{y} said", {x}'


def test_the_templates_that_ship_are_of_the_three_kinds(pytestconfig):
    templates = read_templates(pytestconfig.rootpath / "config" / "parrot_templates.csv")
    assert [template.kind for template in templates] == ["repeat", "copy", "coax"]
    for template in templates:
        assert template.fill("abc").count("abc") == template.template.count("{target}") >= 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("template_id,kind,template\na,repeat,say it\n", r"row 0, template 'a': no \{target\}"),
        ("template_id,kind,template\na,shout,{target}\n", "kind 'shout' is none of repeat, copy"),
        ("template_id,kind\na,repeat\n", "column template is missing"),
        ("template_id,kind,template\n", "no template"),
        (
            "template_id,kind,template\na,copy,{target}\na,copy,{target}\n",
            "row 1, template 'a': each template needs an id of its own",
        ),
    ],
)
def test_mistakes_in_a_table_of_templates_are_named(tmp_path, content, message):
    with pytest.raises(InvalidTemplates, match=message):
        read_templates(write(tmp_path, content))


def test_a_missing_table_is_named(tmp_path):
    with pytest.raises(InvalidTemplates, match=r"absent\.csv: not a readable CSV"):
        read_templates(tmp_path / "absent.csv")


def targets_of(around, texts: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sequence_id": [f"t{i}" for i in range(len(texts))],
            "text": texts,
            "token_ids": [np.array(target_ids(around, text, "t")) for text in texts],
        }
    )


def test_scores_and_generations_are_those_of_each_prompt_alone(tmp_path):
    model = tiny_llama(byte_level())
    around = frame(model, "plain")
    targets = targets_of(around, [KNOWN, UNKNOWN, TEXT[2]])
    templates = [
        Template("r", "repeat", "Say: {target}\n"),
        Template("c", "copy", "{target} {target}"),
    ]
    found = parrot(model, around, targets, templates, lambda items, _: iter(items))
    PARROTS.write(found, tmp_path / "parrots.parquet", Provenance("test"))
    assert found["template_id"].tolist() == ["r"] * 3 + ["c"] * 3
    by_id = {template.template_id: template for template in templates}
    for _, row in found.iterrows():
        target = targets.set_index("sequence_id").loc[row["sequence_id"]]
        (prompt,) = around.read([by_id[row["template_id"]].fill(target["text"])])
        whole = torch.tensor([[*prompt, *target["token_ids"].tolist()]])
        logits = model.network(whole).logits[0, len(prompt) - 1 : -1].double()
        logs = logits.log_softmax(-1)[range(len(target["token_ids"])), target["token_ids"].tolist()]
        assert row["log_score"] == pytest.approx(float(logs.sum()), rel=1e-5)
        start = torch.tensor([prompt])
        written = model.network.generate(
            start,
            attention_mask=torch.ones_like(start),
            do_sample=False,
            max_new_tokens=len(target["token_ids"]),
            pad_token_id=0,
        )[0, len(prompt) :]
        assert row["generated"] == (written.tolist() == target["token_ids"].tolist())


def test_a_model_that_knows_a_sentence_passes_and_another_sentence_fails(knowing):
    around = frame(knowing, "plain")
    targets = targets_of(around, [" " + KNOWN, " " + UNKNOWN])
    template = Template("word", "coax", "droppeth{target}")
    only_a_word = template._replace(template="{target}")
    found = parrot(knowing, around, targets, [only_a_word], lambda items, _: iter(items)).set_index(
        "sequence_id"
    )
    assert found["log_score"]["t0"] > found["log_score"]["t1"]
    assert not found["generated"]["t1"]
