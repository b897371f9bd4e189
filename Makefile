PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: demo test lint mutation bench bench-memory bench-service bench-app packages clean

demo: $(VENV)/.installed  ## train and score on data that ships with scikit-learn
	$(BIN)/oddshot demo

test: $(VENV)/.installed lint  ## everything that must pass before a change lands
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

mutation: $(VENV)/.installed  ## how many of 600 small errors made on purpose the tests notice; five minutes
	$(ONE_THREAD) $(BIN)/python -m tests.mutation --sample 600 --seed 0

bench: $(VENV)/.installed  ## speed, as ratios measured in one run
	$(ONE_THREAD) $(BIN)/python -m benchmarks

bench-memory: $(VENV)/.installed  ## the memory of scoring 20 million rows; some minutes
	$(BIN)/python -m benchmarks memory

bench-service: $(VENV)/.installed  ## the service under wrk; five minutes, a quiet machine
	$(ONE_THREAD) $(BIN)/python -m benchmarks.service

bench-app: $(VENV)/.installed  ## how long a person waits for the app; a minute, a quiet machine
	$(BIN)/python -m benchmarks.app

packages: $(VENV)/.installed  ## draw the packages and who imports whom, for CONTRIBUTING.md
	$(BIN)/python -m benchmarks.packages --out docs/packages.png

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV)
