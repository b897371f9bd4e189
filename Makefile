PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# What is installed: what the command needs for those who use the package, and its tools for those who work on it.
TRAINED := $(VENV)/.installed-train
SERVED := $(VENV)/.installed-app
DEVELOPED := $(VENV)/.installed

# The tests of what uses a model.
WITHOUT_TORCH := tests/score tests/methods tests/decisions tests/storage tests/adapted tests/scoring tests/web tests/service tests/app tests/data tests/test_detector.py

.PHONY: help demo app test lint mutation hostile bench bench-memory bench-service bench-app docs packages examples newest without-torch dist clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(TRAINED)  ## train and score on data that ships with scikit-learn; installs the package and what training needs
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

hostile: $(DEVELOPED)  ## every door tried with broken and odd input, kills and full disks; half an hour
	$(ONE_THREAD) $(BIN)/python -m tests.hostile --out results/hostile

bench: $(DEVELOPED)  ## speed, as ratios measured in one run
	$(ONE_THREAD) $(BIN)/python -m benchmarks

bench-memory: $(DEVELOPED)  ## the memory of scoring 20 million rows; some minutes
	$(BIN)/python -m benchmarks memory

bench-service: $(DEVELOPED)  ## the service under wrk; five minutes, a quiet machine
	$(ONE_THREAD) $(BIN)/python -m benchmarks service

bench-app: $(DEVELOPED)  ## how long a person waits for the app; a minute, a quiet machine
	$(BIN)/python -m benchmarks app

docs: $(DEVELOPED)  ## build the documentation as pages that open from the disk: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

packages: $(DEVELOPED)  ## draw the packages and who imports whom, for CONTRIBUTING.md
	$(BIN)/python -m benchmarks.packages --out docs/packages.png

examples: $(DEVELOPED)  ## run the examples and make docs/examples.md, its pictures and the notebooks; two minutes
	$(ONE_THREAD) $(BIN)/python -m examples

newest:  ## the tests with the newest versions of all packages but torch, in an environment of their own
	$(PYTHON) -m venv .venv-newest
	grep '^torch==' constraints.txt > .venv-newest/torch.txt
	.venv-newest/bin/pip install --upgrade --upgrade-strategy eager -c .venv-newest/torch.txt -e '.[dev]'
	.venv-newest/bin/python -m pytest -n auto --dist loadfile

without-torch:  ## the tests of all that uses a model, in an environment without torch
	$(PYTHON) -m venv .venv-without-torch
	.venv-without-torch/bin/pip install -c constraints.txt -e '.[app,serve,plots,onnx]' axe-playwright-python catboost httpx hypothesis liac-arff openpyxl pandas playwright polars pooch prometheus-client pytest pytest-timeout pytest-xdist schemathesis xgboost-cpu
	.venv-without-torch/bin/python -m pytest -n auto --dist loadfile $(WITHOUT_TORCH)

dist: $(DEVELOPED)  ## the wheel and the sdist, checked and installed into a new environment; some minutes
	$(BIN)/python -m benchmarks.distribution

clean:  ## delete the virtual environment
	rm -rf $(VENV)

$(TRAINED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -c constraints.txt -e '.[train]'
	touch $@

$(SERVED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -c constraints.txt -e '.[app]'
	touch $@

$(DEVELOPED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -c constraints.txt -e '.[dev]'
	touch $(TRAINED) $(SERVED) $@
