"""What a run costs, against cases computed by hand."""

import pytest
import yaml

from memfoil import cli, configuration, plan


@pytest.fixture
def here(pytestconfig, monkeypatch):
    monkeypatch.chdir(pytestconfig.rootpath)


def of(path, **changes):
    config = plan.merged(configuration.load("config/config.yaml"), configuration.load(path))
    config = plan.merged(config, changes)
    return list(plan.stages(config, configuration.load("config/models.yaml")))


def test_scores_cost_two_flops_for_each_parameter_and_token(here):
    sequences, *scores = of("config/experiments/population.yaml")
    assert (sequences.sequences, sequences.flops) == (10_000, 0)
    assert [stage.model for stage in scores] == ["olmo-2-7b", "olmo-2-13b", "olmo-2-32b"]
    first = scores[0]
    assert first.flops == 2 * 7_298_617_344 * 10_000 * 100
    assert first.memory == pytest.approx(1.2 * 2 * 7_298_617_344)
    assert first.disk == 10_000 * 50 * (8 + 8 + 8)
    assert not first.at_least


def test_gpu_hours_are_those_of_the_named_gpu(here, capsys):
    assert cli.main(["plan", "config/experiments/population.yaml", "--gpu", "a100"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "olmo-2-32b" in line)
    hours = 2 * 32_234_279_936 * 1e6 / (312e12 * 0.4) / 3600
    assert f"{hours:.3g}" in line
    assert line.split()[-1] == "1"  # 77 GB in one of 80


def test_continuations_are_counted_by_prompts_and_settings(here):
    stages = {
        (stage.name, stage.model): stage for stage in of("config/experiments/propme_dolma3.yaml")
    }
    found = stages["propensity", "olmo-3-32b"]
    assert found.sequences == 5 * 1000 * 10
    assert found.flops == 2 * 32_233_563_648 * 50_000 * (256 + 20)


def test_parrots_are_counted_by_targets_and_templates(here):
    *_, parrots = of("config/experiments/parrots.yaml")
    assert parrots.sequences == 6000 * 3
    assert parrots.flops == 2 * 32_234_279_936 * 18_000 * (50 + 50 + 20)


def test_searches_are_counted_to_their_end(here):
    sets = [
        {"name": "a", "role": "candidate", "pool": "planted", "tokens": 10, "sequences": 2},
        {"name": "b", "role": "control", "random": 3, "tokens": [5, 10]},
    ]
    found = {stage.name: stage for stage in of("config/config.yaml", prompts={"sets": sets})}
    size = 4 * (4 * 192**2 + 3 * 192 * 512) + 2048 * 192
    compression, prefixes = found["compression"], found["multi_prefix"]
    assert compression.flops == 2 * size * 5 * 2 * 20 * (48 + 3) * (10 + 10)
    assert prefixes.flops == 2 * size * 5 * 10 * 16 * (48 + 3) * (5 + 10)


def test_what_is_not_known_before_is_called_at_least(here, capsys):
    assert cli.main(["plan", "config/experiments/prompts_pythia.yaml"]) == 0
    assert "1,000+" in capsys.readouterr().out
    assert of("config/experiments/population_smollm2.yaml")[0].at_least


@pytest.mark.slow
def test_every_experiment_has_a_plan(here, pytestconfig, capsys):
    files = sorted((pytestconfig.rootpath / "config/experiments").glob("*.yaml"))
    assert len(files) > 10
    for file in files:
        assert cli.main(["plan", str(file)]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "options", "said"),
    [
        ({}, ["--gpu", "abacus"], "--gpu: abacus is not known; there are a100, h100, h200, l40s"),
        ({"seeed": 1}, [], "unknown key seeed; did you mean seed?"),
        ({"models": ["none"]}, [], "models: none is not in config/models.yaml"),
    ],
)
def test_what_cannot_be_planned_is_one_line(here, tmp_path, capsys, changes, options, said):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(changes))
    assert cli.main(["plan", str(path), *options]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("memfoil: ")
    assert said in shown
    assert shown.count("\n") == 1
