# Short names for the commands of daily work. Cargo builds everything.

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
ANABRANCH := $(TARGET_DIR)/release/anabranch
# The cargo command that builds the program for test-page and test-python. BUILD="test --workspace --no-run" builds
# nothing anew after `make test`.
BUILD := build --package anabranch-cli
# The profile of the page of the playground: with PLAYGROUND=playground-test it is built sooner and simulates more slowly.
PLAYGROUND ?=
PYTHON_TESTS := $(abspath $(TARGET_DIR))/python-tests
.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@echo "make TARGET, where TARGET is one of:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: toolchain ## Build, then compare REPS, OPS and ECMP on a 1,024-host permutation and a WebSearch trace
	cargo build --release --package anabranch-cli
	$(ANABRANCH) run examples/permutation-1024.toml
	$(ANABRANCH) run examples/websearch-128.toml
	@echo "The folders named above hold report.html: open it in a browser."

.PHONY: test
test: toolchain ## Run every test but the long ones
	cargo test --workspace

.PHONY: test-long
test-long: toolchain ## Run every test at its full size (minutes to hours), on Ray and Slurm too (needs slurmctld, slurmd, munge)
	ANABRANCH_LONG=1 cargo test --workspace
	test -x $(PYTHON_TESTS)/bin/python || python3 -m venv $(PYTHON_TESTS)
	$(PYTHON_TESTS)/bin/python -m pip install --quiet ray
	ANABRANCH_LONG=1 $(MAKE) test-python

.PHONY: test-page
test-page: toolchain playground ## Open pages in headless Chromium (needs chromium, chromedriver and Python's selenium)
	cargo $(BUILD)
	$(or $(ANABRANCH_PAGE_PYTHON),python3) crates/cli/tests/page/check.py \
		$(TARGET_DIR)/debug/anabranch $(TARGET_DIR)/playground.html

.PHONY: test-python
test-python: toolchain ## Build the Python package and test it, its types and its notebook (needs Python 3.10)
	cargo $(BUILD)
	test -x $(PYTHON_TESTS)/bin/python || python3 -m venv $(PYTHON_TESTS)
	$(PYTHON_TESTS)/bin/python -m pip install --quiet maturin
	cd python && VIRTUAL_ENV=$(PYTHON_TESTS) CARGO_TARGET_DIR=$(abspath $(TARGET_DIR)) \
		$(PYTHON_TESTS)/bin/maturin develop --quiet --profile dev --extras test
	cd python && ANABRANCH=$(abspath $(TARGET_DIR))/debug/anabranch $(PYTHON_TESTS)/bin/python -m pytest -q tests
	cd python && $(PYTHON_TESTS)/bin/python -m mypy anabranch tests
	cd python && $(PYTHON_TESTS)/bin/python -m mypy.stubtest --ignore-missing-stub anabranch._anabranch

.PHONY: bench
bench: toolchain ## Measure packet-hops per second, then the parts alone
	cargo build --release --package anabranch-cli
	$(ANABRANCH) bench
	cargo bench --workspace

.PHONY: instructions
instructions: toolchain ## Count instructions per packet-hop against those stored (needs valgrind)
	cargo xtask instructions

.PHONY: loom
loom: toolchain ## Try every order of the threads at the barrier and the board of a run
	RUSTFLAGS="--cfg loom" cargo test --package anabranch-engine --lib --target-dir $(TARGET_DIR)/loom loom_

.PHONY: miri
miri: toolchain ## Check every use of memory behind the C library (needs nightly Rust with miri)
	@cargo +nightly miri --version >/dev/null 2>&1 || { \
		echo "There is no miri. Write: rustup toolchain install nightly --component miri,rust-src"; \
		exit 1; }
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --package anabranch-capi --lib \
		--target-dir $(TARGET_DIR)/miri ffi_tests

.PHONY: playground
playground: toolchain ## Build the simulator in a page, without a server: target/playground.html
	cargo run --quiet --package xtask --features playground,book -- playground $(PLAYGROUND)

.PHONY: book
book: playground ## Build the book (docs/) as a site: target/book/index.html
	cargo run --quiet --package xtask --features playground,book -- book

.PHONY: dist
dist: toolchain ## Build a release, optimised at link time: archive, wheel and checksums in target/dist (many minutes)
	test -x $(PYTHON_TESTS)/bin/python || python3 -m venv $(PYTHON_TESTS)
	$(PYTHON_TESTS)/bin/python -m pip install --quiet maturin || true
	PATH="$(PYTHON_TESTS)/bin:$$PATH" cargo xtask dist $(PROFILE)

.PHONY: lint
lint: toolchain ## Check format, lints, documentation and architecture
	cargo xtask lint

.PHONY: toolchain
toolchain:
	@command -v cargo >/dev/null || { \
		echo "cargo is not on the PATH."; \
		echo "Install Rust with rustup (https://rustup.rs), open a new shell, and run make again."; \
		echo "The right version of Rust is then fetched by itself: rust-toolchain.toml names it."; \
		exit 1; }
	@cargo --version >/dev/null || { \
		echo "cargo is there but does not start: its message is above."; \
		echo "If it names a missing toolchain, run: rustup toolchain install"; \
		exit 1; }
	@command -v cc >/dev/null || { \
		echo "There is no C linker (cc), which Rust needs to link programs."; \
		echo "Install one: apt install gcc, dnf install gcc, or on macOS xcode-select --install."; \
		exit 1; }
