# `make help` lists what there is.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SALTS := 3007 3006

ENGINE := Cargo.toml Cargo.lock $(shell find src crates -name '*.rs' -o -name Cargo.toml)
PACKAGE := pyproject.toml setup.cfg $(wildcard docs/man/*.1) $(shell find python salt -name '*.py' -o -name '*.pyi' -o -name 'py.typed')

.DEFAULT_GOAL := help
.PHONY: help build test test-long check demo bench bench-quick bench-record test-salts conformance differential deny audit audit-offline fuzz tsan load wheel man clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS='	' read -r name text; do \
	    printf '  make %-12s %s\n' "$$name" "$$text"; done

build: $(VENV)/.built ## programs, package, Salt and test tools into .venv, without link-time optimization

test: build .venv-oracle/.tools .venv-ansible/.tools ## all tests, a real Salt master and minion included
	@command -v chromium || command -v chromium-browser || command -v google-chrome \
	    || echo 'no Chromium: what a browser makes of the page of a graph is not tested'
	cargo test --locked --quiet
	$(BIN)/pytest

test-long: ## the long forms: each question about hostile inventories
	RECLASS_LONG=1 cargo test --locked --quiet --package reclass --test limits

check: build ## format, lints, types, stubs
	cargo fmt --check
	cargo clippy --locked --all-targets --quiet -- -D warnings
	# Without the feature for tests, so that code that nothing uses is found.
	cargo clippy --locked --package reclass --lib --quiet -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps --package reclass --lib --quiet
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest saltext.reclass._engine --mypy-config-file pyproject.toml

demo: ## the pillar and the top of a minion of examples/, through a real Salt
	@test -e $(VENV)/.built || echo 'Installing Salt and compiling the engine into $(VENV): about four minutes on two cores.'
	@$(MAKE) --no-print-directory build
	@examples/demo $(BIN)

conformance: ## compare with the recorded answers of the Python programs
	cargo test --locked --test conformance -- --nocapture

load: build ## a real master with five workers, asked 10,000 times while the inventory changes
	$(BIN)/python -m tests.salt.load.run

differential: .venv-oracle/.tools ## generated inventories and command lines, against kapicorp-reclass
	cargo test --locked --test differential --test cli_python

fuzz: ## an hour of each fuzz target; needs cargo-fuzz and the nightly compiler
	$(PYTHON) fuzz

tsan: ## many threads under the thread sanitizer; needs the nightly compiler with rust-src
	$(PYTHON) tests/sanitizer

bench: build .venv-bench/.tools ## times beside kapicorp-reclass and reclass-rs, into docs/benchmarks.md
	.venv-bench/bin/python -m benches

bench-quick: build .venv-bench/.tools ## the same on small samples, into target/bench
	.venv-bench/bin/python -m benches --quick

bench-record: build .venv-bench/.tools ## the instruction counts that `make bench` holds against
	.venv-bench/bin/python -m benches --record

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

# What a target needs that nothing here installs, and the command that does.
define need
	@command -v $(1) >/dev/null || { echo 'make $@ needs $(1): $(2)'; exit 1; }
endef

test-salts: $(foreach salt,$(SALTS),test-salt-$(salt)) ## the tests with Salt on the older Salts too

.PHONY: $(foreach salt,$(SALTS),test-salt-$(salt))
$(foreach salt,$(SALTS),test-salt-$(salt)): test-salt-%: .venv-%/.built
	.venv-$*/bin/pytest tests/salt tests/python

wheel: dist/.built ## the wheel, in dist/

man: ## the manual pages, into docs/man
	cargo run --locked --quiet --bin reclass -- manual docs/man

clean: ## remove what was built
	rm -rf build dist target $(VENV) .venv-oracle .venv-ansible .venv-bench .venv-supply $(foreach salt,$(SALTS),.venv-$(salt)) *.egg-info python/*.egg-info

# The lock files name every version with its hash. Salt comes as source: what it is built with is
# locked by the constraint.
define install
	test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install --quiet --require-hashes -r requirements/pip.txt
	$(1)/bin/python -m pip install --quiet --require-hashes --build-constraint requirements/build.txt -r $(2)
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

# What links a wheel for old systems, lists its parts and finds the systems that it is for.
.venv-supply/.tools: requirements/supply.txt requirements/pip.txt requirements/build.txt
	$(call install,.venv-supply,$<)
	@touch $@

# The programs that times are compared with, and what draws the plots.
.venv-bench/.tools: requirements/bench.txt requirements/pip.txt requirements/build.txt
	$(call install,.venv-bench,$<)
	@touch $@

.venv-%/.tools: requirements/salt-%.txt requirements/pip.txt requirements/build.txt
	$(call install,.venv-$*,$<)
	@touch $@

# One wheel for all: what is tested is what is shipped.
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
	$(BIN)/python -m pip install --quiet --force-reinstall --no-deps --no-index $(WHEEL)/*.whl
	@touch $@

.venv-%/.built: dist/.built .venv-%/.tools
	.venv-$*/bin/python -m pip install --quiet --force-reinstall --no-deps --no-index dist/*.whl
	@touch $@

.PRECIOUS: .venv-%/.tools .venv-%/.built
