# make run            optimize a real example
# make test           lint, and the fast tests: run it before each commit
# make test-all       everything else, in tiers; CONTRIBUTING.md describes them
# make test-bridges   each bridge with the real library, in its own environment
# make coverage       line and branch coverage of the fast tests, in htmlcov/
# make docs, dist     the website in site/; the packages of a release in dist/
# make bench          compare with the peers; make bench-NAME runs the other benchmarks, see CONTRIBUTING.md
# make reproduction   run the paper's experiments again, with tables and figures

PYTHON ?= python3
PIP = -m pip install --quiet --disable-pip-version-check
RUN = .venv/bin
BENCH = .venv-bench/bin
LOWEST = .venv-lowest/bin
DOCS = .venv-docs/bin
ARGUMENTS ?=
LINT = $(RUN)/ruff format --check . && $(RUN)/ruff check . && $(RUN)/mypy && $(RUN)/lint-imports
PYTEST = $(RUN)/python -m pytest -n 2 --dist worksteal --ignore tests/bridges
# endurance tests that show what users see: a browser, examples, documents, packages
SHOWN = $(wildcard $(patsubst %,tests/test_%.py,dashboard_browser examples notebook documents distribution))

# the libraries that the tests of a bridge need besides the one they are about
beside_optuna = ,sklearn
beside_sklearn = ,plot
beside_ray = ,optuna
group_sklearn = --group coming
group_botorch = --group coming-ax

ENGINE = acquisition adoption belief conditions constraint data feasibility fidelity fit fitted \
  front goals gp guesses held hypervolume images \
  informed initial kernels kinds knowledge known limits memory never_breaks number optimizer outcome paper_theory \
  parameter polytope problem processors pseudo quadratic region relatives search space suggest threads trend trial view_calibration view_contour view_importance \
  view_prediction view_slices
ENGINE_TESTS = $(ENGINE:%=tests/test_%.py)

.PHONY: run lint format clean docs dist notebook pictures history reproduction coverage mutants
.PHONY: test test-all test-endurance test-postgres test-shown test-thorough test-random test-alone
.PHONY: test-slow test-faults test-soak test-lowest test-processors test-two-processors test-bridges
.PHONY: bench bench-goals bench-knowledge bench-regret bench-dashboard

run: .venv/examples
	$(RUN)/python examples/tune_regression.py

# lint runs beside the tests; its output comes last
test: .venv/test
	($(LINT)) > .venv/lint.log 2>&1 & \
	$(PYTEST); tests=$$?; \
	wait $$!; lint=$$?; cat .venv/lint.log; \
	test $$tests = 0 && test $$lint = 0

# most informative first
test-all: test-endurance test-postgres test-shown test-thorough

test-endurance: .venv/test
	$(PYTEST) -m 'endurance and not slow' $(SHOWN:%=--ignore %)

test-postgres: .venv/test
	$(PYTEST) -m 'postgres and not endurance and not slow'

test-shown: .venv/test
	$(PYTEST) -m 'endurance and not slow' $(SHOWN)

# more examples of Hypothesis
test-thorough: .venv/test
	$(PYTEST) -m 'hypothesis and not slow and not endurance and not postgres' --hypothesis-profile thorough

# weekly
test-slow: test-faults test-soak
	$(PYTEST) -m 'slow and not fault'

# every fault that bopp survives, at full size
test-faults: .venv/test
	$(PYTEST) -m fault --fault-table docs/faults.md

test-soak: .venv/test
	$(RUN)/python tests/soak.py --minutes 30 --seed 0 --store both

test-random: .venv/test
	$(PYTEST) --random-order

# each test in its own child process
test-alone: .venv/test
	PYTHONPATH=tests $(PYTEST) -p support.alone

coverage: .venv/test
	$(PYTEST) --cov --cov-report html --cov-report term

mutants: .venv/test
	$(RUN)/python tests/support/mutants.py $(ARGUMENTS)

# the lowest versions that pyproject.toml allows; an old library may warn about a newer one below it
test-lowest: .venv-lowest/ready
	$(LOWEST)/python -m pytest -n 2 --dist worksteal --ignore tests/bridges -W ignore::DeprecationWarning

# the engine as on other processors
test-processors: .venv/test
	$(RUN)/python tests/support/processors.py -n 2 $(ENGINE_TESTS)

test-two-processors: .venv/test
	$(RUN)/python tests/support/processors.py --two -n 2 $(ENGINE_TESTS)

test-bridges: test-optuna test-sklearn test-botorch test-ray

test-optuna test-sklearn test-botorch: test-%: .venv-bridges/%/ready
	.venv-bridges/$*/bin/python -m pytest -m 'not slow' tests/bridges/test_$*.py

# Ray has no packages for some machines: there its bridge is not tested, and the last line says so
test-ray:
	if $(MAKE) .venv-bridges/ray/ready; \
	then .venv-bridges/ray/bin/python -m pytest -m 'not slow' tests/bridges/test_ray.py; \
	else echo "Ray does not install here: its bridge was not tested"; fi

lint: .venv/test
	$(LINT)

format: .venv/test
	$(RUN)/ruff format .
	$(RUN)/ruff check --fix .

docs: .venv-docs/ready
	NO_MKDOCS_2_WARNING=1 $(DOCS)/mkdocs build --strict

dist: .venv/test
	rm -rf dist
	$(RUN)/python -m build
	$(RUN)/python -m twine check --strict dist/*

# bopp runs again, the peers' runs are kept; benchmarks/bench.py --part table --peers NAME ... makes those missing
bench: .venv-bench/ready
	$(BENCH)/python benchmarks/bench.py --part table --peers bopp --again
	$(BENCH)/python benchmarks/contest_report.py --out docs/benchmarks.md

# the same with constraints and several objectives; goals_bench.py --peers NAME ... makes missing runs
bench-goals: .venv-bench/ready
	$(BENCH)/python benchmarks/goals_bench.py --part table --peers bopp bopp-reference --again
	$(BENCH)/python benchmarks/goals_bench.py --speed
	$(BENCH)/python benchmarks/goals_report.py --out docs/goals-benchmarks.md

bench-regret: .venv-bench/ready
	rm -rf benchmarks/results/bopp # the peers' runs are kept, ours belong to this source
	$(BENCH)/python benchmarks/regret.py

# all runs are kept: delete benchmarks/results/knowledge after a change to bopp
bench-knowledge: .venv-bench/ready
	$(BENCH)/python benchmarks/knowledge.py --out docs/knowledge-worth.md
	$(BENCH)/python benchmarks/earlier.py --out docs/earlier.md

# needs chromium, chromium-driver and an idle machine
bench-dashboard: .venv/test
	PYTHONPATH=tests $(RUN)/python benchmarks/dashboard.py --out docs/dashboard-load.md

# for store: ARGUMENTS='--postgres URL'
bench-batch bench-conditions bench-mixed bench-pending bench-store: bench-%: .venv/test
	$(RUN)/python benchmarks/$*.py --out docs/$*.md $(ARGUMENTS)

# beside the peers; delete benchmarks/results/fidelities after a change to bopp
bench-fidelities bench-importance bench-speed: bench-%: .venv-bench/ready
	$(BENCH)/python benchmarks/$*.py --out docs/$*.md $(ARGUMENTS)

history: .venv/test
	$(RUN)/python benchmarks/history.py

# the paper's experiment and a second arm of it: hours on two cores; if interrupted, run it again to continue
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

# run the example notebook again and save its output
notebook: .venv/test
	$(RUN)/python tests/support/notebooks.py

pictures: .venv/examples
	$(RUN)/python docs/pictures.py

# $(call make_venv,FOLDER): pip reads dependency groups from 25.1 on
define make_venv
test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
$(1)/bin/python $(PIP) --upgrade 'pip>=25.1'
endef

.venv/examples: pyproject.toml
	$(call make_venv,.venv)
	$(RUN)/python $(PIP) --editable '.[front,paper]'
	touch $@

.venv/test: pyproject.toml
	$(call make_venv,.venv)
	$(RUN)/python $(PIP) --editable '.[all]' --group test
	touch $@

.venv-lowest/ready: pyproject.toml .ci/lowest.py
	$(call make_venv,.venv-lowest)
	$(LOWEST)/python .ci/lowest.py > .venv-lowest/constraints.txt
	$(LOWEST)/python $(PIP) --constraint .venv-lowest/constraints.txt --editable '.[all]' --group check
	touch $@

.venv-docs/ready: pyproject.toml
	$(call make_venv,.venv-docs)
	$(DOCS)/python $(PIP) --editable . --group docs
	touch $@

.venv-bench/ready: pyproject.toml
	$(call make_venv,.venv-bench)
	$(BENCH)/python $(PIP) torch==2.13.0
	$(BENCH)/python $(PIP) --editable '.[front,plot]' --group bench
	touch $@

.venv-bridges/%/ready: pyproject.toml
	$(call make_venv,$(@D))
	$(if $(filter botorch,$*),$(@D)/bin/python $(PIP) torch==2.13.0)
	$(@D)/bin/python $(PIP) --editable '.[$*$(beside_$*)]' --group check $(group_$*)
	touch $@

clean:
	rm -rf .venv .venv-bench .venv-bridges .venv-docs .venv-lowest dist site htmlcov .coverage* .*_cache .hypothesis
