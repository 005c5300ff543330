# Every target does its own set-up, in .venv, and repeats it only when the requirements changed.

PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
REQUIREMENTS := pyproject.toml constraints.txt

# Tests that answer within seconds; the others are marked long or slow. Other versions of Python and
# of packages are tried on all engines of frames, `make check` on two.
QUICK := not slow and not long

# How many cases `make fuzz` tries, and from which seed on: make fuzz FUZZ=2000 FUZZ_SEED=7
FUZZ ?= 100000
FUZZ_SEED ?= 0

# Where `make collect-demo` listens.
PORT ?= 8000

# How large `make validity` is, and on how many processes: make validity SIZE=small JOBS=2
SIZE ?= full
JOBS ?= $(shell nproc 2>/dev/null || echo 1)
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1

# Tests start hundreds of processes: without bytecode, each compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo collect-demo lint quick check test test-all test-delta test-oldest test-python fuzz validity mutants bench docs docs-output constraints clean

help:
	@echo "make demo         simulate a hiring panel, plan, audit, retrain, write demo/report.html"
	@echo "make collect-demo a ready study that one can join in the browser, at port 8000; PORT=8001 for another"
	@echo "make check        ruff, mypy, quick tests: what one runs all day"
	@echo "make test         all tests but the slow ones, and doctests"
	@echo "make test-all     all tests, the slow ones too"
	@echo "make test-delta   every command on Delta tables, over Spark Connect"
	@echo "make test-oldest  quick tests and a small demo with the oldest versions pyproject.toml allows"
	@echo "make test-python VERSION=3.12    quick tests with another Python, where it is found"
	@echo "make mutants      change the code and see whether a test notices"
	@echo "make fuzz         $(FUZZ) odd files and options through every command; FUZZ=2000 for fewer"
	@echo "make validity     error rates in random worlds, docs/validity.md; SIZE=small within two minutes"
	@echo "make bench        benchmarks"
	@echo "make docs         the documentation as a site, site/index.html"
	@echo "make docs-output  everything that pages show of the code, written again; PAGES=docs/gate.md for some"
	@echo "make constraints  write constraints.txt again from what .venv holds"
	@echo "make clean        remove .venv, caches and demo/"

demo: .venv/runtime.stamp
	@$(BIN)/comparity demo --directory demo

# The study is kept in demo/collect: the next start goes on with the same answers.
collect-demo: .venv/collect.stamp
	@$(BIN)/python examples/collect_demo.py $(PORT)

lint: .venv/test.stamp
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy

# Loading torch takes as long as many tests.
quick: .venv/test.stamp
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal --hypothesis-profile=quick \
		--ignore=src/comparity/training/torch_game.py -m "$(QUICK) and not engines"

# mypy has one core only, so that tests take the other.
check: .venv/test.stamp
	@$(MAKE) --no-print-directory --jobs 2 lint quick

test: .venv/test.stamp
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow"

test-all: .venv/test.stamp .venv-delta/test.stamp
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal --hypothesis-profile=explore
	@$(MAKE) --no-print-directory test-delta

# Sail reads Delta without Java. It is a server of its own, and knows clients of some versions only.
test-delta: .venv-delta/test.stamp
	@.venv-delta/bin/python -m pytest -q -m slow -k delta tests/cli/test_spark_connect.py

# Old packages warn of what their younger neighbours will remove, which is no concern of ours.
test-oldest: .venv-oldest/test.stamp
	@.venv-oldest/bin/python -m pytest -q -n 2 --dist worksteal -m "$(QUICK)" -o filterwarnings=default
	@.venv-oldest/bin/comparity demo --quick --directory .venv-oldest/demo

# The interpreter is the system's, or one that uv or pyenv knows; without any there is nothing to test.
test-python:
	@test -n "$(VERSION)" || { echo "name a version: make test-python VERSION=3.12" >&2; exit 2; }
	@found=""; for python in "$$(command -v python$(VERSION))" "$$(uv python find --no-project $(VERSION) 2>/dev/null)" \
		"$$(PYENV_VERSION=$$(pyenv latest $(VERSION) 2>/dev/null) pyenv which python 2>/dev/null)"; do \
		"$$python" -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != "$(VERSION)")' 2>/dev/null \
		&& found="$$python" && break; done; \
	if [ -z "$$found" ]; then \
		echo "skipped: no Python $(VERSION) is found, neither as python$(VERSION) nor by uv or pyenv"; \
	else $(MAKE) --no-print-directory FOUND="$$found" .venv-$(VERSION)/test.stamp \
		&& .venv-$(VERSION)/bin/python -m pytest -q -n 2 --dist worksteal -m "$(QUICK)"; fi

fuzz: .venv/test.stamp
	@$(BIN)/python -m tests.fuzz $(FUZZ) $(FUZZ_SEED)

# The page keeps what the large simulation found.
validity: .venv/test.stamp
	@$(ONE_THREAD) $(BIN)/python -m tests.validity --size $(SIZE) --jobs $(JOBS) $(if $(filter small,$(SIZE)),,--write)

mutants: .venv/test.stamp
	@$(ONE_THREAD) $(BIN)/python -m tests.mutation

bench: .venv/bench.stamp
	@for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python "$$file" || exit 1; done

docs: .venv/docs.stamp
	@$(BIN)/python docs/build_site.py
	@$(BIN)/zensical build --clean --strict --config-file zensical.toml
	@echo "wrote site/index.html; for the search: $(BIN)/python -m http.server -d site"

# Tables made from the code, then what commands and doctests print. git diff shows what changed.
docs-output: .venv/test.stamp
	@$(BIN)/python docs/metrics.py
	@$(BIN)/python docs/ranking.py
	@$(BIN)/python docs/glossary.py
	@$(BIN)/python docs/house.py --write > /dev/null
	@$(BIN)/python -m tests.documentation.refresh $(PAGES)
	@git diff --stat -- '*.md'

constraints: .venv/test.stamp .venv/bench.stamp
	@{ sed -n '/^#/p' constraints.txt; $(BIN)/python -m pip freeze --exclude-editable | sed 's/+cpu$$//'; } > .venv/frozen
	@mv .venv/frozen constraints.txt

clean:
	rm -rf .venv .venv-* demo build dist site .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "comparity needs Python 3.11 or newer; none was found." \
		"Install one, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make a virtual" \
		"environment: python3-venv is missing (Debian, Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	@echo "making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv

.venv/runtime.stamp: $(REQUIREMENTS) | .venv/bin/python
	@echo "installing comparity and what it needs"
	@$(PIP) -e .
	@touch $@

.venv/test.stamp: $(REQUIREMENTS) | .venv/bin/python
	@echo "installing comparity and what its tests need"
	@$(PIP) -e ".[test,witnesses,docs]"
	@touch .venv/runtime.stamp $@

.venv/collect.stamp: $(REQUIREMENTS) | .venv/bin/python
	@echo "installing comparity and what the collection of judgments needs"
	@$(PIP) -e ".[collect]"
	@touch .venv/runtime.stamp $@

.venv/bench.stamp: $(REQUIREMENTS) | .venv/bin/python
	@echo "installing comparity and what its benchmarks need"
	@$(PIP) -e ".[bench]"
	@touch .venv/runtime.stamp $@

.venv/docs.stamp: $(REQUIREMENTS) | .venv/bin/python
	@echo "installing comparity and what its documentation needs"
	@$(PIP) -e ".[docs]"
	@touch .venv/runtime.stamp $@

# What lays out the site asks for younger neighbours; of what pages need, the reference is tested.
.venv-oldest/test.stamp: pyproject.toml tests/oldest.py | .venv/bin/python
	@echo "installing the oldest versions that pyproject.toml allows"
	@$(BIN)/python -m venv --clear .venv-oldest
	@$(BIN)/python -m tests.oldest > .venv-oldest/constraints.txt
	@.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check \
		-c .venv-oldest/constraints.txt -e ".[test]" latex2mathml
	@touch $@

.venv-delta/test.stamp: $(REQUIREMENTS) | .venv/bin/python
	@echo "installing comparity, a client of Spark Connect and a server that reads Delta"
	@$(BIN)/python -m venv --clear .venv-delta
	@.venv-delta/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e ".[pandas,pyarrow]" hypothesis pytest "pyspark-client>=4.1,<4.2" "pysail>=0.7" "deltalake>=1.6"
	@touch $@

.venv-$(VERSION)/test.stamp: $(REQUIREMENTS)
	@echo "installing comparity and what its tests need for Python $(VERSION)"
	@$(FOUND) -m venv --clear .venv-$(VERSION)
	@.venv-$(VERSION)/bin/python -m pip install --quiet --disable-pip-version-check \
		-c constraints.txt -e ".[test,witnesses,docs]"
	@touch $@
