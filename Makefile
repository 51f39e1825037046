# `make demo` and `make test` each work as the first command in a fresh clone: they make .venv and install what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: demo test lines lint dist bench docs clean slow accuracy experiments coverage minimum supply attack

$(VENV)/base: pyproject.toml
	$(PYTHON) -c "import sys; assert sys.version_info >= (3, 11), 'motlm needs Python 3.11 or newer; this is ' + sys.version"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[plot,report]"
	touch $@

$(VENV)/test: $(VENV)/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	touch $@

$(VENV)/lint: $(VENV)/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[lint]"
	touch $@

$(VENV)/docs: $(VENV)/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	touch $@

demo: $(VENV)/base
	$(BIN)/python examples/demo.py

test: $(VENV)/test
	$(BIN)/python -m pytest -n $(JOBS)

# The same, with the lines that no test runs; half as long again.
lines: $(VENV)/test
	$(BIN)/python -m pytest -n $(JOBS) --cov --cov-report=term

slow: $(VENV)/test
	$(BIN)/python -m pytest -n $(JOBS) -m slow -rA

# The tests with the lowest versions that are declared, in an environment of their own.
minimum:
	mkdir -p build
	test -x build/minimum/bin/python || $(PYTHON) -m venv build/minimum
	build/minimum/bin/python tests/minimum.py > build/constraints.txt
	build/minimum/bin/python -m pip install --quiet --disable-pip-version-check --constraint build/constraints.txt --editable ".[test]"
	build/minimum/bin/python -m pytest -n $(JOBS) -o filterwarnings=default  # old packages warn of each other

# Random cases of everything that is read, run and written; prints what was tried and found.
MINUTES ?= 30
attack: $(VENV)/test
	$(BIN)/python -m tests.attack --minutes $(MINUTES) --jobs $(JOBS) $(ATTACK)

lint: $(VENV)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/test
	$(BIN)/python benchmarks $(BENCH)

experiments: $(VENV)/test
	$(BIN)/python -m experiments all --jobs $(JOBS) $(EXPERIMENTS)

coverage: $(VENV)/test
	$(BIN)/python -m experiments coverage --jobs $(JOBS) $(EXPERIMENTS)

accuracy: $(VENV)/base
	$(BIN)/python tests/reference/membership_accuracy.py

# Builds wheel and sdist, checks them, installs the wheel in an environment of its own, and runs the demo from there.
dist: $(VENV)/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine check-wheel-contents
	rm -rf build dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(PYTHON) -m venv build/fresh
	build/fresh/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[cli,report]"
	cd build && fresh/bin/motlm demo --output fresh/demo --force

# What a user installs with all extras: a list of the components (CycloneDX), and known weaknesses of them. The audit
# asks an advisory service: where that cannot be reached, the list is written, and the command fails.
supply:
	mkdir -p build
	test -x build/tools/bin/python || $(PYTHON) -m venv build/tools
	build/tools/bin/python -m pip install --quiet --disable-pip-version-check "pip-audit>=2.7" "cyclonedx-bom>=5"
	rm -rf build/installed build/components.json build/audit.json
	$(PYTHON) -m venv --without-pip build/installed
	build/tools/bin/python -m pip --python build/installed/bin/python install --quiet --disable-pip-version-check ".[all]"
	build/tools/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-format JSON \
		--output-file build/components.json build/installed/bin/python
	-build/tools/bin/pip-audit --path build/installed/lib/python*/site-packages --progress-spinner off --format json \
		--output build/audit.json 2> build/audit.log
	$(PYTHON) tests/supply.py build/audit.json

docs: $(VENV)/docs
	rm -rf docs/auto_examples
	$(BIN)/sphinx-build -W -E --keep-going -b html docs docs/_build/html

clean:
	rm -rf $(VENV) build dist docs/_build docs/auto_examples .pytest_cache .mypy_cache .ruff_cache .coverage demo-output
