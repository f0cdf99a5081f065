# make run    optimise a real example      make test         every check and test, as CI does
# make test-faults, make test-soak  what bopp survives, one by one and all at once
# make bench         bopp on every task of the contest, and its page; make bench-peers  the peers' runs that are missing
# make bench-goals   the same with constraints and with several objectives
# make bench-speed, make bench-regret-small  bopp and its peers in one run
# make test-processors  the engine as on other processors
# make test-bridges  each bridge with the real library, in an environment of its own
# make test-lowest  the tests with the lowest versions of the libraries that pyproject.toml allows
# make docs          the pages and the reference of every public name, as a site in site/
# make dist          the packages of a release
# make bench-mixed, make bench-batch  what a suggestion costs in mixed spaces, and in a batch
# make bench-conditions  what it is worth to say which parameters apply when
# make bench-knowledge  what images, guesses, cheap data and earlier studies are worth
# make bench-fidelities  what cheap evaluations are worth in trainings
# make bench-pending which value a pending point should have
# make bench-importance  how well importances are estimated, beside Optuna's
# make bench-store   what a store costs
# make history       how the figures of the benchmarks developed
# make reproduction  the paper's experiment, its table and its figures
# make notebook      examples/first_hour.ipynb, run anew

PYTHON ?= python3
PIP = -m pip install --quiet --disable-pip-version-check
RUN = .venv/bin
BENCH = .venv-bench/bin
LOWEST = .venv-lowest/bin
DOCS = .venv-docs/bin
PEERS ?= sobol cmaes tpe ngopt gpsampler botorch turbo smac-hpo skopt smac-bb
beside_optuna = ,sklearn
beside_sklearn = ,plot,coming
beside_botorch = ,coming-ax
beside_ray = ,optuna

ENGINE = acquisition adoption belief conditions constraint data feasibility fidelity fit fitted fixtures fixtures_goals fixtures_knowing fixtures_named fixtures_trend \
  front goals gp guesses held hypervolume images \
  informed initial kernels kinds knowledge known limits memory never_breaks number optimizer outcome paper_theory \
  parameter polytope problem processors pseudo quadratic region relatives search space suggest threads trend trial view_calibration view_contour view_importance \
  view_prediction view_slices
ENGINE_TESTS = $(ENGINE:%=tests/test_%.py)

.PHONY: run test test-slow test-faults test-soak test-lowest test-processors test-two-processors test-bridges test-optuna test-sklearn test-botorch test-ray lint format docs dist bench bench-peers bench-speed bench-regret-small bench-goals bench-batch bench-mixed bench-pending bench-importance bench-conditions bench-fidelities bench-knowledge bench-dashboard bench-store history reproduction notebook pictures clean

run: .venv/examples
	$(RUN)/python examples/tune_regression.py

test: lint
	$(RUN)/python -m pytest -n 2 --dist worksteal --ignore tests/bridges

test-slow: test-faults test-soak
	$(RUN)/python -m pytest -n 2 --ignore tests/bridges -m 'slow and not fault'

# every fault that bopp is to survive, at full size
test-faults: .venv/test
	$(RUN)/python -m pytest tests -n 2 --ignore tests/bridges -m fault --fault-table docs/faults.md

test-soak: .venv/test
	$(RUN)/python tests/soak.py --minutes 30 --seed 0 --store both

# an old library may warn of a new one that it stands on: that is not ours to mend
test-lowest: .venv-lowest/ready
	$(LOWEST)/python -m pytest -n 2 --ignore tests/bridges -W ignore::DeprecationWarning

test-processors: .venv/test
	$(RUN)/python tests/support/processors.py -n 2 $(ENGINE_TESTS)

test-two-processors: .venv/test
	$(RUN)/python tests/support/processors.py --two -n 2 $(ENGINE_TESTS)

test-bridges: test-optuna test-sklearn test-botorch test-ray

test-optuna test-sklearn test-botorch: test-%: .venv-bridges/%/ready
	.venv-bridges/$*/bin/python -m pytest tests/bridges/test_$*.py

# Ray has no packages for some machines: there its bridge stays untested, and the last line says so
test-ray:
	if $(MAKE) .venv-bridges/ray/ready; \
	then .venv-bridges/ray/bin/python -m pytest tests/bridges/test_ray.py; \
	else echo "Ray does not install here: its bridge was not tested"; fi

lint: .venv/test
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy
	$(RUN)/lint-imports

format: .venv/test
	$(RUN)/ruff format .
	$(RUN)/ruff check --fix .

docs: .venv-docs/ready
	NO_MKDOCS_2_WARNING=1 $(DOCS)/mkdocs build --strict

dist: .venv-dist/ready
	rm -rf dist
	.venv-dist/bin/python -m build
	.venv-dist/bin/twine check --strict dist/*

# bopp is run anew, the peers' runs are kept: delete those in benchmarks/contest/results to have them again
bench: .venv-bench/ready
	$(BENCH)/python benchmarks/bench.py --part table --peers bopp --again
	$(BENCH)/python benchmarks/contest_report.py --out docs/benchmarks.md

# hours on one core; stopped, it goes on where it was
bench-peers: .venv-bench/ready
	$(BENCH)/python benchmarks/bench.py --part table --peers $(PEERS)

# as for the contest: bopp is run anew, the runs of the peers are kept in benchmarks/goals/results; those that are
# missing are made by benchmarks/goals_bench.py --peers botorch gpsampler tpe nsga2 sobol
bench-goals: .venv-bench/ready
	$(BENCH)/python benchmarks/goals_bench.py --part table --peers bopp bopp-reference --again
	$(BENCH)/python benchmarks/goals_bench.py --speed
	$(BENCH)/python benchmarks/goals_report.py --out docs/goals-benchmarks.md

bench-speed: .venv-bench/ready
	$(BENCH)/python benchmarks/speed.py --out docs/speed.md

bench-regret-small: .venv-bench/ready
	rm -rf benchmarks/results/bopp # the peers' runs are kept, ours are of this source
	$(BENCH)/python benchmarks/regret.py

bench-batch: .venv/test
	$(RUN)/python benchmarks/batch.py --out docs/batch.md

bench-mixed: .venv/test
	$(RUN)/python benchmarks/mixed.py --out docs/mixed.md

bench-pending: .venv/test
	$(RUN)/python benchmarks/pending.py --out docs/pending.md

bench-importance: .venv-bench/ready
	$(BENCH)/python benchmarks/importance.py --out docs/importance.md

bench-conditions: .venv/test
	$(RUN)/python benchmarks/conditions.py --out docs/conditions.md

# the peers' runs and ours are kept: delete benchmarks/results/knowledge after a change to bopp
bench-knowledge: .venv-bench/ready
	$(BENCH)/python benchmarks/knowledge.py --out docs/knowledge-worth.md
	$(BENCH)/python benchmarks/earlier.py --out docs/earlier.md

bench-fidelities: .venv-bench/ready
	rm -rf benchmarks/results/fidelities # runs of this source
	$(BENCH)/python benchmarks/fidelities.py --out docs/fidelities.md

# a real browser, Debian's chromium and chromium-driver, and an idle machine
bench-dashboard: .venv/test
	PYTHONPATH=tests $(RUN)/python benchmarks/dashboard.py --out docs/dashboard-load.md

bench-store: .venv/test
	$(RUN)/python benchmarks/store.py --out docs/store.md $(if $(POSTGRES),--postgres $(POSTGRES))

history: .venv/test
	$(RUN)/python benchmarks/history.py

# the paper's experiment and a second arm of it, some hours on two cores; stopped, it goes on where it was
PAPER = docs/reproduction
SECOND = $(PAPER)/second
reproduction: .venv/test
	$(RUN)/bopp paper run --out $(PAPER)
	$(RUN)/bopp paper run --out $(PAPER) --problems ancestors --variants bo --kernel ard --repeats 10
	$(RUN)/bopp paper pack --out $(PAPER)
	$(RUN)/bopp paper table --out $(PAPER) > $(PAPER)/table.md
	$(RUN)/bopp paper table --out $(PAPER) --kernel isotropic > $(PAPER)/table-isotropic.md
	$(RUN)/bopp paper figures --out $(PAPER)
	$(RUN)/bopp paper theory --out $(PAPER) > $(PAPER)/theory.txt
	$(RUN)/bopp paper run --out $(SECOND) --problems shifted --maximiser gradients --fit starts --iterations 50 --variants bo,pp01,pp0 --repeats 149
	$(RUN)/bopp paper pack --out $(SECOND) --curves
	$(RUN)/bopp paper table --out $(SECOND) --maximiser gradients > $(SECOND)/table.md
	$(RUN)/bopp paper figures --out $(SECOND)
	$(RUN)/python benchmarks/paper_checks.py --out $(PAPER)/checks.md

# the notebook of the examples, run anew and saved with what it shows
notebook: .venv/test
	$(RUN)/python tests/support/notebooks.py

pictures: .venv/examples
	$(RUN)/python docs/pictures.py

.venv/examples .venv/test: pyproject.toml
	test -x $(RUN)/python || $(PYTHON) -m venv .venv
	$(RUN)/python $(PIP) --editable '.[$(notdir $@)]'
	touch $@

.venv-lowest/ready: pyproject.toml .ci/lowest.py
	test -x $(LOWEST)/python || $(PYTHON) -m venv .venv-lowest
	$(LOWEST)/python .ci/lowest.py > .venv-lowest/constraints.txt
	$(LOWEST)/python $(PIP) --constraint .venv-lowest/constraints.txt --editable '.[all,check]' mpmath pytest-xdist
	touch $@

.venv-docs/ready: pyproject.toml
	test -x $(DOCS)/python || $(PYTHON) -m venv .venv-docs
	$(DOCS)/python $(PIP) --editable '.[docs]'
	touch $@

.venv-dist/ready:
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python $(PIP) build twine
	touch $@

.venv-bench/ready: pyproject.toml
	test -x $(BENCH)/python || $(PYTHON) -m venv .venv-bench
	$(BENCH)/python $(PIP) torch==2.13.0
	$(BENCH)/python $(PIP) --editable '.[bench]'
	touch $@

.venv-bridges/%/ready: pyproject.toml
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(if $(filter botorch,$*),$(@D)/bin/python $(PIP) torch==2.13.0)
	$(@D)/bin/python $(PIP) --editable '.[$*,check$(beside_$*)]'
	touch $@

clean:
	rm -rf .venv .venv-bench .venv-bridges .venv-dist .venv-docs .venv-lowest dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
