# make demo: train, score and look, on data that is rendered here.   make test: all quick tests and checks.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-all check docs docs-serve install clean

install: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: install
	$(BIN)/unbraid run ada_gvae --data dsprites --size 32 --width 16 --lr 1e-3 --steps 4000 --seed 0

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: install check
	$(BIN)/pytest -n auto
	$(BIN)/pytest --slow tests/study/test_cluster.py

test-all: install check
	$(BIN)/pytest -n auto --slow

docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

clean:
	rm -rf .venv build dist src/*.egg-info
