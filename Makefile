# Two commands on a fresh machine: `make track` and `make test`. Python 3.11+ is all they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Progress bars of pip are noise in a log; errors are still shown.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: track test check bench clean
.DEFAULT_GOAL := track

track: $(VENV)/.base
	$(BIN)/koala track

# Files of tests side by side, each on a core of its own.
test: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/evaluation.py

clean:
	rm -rf $(VENV)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "koala needs Python 3.11 or newer, this is " + sys.version)'
	$(PYTHON) -m venv $(VENV)

# The stamps are made anew when pyproject.toml changes. `track` needs no torch; the tests cover
# training, too.
$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[dev,train,web,ray]'
	touch $@ $(VENV)/.base
