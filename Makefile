# One verb for each thing. `make run` and `make test` set everything up by themselves.
VENV := .venv
PEERS := $(VENV)/peers
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	"$$p" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help install run test test-peers check lint format types arch audit docs soak bench bench-peers bench-check clean

help:             ## say what each verb does
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "turnkeeper needs Python 3.11, 3.12 or 3.13 on the PATH (or: make PYTHON=/path/to/python3.11 ...)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: setup.cfg pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(INSTALL) -e '.[dev]'
	@touch $@

install: $(VENV)/.installed-dev   ## the environment with all tools

run: $(VENV)/.installed           ## one rescued turn, end to end, on the embedded Postgres
	@$(BIN)/turnkeeper demo

test: $(VENV)/.installed-dev      ## all tests, the Postgres ones included
	$(BIN)/pytest -q

# One client wants an older tenacity than ours, so they live in an environment of their own.
$(PEERS)/.installed: setup.cfg pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m venv $(PEERS)
	grep -v '^tenacity==' constraints.txt > $(PEERS)/constraints.txt
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -c $(PEERS)/constraints.txt -e '.[dev,peers]'
	@touch $@

test-peers: $(PEERS)/.installed   ## what adapters send, beside the providers' own clients
	$(PEERS)/bin/pytest -q tests/peers

check: lint types arch test       ## everything that must be green

lint: $(VENV)/.installed-dev      ## ruff and bandit
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive domain application infrastructure interfaces

format: $(VENV)/.installed-dev    ## let ruff tidy up
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.installed-dev     ## mypy, strict
	$(BIN)/mypy
	$(BIN)/mypy tests

arch: $(VENV)/.installed-dev      ## imports point inward
	$(BIN)/lint-imports

audit: $(VENV)/.installed-dev     ## known weaknesses of what is installed; asks the network
	$(BIN)/pip-audit --strict --requirement constraints.txt --no-deps --disable-pip

$(VENV)/.installed-docs: $(VENV)/.installed
	$(INSTALL) -e '.[docs]'
	@touch $@

docs: $(VENV)/.installed-docs     ## the documentation, built strictly into build/site
	$(BIN)/python docs/settings_page.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

soak: $(VENV)/.installed-dev      ## the long forms of the property tests
	TURNKEEPER_SOAK=1 $(BIN)/pytest -q --timeout 3600 tests/domain/test_steps_properties.py \
		tests/domain/test_planted_faults.py tests/acceptance/test_shell_state_machine.py \
		tests/acceptance/test_no_leaks.py \
		tests/interfaces/test_cli_crashtest.py \
		tests/fuzz tests/chaos
	$(BIN)/python -m tests.fuzz.sse --cases 1000000
	$(BIN)/python -m tests.chaos.soak --turns 10000 --processes 4

bench: $(VENV)/.installed         ## ratios against a floor measured in the same run
	$(BIN)/python -m benchmarks

# Each peer has its own environment, since they disagree about their dependencies.
bench-peers: $(VENV)/.installed   ## the same beside the peers, which it installs from the network
	@for list in benchmarks/peers/*.txt; do \
		env=$(VENV)/bench-$$(basename $$list .txt); \
		test -e $$env/.installed && continue; \
		echo "installing $$(cat $$list)"; \
		$(BIN)/python -m venv $$env \
			&& $$env/bin/python -m pip install --quiet --disable-pip-version-check -r $$list \
			&& touch $$env/.installed || echo "$$list does not install, and is left out"; \
	done
	$(BIN)/python -m benchmarks.peers

bench-check: $(VENV)/.installed   ## calls a turn takes, against the baseline
	$(BIN)/python -m benchmarks.check

clean:            ## forget the environment and the caches
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
