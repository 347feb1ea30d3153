# Two commands set everything up on a machine with Python 3.11 or later, Java 17 or later and make:
#   make demo    the product at work        make test    all tests
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
# The ready-made main job writes here and nowhere else.
OUT ?= runs/demo

.PHONY: setup demo test check format bench clean

setup: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "penstock needs Python 3.11 or later, this is %d.%d; run make PYTHON=/path/to/a/newer/python3." % sys.version_info[:2])'
	@echo "Installing into .venv (once) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: setup
	@$(BIN)/penstock demo --out $(OUT)

test: setup
	@$(BIN)/penstock doctor --quiet
	$(BIN)/pytest --ignore tests/spark --numprocesses 2 --dist worksteal
	$(BIN)/pytest tests/spark

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf runs build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
