# SPDX-License-Identifier: BSL-1.0
# The menu of targets; scripts/ has the commands behind them. `make -j N` sets the number of jobs (default: all cores).
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
export JOBS = $(or $(patsubst -j%,%,$(filter -j%,$(MAKEFLAGS))),$(shell nproc))

SUITES = millpond-p0089-suite millpond-unique_chars-suite millpond-suballocator-suite millpond-reserve_commit-suite
# Targets that capture programs on each allocator: the tool, the simulators, the mallocs.
CAPTURES = preload/all lab/references/all lab/simulate/all lab/layout/all lab/mallocs/all lab/measure/all \
	lab/characterise/all lab/record/all

# Compilers and standard libraries, each with a preset toolchain-NAME (python/millpond_bench/experiments/surroundings.py).
TOOLCHAINS = gcc clang clang-libc++

# Platforms that an emulator runs, each with a preset toolchain-NAME (python/millpond_bench/experiments/platforms.py).
PLATFORMS = aarch64

.PHONY: help setup build demo docs quick test test-more test-all check bench bench-toolchains bench-platforms bench-lab \
	bench-library bench-malloc bench-references results coverage format release clean

help: ## show this menu
	@echo "millpond: would a local allocator make this program faster or smaller, where, which one, by how much?"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## advise on a real program and on examples/request_server; write results/demo/report.html
	@echo "millpond: set-up, build (minutes the first time), advice on xmllint and examples/request_server (2 minutes)"
	@scripts/setup --system build demo mallocs
	@scripts/setup --python build demo mallocs & python=$$!; scripts/build demo && wait $$python
	@.venv/bin/python -m millpond_bench.demo_page

test: ## build everything, run the checks and the tests
	@scripts/setup build demo test
	@scripts/test

test-more: ## run more tests: other modes, more programs, ASan, TSan, 32 bits, other compilers, clang-tidy
	@scripts/setup build demo test
	@scripts/test --more

test-all: ## run all tests: also clang, coverage, planted faults, Windows, aarch64, browser, packages; SHARD=NAME: one part
	@scripts/setup build demo docs test test-all packages release aarch64
	@scripts/test --all $(SHARD)

quick: ## after an edit: build, and run the quick tests of the code that changed
	@scripts/setup build test
	@scripts/test --quick

check: ## check formatting, lint, types and layering
	@scripts/setup build test
	@scripts/test --check

bench: ## run the published experiments at quick scale; write results/bench
	@scripts/setup build demo bench-study
	@scripts/build release $(SUITES) $(CAPTURES)
	@.venv/bin/millpond-bench run all --scale quick

results: ## run the published experiments at standard scale (hours); write the verdicts to docs/results
	@scripts/setup build demo bench bench-study bench-study-i386 toolchains
	@scripts/build release $(SUITES) $(CAPTURES)
	@scripts/build i386 lab/mallocs/all
	@for one in $(TOOLCHAINS); do scripts/build toolchain-$$one $(SUITES) || exit; done
	@.venv/bin/millpond-bench run all --store results/store
	@$(MAKE) --no-print-directory bench-platforms
	@.venv/bin/millpond report results/store -o results:docs/results
	@.venv/bin/python scripts/quote_results

bench-toolchains: ## compare gcc, clang, and clang with libc++ on them; write results/bench/toolchains.html
	@scripts/setup build demo bench toolchains
	@for one in $(TOOLCHAINS); do scripts/build toolchain-$$one $(SUITES) || exit; done
	@mkdir -p results/bench
	@.venv/bin/millpond-bench run all --scale quick --toolchain $$(tr ' ' , <<< '$(TOOLCHAINS)') \
		-o results/bench/toolchains.json -o results/bench/toolchains.html

bench-platforms: ## judge on emulated platforms what does not rest on time; keep the verdicts in results/store
	@scripts/setup build demo $(PLATFORMS)
	@for one in $(PLATFORMS); do scripts/build toolchain-$$one $(SUITES) || exit; done
	@.venv/bin/millpond-bench run all --toolchain $$(tr ' ' , <<< '$(PLATFORMS)') --store results/store

bench-lab: ## measure recording, characterising and trials against their limits
	@scripts/setup build demo test bench
	@scripts/build release preload/all lab/all examples/all make_big_trace
	@.venv/bin/millpond-bench run laboratory

bench-library: ## measure the allocators against their peers and limits, at most an hour
	@scripts/setup build test bench
	@scripts/build release millpond-library-suite millpond-library-suite-hardened
	@.venv/bin/millpond-bench run library

bench-malloc: ## measure our malloc against others on real programs and under stress, at most an hour
	@scripts/setup build test bench bench-real
	@scripts/build release preload/all lab/all millpond-malloc-suite
	@.venv/bin/millpond-bench run malloc

bench-references: ## measure capture and simulation of data references against their limits
	@scripts/setup build test bench
	@scripts/build release lab/references/all lab/simulate/all lab/suites/all examples/all
	@.venv/bin/millpond-bench run references

setup: ## install the packages for building and testing (with apt, and in .venv)
	@scripts/setup build demo test

build: ## build programs, examples and tests into build/release
	@scripts/setup build test
	@scripts/build release

docs: ## build the documentation as a site that needs no network, in build/docs/site
	@scripts/setup build docs
	@.venv/bin/python -m millpond_docs.build_site

coverage: ## measure what the tests reach; fail if they miss a branch of core, os, block or local
	@scripts/setup build test test-all
	@scripts/coverage

format: ## format C++ and Python in place
	@scripts/setup build test
	@scripts/format

release: ## make wheels, source archive, Debian packages and sums in dist; try each in an empty root
	@scripts/setup build demo test release aarch64
	@scripts/test --all release

clean: ## remove builds and caches; dist/, results/ and .venv stay
	@rm -rf build .pytest_cache .mypy_cache .ruff_cache .hypothesis
