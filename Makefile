# Everything from a clone: Python 3.10 or later, Rust, Node.js and a C compiler are all that is needed.
# `make` alone says what there is.

PYTHON ?= python3
# QUIC stacks beside quinn, with commas. By default noq, and picoquic where the registry has its C sources; FEATURES=
# leaves both out.
FEATURES ?= default
VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
MATURIN := env -u CONDA_PREFIX VIRTUAL_ENV=$(VENV) $$($(BIN)/python python/tools/pyo3.py) $(BIN)/maturin
# Fetches picoquic's sources if they are wanted.
FEATURE_ARGUMENTS = $$($(BIN)/python python/tools/picoquic.py --features "$(FEATURES)")
DEMO := iridium-vegas-reno-bic

.DEFAULT_GOAL := help
.PHONY: help build packages page demo studies readme docs test lint lock audit wheel sbom bench bench-peers clean

help: ## Say what there is.
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

build: page $(VENV)/ready ## Everything up to .venv/bin/skyhop; cheap when nothing has changed.
	$(MATURIN) develop --quiet --release --skip-install $(FEATURE_ARGUMENTS)
	@test -e python/skyhop/page/index.html || echo "Built without the page: there is no npm here. Install Node.js 20.19" \
	  "or newer and run make build again; without it skyhop serve has nothing to show. Everything else works."

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit("Skyhop needs Python 3.10 or later" if sys.version_info < (3, 10) else 0)'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# What the environment holds is locked: exact versions with their hashes, from whatever index pip is set to. Python
# compiles what is imported; to compile all that is installed takes half a minute.
$(VENV)/packages: $(VENV)/made pyproject.toml requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes \
	  -r requirements-dev.lock
	@touch $@

# An editable installation, so that Python sources count as they stand.
$(VENV)/ready: $(VENV)/packages
	$(MATURIN) develop --release $(FEATURE_ARGUMENTS)
	@touch $@

page: ## The page that `skyhop serve` shows (Node.js 20.19 or newer).
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory python/skyhop/page/index.html; \
	else true; fi

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --no-audit --no-fund --loglevel=error

PAGE_SOURCES := web/index.html web/package.json web/tsconfig.json web/vite.config.ts schema/scenario.schema.json \
  python/skyhop/data/land.json $(shell find web/src web/tools -type f -not -name scenario.ts)

python/skyhop/page/index.html: web/node_modules/.package-lock.json $(PAGE_SOURCES)
	cd web && npm run --silent build

demo: build ## TCP Vegas, Reno and BIC over Iridium: the published table beside ours, and a report.
	$(BIN)/skyhop study run $(DEMO)

studies: build ## Run every study.
	$(BIN)/skyhop study run --all

readme: build ## Renew what README files take from the studies: result tables and the figure; and docs/duels.md.
	$(BIN)/skyhop study run --all --renew
	mkdir -p docs/images
	cp runs/$(DEMO)/figures/delay.svg docs/images/iridium-delay.svg
	$(BIN)/python python/tools/duels.py --renew

docs: build ## The documents with the pages of the Python and Rust APIs as one site, target/site/html; search works offline.
	$(BIN)/python python/tools/site.py

packages: page $(VENV)/packages ## What others have made, for Python and the page; `make build` goes on from there.

test: $(VENV)/made ## All tests, Rust and Python, with formatting, types and stubs; builds while it tests.
	FEATURES="$(FEATURES)" $(BIN)/python python/tools/run_tests.py

lint: build ## Formatting, lints, types, stubs and Rust's documentation, without tests.
	FEATURES="$(FEATURES)" $(BIN)/python python/tools/run_tests.py --static

lock: ## Renew requirements-dev.lock: the newest versions that pyproject.toml allows (needs uv: pip install uv).
	uv pip compile pyproject.toml --upgrade --extra dev --universal --python-version 3.10 --generate-hashes \
	  --quiet --output-file requirements-dev.lock

audit: build ## Published advisories against what is locked, where a database can be had.
	$(BIN)/python python/tools/dependencies.py advisories

wheel: page $(VENV)/ready ## A wheel with the page inside, in target/wheels (one for each Python from 3.10 on).
	$(BIN)/python python/tools/wheel.py build

sbom: $(VENV)/ready ## What the program is made of, as CycloneDX: target/sbom.json.
	$(BIN)/python python/tools/sbom.py

bench: ## Packet-hops per second of CPU on the fixed workloads.
	cargo run --release --locked -p skyhop-benches \
	  $$($(PYTHON) python/tools/picoquic.py --features "$(FEATURES)" skyhop-quic)

bench-peers: ## The same workloads in Skyhop, ns-2 and ns-3 (ns-3 built from its source), side by side.
	$(PYTHON) benches/peers/run.py

clean: ## Remove everything that is made: environment, builds, output.
	rm -rf $(VENV) target runs web/node_modules python/skyhop/page python/skyhop/_core*.so
