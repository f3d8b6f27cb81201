# `make demo` and `make test` need only git, make and Python 3.11 or newer; the rest builds on them.
# Two stamps in one environment: `make demo` installs what running needs, everything else adds the tools.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/ready-run
READY := $(VENV)/ready
# Rewritten tests are kept as bytecode, so that the runs after the first start ten seconds earlier.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := @PYTHON='$(PYTHON)' sh .ci/setup.sh $(VENV)

.PHONY: bands constants demo test deep lint types check bench coverage mutate fuzz compat docs site generated schema integration netbox wheel lock clean

demo: $(RUN)  ## Set up what running needs, and compare Fire-Flyer 2 with a DGX A100 cluster
	$(BIN)/ffplan compare designs/fire-flyer-2.yaml designs/dgx-a100-10k.yaml --baseline dgx-a100-10k \
	  --model llama2-70b --tokens 2T --batch 16384 --gpus 8192

test: $(READY)  ## Set up the rest, and run the tests of every change, on all cores; a few minutes
	$(BIN)/python -m pytest -m "not integration and not deep" --numprocesses auto --dist worksteal

deep: $(READY)  ## The long tests, and those of properties with many examples, on all cores; a quarter of an hour
	FFPLAN_DEEP=1 $(BIN)/python -m pytest -m "(deep or hypothesis) and not integration" --numprocesses auto --dist worksteal

# Bytecode of dependencies is written where they are first imported: that is quicker, and half as large.
$(RUN): requirements.lock pyproject.toml
	$(INSTALL) --no-compile --no-deps --require-hashes --requirement requirements.lock
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q -j 0 ffplan
	@touch $@

# Tests take warnings for errors, those of compiling a dependency too: all of it is compiled here.
$(READY): $(RUN) requirements-dev.lock
	$(INSTALL) --no-compile --require-hashes --requirement requirements-dev.lock
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	@touch $@

lint: $(READY)  ## Style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## Types
	$(BIN)/mypy

check: lint types test  ## Everything a commit must pass

integration: $(READY)  ## Tests against real programs; nothing may skip
	FFPLAN_NO_SKIP=1 $(BIN)/python -m pytest tests/integration -m "not wheel and not netbox" --numprocesses auto --dist loadfile

netbox: $(READY)  ## NetBox judges what is exported for it; FFPLAN_NETBOX names its program
	FFPLAN_NO_SKIP=1 $(BIN)/python -m pytest tests/integration -m netbox

wheel: $(READY)  ## Build the wheel and use it from a fresh environment
	FFPLAN_NO_SKIP=1 $(BIN)/python -m pytest tests/integration -m wheel

bench: $(READY)  ## Speed, as ratios to `python -c pass` in the same run, and errors of serving next to aiconfigurator's
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench_many
	$(BIN)/python -m tests.bench_fabric
	$(BIN)/python -m tests.bench_collective
	$(BIN)/python -m tests.bench_search
	$(BIN)/python -m tests.bench_cost
	$(BIN)/python -m tests.bench_reliability
	$(BIN)/python -m tests.bench_sweep
	$(BIN)/python -m tests.bench_serving

coverage: $(READY)  ## Lines and branches that the tests run, those in other processes included
	$(INSTALL) "coverage>=7.10"
	$(BIN)/python -m tests.coverage

mutate: $(READY)  ## Change the code in small ways and count the changes that a test notices; about an hour on two cores
	$(INSTALL) "cosmic-ray>=8.7" "coverage>=7.10"
	$(BIN)/python -m tests.mutation

compat: $(READY)  ## The same bytes over Pythons, dependencies, hash seeds, locales and time zones
	$(INSTALL) uv
	$(BIN)/python -m tests.compat

fuzz: $(READY)  ## Inputs and command lines made by chance; about 20 minutes on two cores
	$(BIN)/python -m tests.fuzz --count 500000 --commands 10000

docs: $(READY) generated site  ## Rewrite the generated pages and schemas, and build the site; a broken link fails

constants: $(READY)  ## Fit the constants of training and serving anew, and write them into the catalogue; under a minute
	$(BIN)/python -m tests.constants
	$(BIN)/python -m tests.engines

bands: $(READY)  ## Predict every source, stack and accelerator without itself, and write the errors; some ten minutes
	$(BIN)/python -m tests.left_out

generated: $(READY)
	$(BIN)/python -m tests.generate

site: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

PIN := $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
  --no-header --no-emit-index-url --extra build

lock: $(READY)  ## Pin every dependency, and of these again what running needs
	$(INSTALL) uv
	$(PIN) --extra test --extra docs --extra dev --output-file requirements-dev.lock
	$(PIN) --constraint requirements-dev.lock --output-file requirements.lock

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
