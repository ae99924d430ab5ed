PYTHON ?= python3
BIN := .venv/bin
DEPENDENCIES ?= pinned# or: newest, lowest
QUIETLY := --quiet --disable-pip-version-check
ON_ALL_CORES := -n auto --dist worksteal# neighbours stay together: they share fixtures
unexport PYTHONDONTWRITEBYTECODE # or every process that a test starts compiles the package again

.PHONY: help install demo check test quick-tests check-and-cluster test-all docs docs-serve tutorials method-pages \
	explorers package bench torture clean

help: ## what each target does
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-14s%s\n", $$1, $$2 }'

install: .venv/installed ## unbraid and its tools in .venv (DEPENDENCIES=pinned, newest or lowest)

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
ifeq ($(DEPENDENCIES),lowest)
	$(BIN)/pip install $(QUIETLY) uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --resolution lowest-direct -e '.[dev]'
else
	$(BIN)/pip install $(QUIETLY) $(if $(filter pinned,$(DEPENDENCIES)),-c constraints.txt,--upgrade) -e '.[dev]'
endif
	touch $@

DEMO := ada_gvae --data shapes3d --size 32 --width 16 --lr 1e-3 --steps 6000 --decay 0.3 --seed 0

demo: install ## train, score and explore, on scenes that are rendered here: a few minutes
	$(BIN)/unbraid run $(DEMO) --out runs/demo
	$(BIN)/unbraid explore runs/demo/ada_gvae-shapes3d-* --no-open
	@ls -d $(CURDIR)/runs/demo/ada_gvae-shapes3d-*/report.html $(CURDIR)/runs/demo/ada_gvae-shapes3d-*/explorer.html

check: install ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(if $(filter pinned,$(DEPENDENCIES)),$(BIN)/mypy) # other versions have other types

test: install ## style, types and all quick tests
	$(MAKE) --no-print-directory -j 2 quick-tests check-and-cluster

quick-tests:
	$(BIN)/pytest $(ON_ALL_CORES)

check-and-cluster: check # they take one core, and wait for much of their time
	$(BIN)/pytest --slow tests/study/test_cluster.py

test-all: install check ## the slow tests too
	$(BIN)/pytest $(ON_ALL_CORES) --slow

docs: install ## the documentation, as pages in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

tutorials: install ## run the tutorials, slow parts too, and keep in the pages what they print and draw
	$(BIN)/python -m docs.run_pages

method-pages: install ## run the small run of each method's page where it is missing, and keep its scores and picture: an hour
	$(BIN)/python -m docs.method_pages

explorers: install ## train the models of the live explorers where they are missing, and write their pages: half an hour
	$(BIN)/python -m docs.make_explorers

docs-serve: install ## the documentation, built again at each change, on a local port
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

package: ## sdist and wheel in dist/, each checked, installed into an empty environment and tried there
	rm -rf dist build/package
	$(PYTHON) -m venv build/package/tools
	build/package/tools/bin/pip install $(QUIETLY) build twine
	build/package/tools/bin/python -m build
	build/package/tools/bin/twine check --strict dist/*
	sh tests/smoke.sh dist/*.whl dist/*.tar.gz

bench: install ## speed against other code, one table a script; stop everything else first
	for script in train study metrics transform explorer intervention image_layers compile; do $(BIN)/python benchmarks/$$script.py || exit 1; done

torture: install ## kills, faults, damaged files, odd numbers and load, an hour at most; the table goes to docs/reliability.md
	$(BIN)/python -m torture

clean: ## remove what was built
	rm -rf .venv build dist src/*.egg-info
