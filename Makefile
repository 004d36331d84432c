PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test tests proof coverage bench docs lint wheel clean

# An environment of the project's own; virtualenv stands in where Python came without venv.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "cranfield needs Python 3.11 or newer: make PYTHON=python3.12" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV) || { $(PYTHON) -m pip install --user virtualenv && $(PYTHON) -m virtualenv $(VENV); }

$(VENV)/.core: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[charts,workbook]'
	@touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

$(VENV)/.bench: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

demo: $(VENV)/.core
	@BIN=$(BIN) sh scripts/demo.sh

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Every process of a test would compile every module again without bytecode, and two workers with two threads each for
# linear algebra stand in each other's way.
tests proof coverage: export PYTHONDONTWRITEBYTECODE =
tests proof coverage: export OPENBLAS_NUM_THREADS = 1

test: $(VENV)/.test
	@$(MAKE) --no-print-directory --jobs=2 lint tests

tests: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist worksteal

# All tests at full size: long simulations, more examples, every page of the documentation, the real data.
proof: lint
	CRANFIELD_PROOF=1 $(BIN)/python -m pytest -n auto --dist worksteal -m ''

# The share of lines and branches that `make test` runs; compiled kernels count as run only where they are interpreted.
coverage: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=term:skip-covered

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

# The wheel, tried in clean environments, and what each part weighs (15 minutes: PYTHONS and EXTRAS choose fewer).
wheel: $(BIN)/python
	BUILDER=$(CURDIR)/$(BIN)/python sh scripts/try_wheel.sh

# Runs every command that the pages show, and puts under it what it prints and draws; a warning is an error.
docs: $(VENV)/.docs
	$(BIN)/python scripts/make_reference.py --check
	$(BIN)/python -m sphinx -W --keep-going -b html -d build/doctrees docs build/docs
	@echo "open build/docs/index.html"

clean:
	rm -rf $(VENV) demo build dist
