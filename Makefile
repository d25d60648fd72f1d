# make demo    compare the dispatchers on the built-in workload, and make a page of it
# make test    run the tests that need nothing but the clone; make test-traces and make test-slurm run the others
# make check   the linter, the type check and the tests; make hooks runs them at each commit and push
# make docs    build the site into docs/_build/html
# make nightly the full counts of what make test has at its smallest scale; its three parts, each of at most 80 minutes on
#              two cores, are make nightly-dispatching, make nightly-product and make nightly-long
# Each makes .venv first, if need be, and installs the project into it. Type checkers cannot follow its editable
# installation, as the root of the clone is the package; they read the link hpcdispatch-stubs instead. Byte code is made as modules are imported,
# whatever the environment says, or every process of the tests would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
# Of the random inputs of a night; another one each day.
SEED ?= $(shell date +%j)000
REPRODUCED := icpp2019/table1 ijhpca2019/table1 jsspp2000/fig1 dsrt2020/fig5
BIN := .venv/bin
PACKAGES := analysis api base bench cli dispatchers learn models predictors simulation testing workloads

.PHONY: demo docs notebooks distributions lowest test test-traces test-slurm compiled check lint types hooks mutants nightly nightly-dispatching \
	nightly-product nightly-long nightly-recorded nightly-cross nightly-fuzz nightly-faults nightly-studies bench clean

.venv/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hpcdispatch needs Python >= 3.11, got " + sys.version.split()[0] + "; say make PYTHON=python3.12, or what yours is called")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	@ln -sfn "$(CURDIR)" "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/hpcdispatch-stubs"
	@touch $@

demo: .venv/installed
	$(BIN)/hpcdispatch compare --out demo-results
	$(BIN)/hpcdispatch report demo-results

compiled: .venv/installed
	$(BIN)/hpcdispatch compile

PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=20

# They open no file outside the clone and the temporary folder, and call no other host.
test: compiled
	$(PYTEST)

# On public traces, in ../shared/data or the folder that HPCDISPATCH_DATA names. Tests without their trace are skipped.
test-traces: compiled
	$(PYTEST) -m "traces and not nightly"

# Beside a real Slurm, which .ci/slurm installs. Its clock runs ten times as fast, so that they run alone.
test-slurm: compiled
	$(BIN)/python -m pytest --durations=20 -m slurm

# How many of some faults, put into the code one at a time, the tests find.
mutants: compiled
	PYTHONPATH=tests $(BIN)/python -m mutants

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The root of the repository is the package, so that the type checker needs a folder in which it has that name.
# Studies import the oracles of the tests.
types: .venv/installed
	mkdir -p .typecheck && ln -sfn "$(CURDIR)" .typecheck/hpcdispatch
	cd .typecheck && MYPYPATH=.:../tests ../$(BIN)/mypy --config-file ../pyproject.toml -m hpcdispatch -m hpcdispatch.__main__ $(PACKAGES:%=-p hpcdispatch.%)

# Opens offline: docs/_build/html/index.html. Other projects' names are linked where the network can be reached.
docs: .venv/installed
	@$(BIN)/python -c 'import furo, latex2mathml, myst_nb, numpydoc, sphinx_click, sphinx_copybutton' 2>/dev/null || { \
		echo "make docs: the docs extra is missing; say $(BIN)/python -m pip install -e '.[docs]'"; exit 1; }
	$(BIN)/python -m sphinx -b html --fail-on-warning --keep-going --quiet -j auto docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Runs the tutorials and writes their outputs into them.
notebooks: compiled
	PYTHONPATH=tests $(BIN)/python -m notebooks

# The source distribution and the wheel, as they are published.
distributions: .venv/installed
	rm -rf dist build
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*

# The lowest versions of all dependencies and of two extras together, and a run of what uses them: files, the solver,
# statistics, pictures, scikit-learn, Gymnasium, Dask.
LOWEST := .venv-lowest/bin
lowest:
	$(PYTHON) -m venv --clear .venv-lowest
	$(LOWEST)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		extras = project["optional-dependencies"]; lines = project["dependencies"] + extras["cluster"] + extras["learn"]; \
		print(*(line.replace(">=", "==") for line in lines), sep="\n")' > .venv-lowest/lowest.txt
	$(LOWEST)/python -m pip install --quiet -r .venv-lowest/lowest.txt
	$(LOWEST)/python -m pip install --quiet --no-deps .
	$(LOWEST)/python -m pip check
	cd examples && ../$(LOWEST)/hpcdispatch compare trace.swf.gz --dispatchers easy,conservative,hcp3 --seeds 2 --jitter 1m \
		--out ../.venv-lowest/results
	$(LOWEST)/hpcdispatch report .venv-lowest/results
	$(LOWEST)/hpcdispatch workload convert examples/trace.swf.gz .venv-lowest/trace.parquet
	$(LOWEST)/hpcdispatch workload describe .venv-lowest/trace.parquet
	$(LOWEST)/hpcdispatch evict examples/scenario.json --nodes 512 --deadline 15m --plot .venv-lowest/loss.png
	cd examples && ../$(LOWEST)/hpcdispatch run trace.swf.gz --predictor sklearn
	cd .venv-lowest && bin/python -c 'import gymnasium, hpcdispatch.learn; \
		environment = gymnasium.make("hpcdispatch/PickJob-v0", workload="lublin:jobs=600"); environment.reset(seed=1); environment.step(0)'
	cd .venv-lowest && printf 'dispatchers = ["easy"]\n[[workload]]\nsource = "lublin:jobs=50"\n' > small.toml && bin/python -c 'import subprocess, distributed; \
		cluster = distributed.LocalCluster(n_workers=1, dashboard_address=None); \
		campaign = ["bin/hpcdispatch", "campaign", "small.toml", "--out", "store"]; \
		subprocess.run([*campaign, "--cluster", cluster.scheduler_address, "--insecure"], check=True)'

check: lint types test

hooks: .venv/installed
	$(BIN)/pre-commit install

nightly: nightly-dispatching nightly-product nightly-long

# Runs each of some modules with its arguments. What one finds stops no other.
all_of = status=0; for part in $(1); do echo "$$part"; PYTHONPATH=tests $(BIN)/python -m $$part || status=1; done; exit $$status

# Two at a time, each on one core and bounded in time.
nightly-long: compiled
	$(MAKE) -j2 -k nightly-recorded nightly-cross nightly-fuzz nightly-faults nightly-studies

# All tests, those that only nights have among them: first those of what decides, then the others, and how much of the code
# both run.
NIGHT := $(PYTEST) -m "" --hypothesis-profile=night --hypothesis-seed=$(SEED) --cov
DECIDES := $(addprefix tests/,cross dispatchers fuzz learn models predictors recorded simulation testing workloads)
nightly-dispatching: compiled
	$(NIGHT) --cov-report= $(DECIDES)

nightly-product: compiled
	mkdir -p results
	$(NIGHT) --cov-append --cov-report=json:results/coverage.json tests $(DECIDES:%=--ignore=%)
	$(BIN)/python tests/coverage_table.py results/coverage.json

# The schedules of every registered dispatcher as they were recorded.
nightly-recorded: .venv/installed
	PYTHONPATH=tests $(BIN)/python -m recorded

# Every dispatcher x overrun mode x predictor on random workloads, and random decisions under rules.
nightly-cross: .venv/installed
	$(call all_of,\
		"cross --rounds 1000 --long 900 --first $(SEED)" \
		"ruled --count 100000 --long 60 --first $(SEED)")

# Malformed files, options and states.
nightly-fuzz: .venv/installed
	PYTHONPATH=tests $(BIN)/python -m fuzz --long 900 --count 100000 --first $(SEED)

# Campaigns that are killed at random instants, commands that signals end, and odd arguments.
nightly-faults: .venv/installed
	$(call all_of,\
		"faults --kills 1000 --long 600 --first $(SEED)" \
		"faults.signals --signals 39 --first $(SEED)" \
		"faults.arguments" \
		"faults.mistakes" \
		"faults.example_mistakes --share 0.2 --first $(SEED)" \
		"faults.flips --count 1000 --first $(SEED)")

# The benchmarks as smoke tests, where CP-SAT pays, PCP'21 on KIT's machine, and one figure or table of each paper at small scale.
BENCHMARKS := engine engine.site_rules engine.rule_speed cp sequences eviction moldable onthefly scaling slurm
nightly-studies: .venv/installed
	$(call all_of,\
		$(foreach study,$(BENCHMARKS),"hpcdispatch.bench.studies.benchmarks.$(study) --small") \
		"hpcdispatch.bench.studies.benchmarks.cp.solver_gain" \
		"hpcdispatch.bench.studies.benchmarks.cp.kit" \
		"hpcdispatch reproduce $(REPRODUCED) --scale small --out results/nightly")

bench: .venv/installed
	$(BIN)/python -m hpcdispatch.bench.studies.benchmarks.engine
	$(BIN)/python -m hpcdispatch.bench.studies.benchmarks.cp
	$(BIN)/python -m hpcdispatch.bench.studies.benchmarks.sequences
	$(BIN)/python -m hpcdispatch.bench.studies.benchmarks.eviction
	$(BIN)/python -m hpcdispatch.bench.studies.benchmarks.moldable

clean:
	rm -rf .venv .venv-lowest .typecheck build dist docs/_build demo-results *.egg-info
