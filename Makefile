# make demo    compare the dispatchers on the built-in workload, and make a page of it
# make test    run the tests
# make check   the linter, the type check and the tests; make hooks runs them at each commit and push
# Each makes .venv first, if need be, and installs the project into it; byte code is made as modules are imported,
# whatever the environment says, or every process of the tests would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
BIN := .venv/bin
PACKAGES := analysis base bench cli dispatchers models predictors simulation testing workloads

.PHONY: demo test check lint types hooks bench clean

.venv/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hpcdispatch needs Python >= 3.11, got " + sys.version.split()[0] + "; say make PYTHON=python3.12, or what yours is called")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	@touch $@

demo: .venv/installed
	$(BIN)/hpcdispatch compare --out demo-results
	$(BIN)/hpcdispatch report demo-results

# More at a time than there are cores on the smallest machine: tests wait for processes of their own.
test: .venv/installed
	$(BIN)/hpcdispatch compile
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The root of the repository is the package, so that the type checker needs a folder in which it has that name.
# Studies import the oracles of the tests.
types: .venv/installed
	mkdir -p .typecheck && ln -sfn "$(CURDIR)" .typecheck/hpcdispatch
	cd .typecheck && MYPYPATH=.:../tests ../$(BIN)/mypy --config-file ../pyproject.toml $(PACKAGES:%=-p hpcdispatch.%)

check: lint types test

hooks: .venv/installed
	$(BIN)/pre-commit install

bench: .venv/installed
	$(BIN)/python -m hpcdispatch.bench.studies.benchmarks.engine
	$(BIN)/python -m hpcdispatch.bench.studies.benchmarks.cp
	$(BIN)/python -m hpcdispatch.bench.studies.benchmarks.sequences
	$(BIN)/python -m hpcdispatch.bench.studies.benchmarks.eviction
	$(BIN)/python -m hpcdispatch.bench.studies.benchmarks.moldable

clean:
	rm -rf .venv .typecheck build demo-results *.egg-info
