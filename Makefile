PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# What is installed: the package alone for those who use it, with its tools for those who work on it.
USED := $(VENV)/.installed-package
SERVED := $(VENV)/.installed-app
DEVELOPED := $(VENV)/.installed

.PHONY: help demo app test lint mutation bench bench-memory bench-service bench-app packages clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(USED)  ## train and score on data that ships with scikit-learn; installs the package alone
	$(BIN)/oddshot demo

app: $(SERVED)  ## open the app in the browser; installs the package and what the app needs
	$(BIN)/oddshot app

test: $(DEVELOPED) lint  ## everything that must pass before a change lands; installs the tools
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(DEVELOPED)  ## ruff, mypy and import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

mutation: $(DEVELOPED)  ## how many of 600 small errors made on purpose the tests notice; five minutes
	$(ONE_THREAD) $(BIN)/python -m tests.mutation --sample 600 --seed 0

bench: $(DEVELOPED)  ## speed, as ratios measured in one run
	$(ONE_THREAD) $(BIN)/python -m benchmarks

bench-memory: $(DEVELOPED)  ## the memory of scoring 20 million rows; some minutes
	$(BIN)/python -m benchmarks memory

bench-service: $(DEVELOPED)  ## the service under wrk; five minutes, a quiet machine
	$(ONE_THREAD) $(BIN)/python -m benchmarks.service

bench-app: $(DEVELOPED)  ## how long a person waits for the app; a minute, a quiet machine
	$(BIN)/python -m benchmarks.app

packages: $(DEVELOPED)  ## draw the packages and who imports whom, for CONTRIBUTING.md
	$(BIN)/python -m benchmarks.packages --out docs/packages.png

clean:  ## delete the virtual environment
	rm -rf $(VENV)

$(USED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e .
	touch $@

$(SERVED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e '.[app]'
	touch $(USED) $@

$(DEVELOPED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev]'
	touch $(USED) $(SERVED) $@
