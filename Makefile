# Each target sets up .venv by itself on first use and again only when the dependencies change: what geodual
# needs to run, and for all targets but the demo also what its development needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
STAMP := $(VENV)/.development
TOOLS := build/tools
INSTALL := pip install --quiet --disable-pip-version-check
RUNNERS := pytest pytest-xdist hypothesis
# Python keeps what it compiled, whatever the shell says: tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test quick bench bench-check bench-scale docs docs-links lint clean \
	fuzz kills mutants release release-check sbom audit test-min test-newest

demo: $(RUNTIME)
	$(BIN)/geodual demo --out output/demo

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal

quick: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

bench: $(STAMP)
	$(BIN)/python -m benchmarks

bench-check: $(STAMP)
	$(BIN)/python -m benchmarks check

bench-scale: $(STAMP)
	$(BIN)/python -m benchmarks scale

docs: $(STAMP)
	$(BIN)/python -m sphinx -W --keep-going -d output/docs/trees docs output/docs/html
	$(BIN)/python -m docs.check_links output/docs/html

docs-links: $(STAMP)
	$(BIN)/python -m sphinx -b linkcheck -d output/docs/trees docs output/docs/links

fuzz: $(STAMP)
	$(BIN)/python -m fuzz --minutes 120 --seed 0

kills: $(STAMP)
	$(BIN)/python -m tests.trust.kills

# Takes about an hour; docs/mutants.md has the last scores.
mutants: $(STAMP)
	$(BIN)/python -m $(INSTALL) --upgrade --target build/mutants/lib --requirement mutants/requirements.txt
	PYTHONPATH="$(CURDIR)/build/mutants/lib" $(BIN)/python -m mutants

# The wheel and the source archive, in dist.
release: $(TOOLS)/.installed
	rm -rf dist
	$(TOOLS)/bin/python -m build
	$(TOOLS)/bin/twine check --strict dist/*

# The wheel in an empty environment.
release-check: release
	rm -rf build/wheel
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m $(INSTALL) --constraint constraints.txt "$$(echo dist/*.whl)[funds]"
	build/wheel/bin/python -m pip check
	cd build && wheel/bin/geodual demo --out demo --quiet

# What the wheel installs: a bill of materials beside it.
sbom: release-check
	$(TOOLS)/bin/cyclonedx-py environment --output-file dist/geodual.cdx.json build/wheel/bin/python

# Needs a connection to the database of known vulnerabilities.
audit: $(TOOLS)/.installed
	$(TOOLS)/bin/pip-audit --strict --no-deps --disable-pip --requirement constraints.txt

# The tests that need no peers, with the oldest and with the newest versions of all dependencies.
test-min:
	mkdir -p build
	$(PYTHON) release/lower_bounds.py > build/oldest.txt
	$(PYTHON) -m venv --clear build/oldest
	build/oldest/bin/python -m $(INSTALL) --constraint build/oldest.txt --editable ".[excel]" $(RUNNERS)
	build/oldest/bin/python -m pytest -n 2 -m "not slow" -W ignore::DeprecationWarning $$(build/oldest/bin/python release/missing_peers.py)

test-newest:
	$(PYTHON) -m venv --clear build/newest
	build/newest/bin/python -m $(INSTALL) --upgrade --editable ".[excel]" $(RUNNERS)
	build/newest/bin/python -m pytest -n 2 -m "not slow" $$(build/newest/bin/python release/missing_peers.py)

$(TOOLS)/.installed: release/requirements.txt
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m $(INSTALL) --requirement $<
	touch $@

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(RUNTIME): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m $(INSTALL) --no-compile --constraint constraints.txt --editable ".[funds]"
	touch $@

$(STAMP): $(RUNTIME)
	$(BIN)/python -m $(INSTALL) --no-compile --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist output docs/gallery docs/_notebooks docs/reference/generated
