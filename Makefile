# Everything is installed into .venv; nothing needs to be activated.
# PYTHON=/path/to/python chooses the interpreter .venv is made with.

VENV := .venv
BIN := $(VENV)/bin
PYTHONS := $(or $(PYTHON),python3.13 python3.12 python3.11 python3)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DELETE_ON_ERROR:
.PHONY: kick-the-tires env reproduce test test-pages lint docs bench fuzz rulegraph schemas claims clean

env: $(VENV)/.installed

# It fails if the numbers do not show what the title of a figure says; all is made nevertheless.
reproduce: $(VENV)/.installed
	$(BIN)/snakemake
	@! grep -l "^\*\*Not [a-z]* by these numbers" figures/*/*.md

# One panel, from its curves to the picture.
kick-the-tires: $(VENV)/.installed
	$(BIN)/snakemake --cores 2 figures/gap/few.png

# A worker a core, one thread each.
test test-pages fuzz: export OMP_NUM_THREADS := 1
PYTEST := $(BIN)/python -m pytest --numprocesses logical --dist loadscope --no-loadscope-reorder

test: $(VENV)/.installed-dev
	$(PYTEST)

# What pages print, as a processor without AVX2 computes it: last digits depend on the processor.
test-pages: export OPENBLAS_CORETYPE := Nehalem
test-pages: export NPY_DISABLE_CPU_FEATURES := X86_V3 X86_V4 AVX512_ICL AVX512_SPR
test-pages: $(VENV)/.installed-dev
	$(PYTEST) tests/slow/site tests/core/test_docstrings.py

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

# The documentation site, build/docs/index.html, with the figures that are there.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --write-all --builder html \
	    --doctree-dir build/doctrees docs build/docs

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/durations.py
	$(BIN)/python benchmarks/deployer_grid.py --sample 200 --seed 7

# More than 200 000 random cases against enumeration, binomial sums and 50-digit arithmetic.
fuzz: $(VENV)/.installed-dev
	FUZZ=40 $(PYTEST) \
	    tests/contract/test_contract.py \
	    $(addprefix tests/core/questions/test_,$(addsuffix .py,amplification apart extreme_matrices mechanism_rounds rounds)) \
	    tests/core/bounds/test_variation_ratio.py \
	    $(addprefix tests/core/core/test_,$(addsuffix .py,decomposition domination uncertain_entries)) \
	    $(addprefix tests/core/divergence/test_,$(addsuffix .py,closing_the_gap coordinates estimates fourier law renyi supremum tree rare_values)) \
	    $(addprefix tests/core/profiles/test_,$(addsuffix .py,largest_and_smallest losses root_search)) \
	    $(addprefix tests/core/randomizers/test_,$(addsuffix .py,coarsening laplace_interval matrix matrix_joint))

# Needs Graphviz.
rulegraph: $(VENV)/.installed
	$(BIN)/snakemake --rulegraph dot | dot -Tsvg -o docs/rulegraph.svg

# The schemas of configurations and deployments, for editors, and the tables of docs/deployments.md.
schemas: $(VENV)/.installed
	PYTHONPATH=workflow $(BIN)/python -m reproduction.configuration.models docs

# The pages of claims as the repository shows them, from a full reproduction.
claims: reproduce
	cp results/su2026/claims.md docs/claims.md
	cp results/girgis2021/claims.md docs/claims-girgis2021.md
	cp results/wang2020/claims.md docs/claims-wang2020.md
	cp results/wang2024/claims.md docs/claims-wang2024.md
	cp results/wang2025/claims.md docs/claims-wang2025.md

# All but the page in each folder that says what goes there.
clean:
	find results figures -mindepth 1 ! -path results/README.md ! -path figures/README.md -delete
	rm -rf .snakemake

# Stamps: the environment is brought up to date when what it was made from changes.
$(VENV)/.installed: requirements.txt pyproject.toml | $(BIN)/pip
	$(PIP) install --requirement requirements.txt
	$(PIP) install --no-deps --editable .
	touch $@

$(VENV)/.installed-docs: requirements-docs.txt $(VENV)/.installed
	$(PIP) install --requirement requirements-docs.txt
	touch $@

$(VENV)/.installed-dev: requirements-dev.txt requirements-docs.txt requirements-slurm.txt \
    $(VENV)/.installed
	$(PIP) install --requirement requirements-dev.txt
	touch $@

$(BIN)/pip:
	@for python in $(PYTHONS); do \
	    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	    recent=$$python; \
	    "$$python" -c 'import ensurepip, venv' 2>/dev/null || continue; \
	    echo "making $(VENV) with $$("$$python" --version)"; \
	    exec "$$python" -m venv --clear $(VENV); \
	done; \
	if [ -n "$$recent" ]; then \
	    echo "$$recent cannot make virtual environments; on Debian or Ubuntu:" \
	        "sudo apt install python3-venv (or the -venv package of $$recent)"; \
	else \
	    echo "Python 3.11 or newer is needed, and none of these is: $(PYTHONS);" \
	        "name one with make PYTHON=/path/to/python"; \
	fi >&2; \
	exit 1
