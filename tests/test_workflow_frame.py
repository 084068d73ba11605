"""The frame of a script: what its digest follows, and how its mistakes are shown."""

import os
import subprocess
import sys
import textwrap

import pytest

from memfoil import workflow


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package `memfoil` of three modules: a imports b, b imports c inside a function."""
    folder = tmp_path / "memfoil"
    (folder / "room").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "a.py").write_text("from memfoil.room import b\n")
    (folder / "room" / "__init__.py").write_text("")
    (folder / "room" / "b.py").write_text("def f():\n    import memfoil.c\n")
    (folder / "c.py").write_text("x = 1\n")
    (folder / "unused.py").write_text("x = 1\n")
    (tmp_path / "script.py").write_text("from memfoil import a\nimport numpy\n")
    monkeypatch.setattr(workflow, "PACKAGE", folder)
    workflow._imported_files.cache_clear()
    yield tmp_path
    workflow._imported_files.cache_clear()


@pytest.mark.parametrize(
    ("module", "follows"),
    [("a.py", True), ("room/b.py", True), ("room/__init__.py", True), ("c.py", True),
     ("unused.py", False)],
)  # fmt: skip
def test_the_code_digest_follows_imports(package, module, follows):
    before = workflow.code_digest(package / "script.py")
    (package / "memfoil" / module).open("a").write("# edited\n")
    workflow._imported_files.cache_clear()
    assert (workflow.code_digest(package / "script.py") != before) == follows


def run(tmp_path, body, gpus=0, **environment):
    code = f"""
        import types
        from memfoil.errors import InvalidScores
        from memfoil.workflow import stage
        class Names(list):
            def items(self): return []
        snakemake = types.SimpleNamespace(log=[{str(tmp_path / "log")!r}], input=Names(),
            output=Names(), params=Names(), wildcards=None, threads=1, rule="r",
            resources={{"gpu": {gpus}}})
        with stage(snakemake) as job:
            print("hello")
            import os; os.system("echo child")
            {body}
    """
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_output_of_script_and_children_goes_to_the_log(tmp_path):
    done = run(tmp_path, "for _ in job.progress([1], 'steps'): pass")
    assert done.returncode == 0
    assert sorted((tmp_path / "log").read_text().split()) == ["child", "hello"]
    assert done.stdout == ""
    assert "steps" in done.stderr


def test_a_mistake_is_one_line_and_status_2(tmp_path):
    done = run(tmp_path, "raise InvalidScores('scores.parquet: row 3: NaN')")
    assert (done.returncode, done.stderr) == (2, "memfoil: scores.parquet: row 3: NaN\n")
    assert "InvalidScores: scores.parquet" in (tmp_path / "log").read_text()


def test_a_line_break_in_a_name_does_not_break_the_line(tmp_path):
    done = run(tmp_path, r"raise InvalidScores('sequence a\nb: NaN')")
    assert (done.returncode, done.stderr) == (2, "memfoil: sequence a b: NaN\n")


def test_a_full_disk_is_one_line_and_status_2(tmp_path):
    done = run(tmp_path, "raise OSError(28, 'No space left on device', 'results/a.parquet')")
    assert done.returncode == 2
    assert done.stderr == "memfoil: [Errno 28] No space left on device: 'results/a.parquet'\n"


def test_a_defect_keeps_its_traceback_and_status_1(tmp_path):
    done = run(tmp_path, "1 / 0")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert "ZeroDivisionError" in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("gpus", "given", "seen"),
    [(0, {}, ""), (1, {}, "0"), (2, {}, "0,1"), (1, {"CUDA_VISIBLE_DEVICES": "5"}, "5")],
)
def test_a_job_sees_the_gpus_it_was_given(tmp_path, monkeypatch, gpus, given, seen):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    run(tmp_path, "print('sees', os.environ['CUDA_VISIBLE_DEVICES'])", gpus, **given)
    assert f"sees {seen}\n" in (tmp_path / "log").read_text()


@pytest.mark.parametrize("hook", ["onstart:", "onsuccess:", "onerror:"])
def test_the_workflow_has_each_hook_once_at_most(hook, pytestconfig):
    """Snakemake forgets all but the last, without a word."""
    texts = [p.read_text() for p in (pytestconfig.rootpath / "workflow/rules").glob("*.smk")]
    assert sum(text.splitlines().count(hook) for text in texts) <= 1
