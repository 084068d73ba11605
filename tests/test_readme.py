"""What the README tells a user with a model and texts of her own to write is what works."""

import json
import re

import pytest
import yaml
from small_models import small_network, small_tokenizer
from snakemake.utils import update_config

from memfoil import cli, configuration
from memfoil.index import open_index


@pytest.fixture
def readme(pytestconfig):
    return (pytestconfig.rootpath / "README.md").read_text()


def block(text, language):
    (found,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return found


def test_the_configuration_fits(readme, pytestconfig):
    root = pytestconfig.rootpath
    config = configuration.load(root / "config/config.yaml")
    update_config(config, yaml.safe_load(block(readme, "yaml")))
    (entry,) = re.findall(r"`(mine: \{.*?\})`", readme)
    models = configuration.load(root / "config/models.yaml") | yaml.safe_load(entry)
    configuration.check_schema(config, root / "workflow/schemas/config.schema.yaml", "config")
    configuration.check_schema(models, root / "workflow/schemas/models.schema.yaml", "models")
    configuration.check_run(config, models)


def test_an_index_is_made_of_the_training_text(readme, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tokenizer = small_tokenizer()
    small_network("llama", len(tokenizer)).save_pretrained("path/to/model_folder")
    tokenizer.save_pretrained("path/to/model_folder")
    (line,) = re.findall(r"`(\{\"document_id\".*?\})`", readme)
    texts = ["the cat sat", "the dog's bone"]
    lines = [json.loads(line) | {"document_id": str(n), "text": t} for n, t in enumerate(texts)]
    (tmp_path / "training.jsonl").write_text("\n".join(map(json.dumps, lines)))
    exec(block(readme, "python"), {})
    (command,) = re.findall(r"^memfoil (index build .*)$", readme, re.MULTILINE)
    assert cli.main(command.split()) == 0
    assert "2 documents" in capsys.readouterr().out
    index = open_index("path/to/index")
    ids = tokenizer.encode("the cat sat", add_special_tokens=False)
    low, high = index.ranks(index.batch([ids]))
    assert high[0] - low[0] == 1
