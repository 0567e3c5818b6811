# SPDX-License-Identifier: Apache-2.0
# The commands of the repository. Each one installs what is missing, builds what it needs and runs;
# what they do lies in CMakePresets.json and tools/.

JOBS ?= 2
ARGS ?=

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Two goals on one command line share the build folder, so they take turns.
.NOTPARALLEL:

# Nothing here asks questions, and a closed standard input would hand its number to the next file
# that somebody opens.
QUIET_INPUT := exec </dev/null;
# Some compilers and build tools listen to these; the presets alone decide.
unexport CFLAGS CXXFLAGS LDFLAGS CPPFLAGS MAKEFLAGS MAKELEVEL

# Debian's own Python before whatever is first in the path.
PYTHON := $(firstword $(wildcard /usr/bin/python3) python3) -B -E

install = $(QUIET_INPUT) tools/install_packages.sh
configure = cmake --preset $(1) --log-level=WARNING
build = cmake --build --preset $(1) --parallel $(JOBS)

.PHONY: help
help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

.PHONY: test
test: ## Install packages, build, run all tests.
	@$(install) build plugin test; $(call configure,dev); $(call build,dev); ctest --preset dev

.PHONY: demo
demo: ## Install packages, build, show tenants side by side (on a GPU if there is one).
	@$(install) build; $(call configure,dev); $(call build,dev) --target programs; \
	  build/bin/nvshare-demo $(ARGS)

.PHONY: bench
bench: ## Build and run a benchmark: make bench ARGS="driver --sim h200".
	@$(install) build; $(call configure,dev); $(call build,dev) --target programs; \
	  build/bin/nvshare-bench $(if $(ARGS),$(ARGS),driver)

.PHONY: test-asan
test-asan: ## Run the tests under AddressSanitizer and UBSan.
	@$(install) build plugin; $(call configure,asan); $(call build,asan); ctest --preset asan

.PHONY: test-tsan
test-tsan: ## Run the tests under ThreadSanitizer.
	@$(install) build plugin; $(call configure,tsan); $(call build,tsan); ctest --preset tsan

.PHONY: lint
lint: ## Run the repository's own rules: layers, sizes, format, headers, generated files.
	@$(install) build plugin test; $(call configure,dev); ctest --preset dev --label-regex '^lint$$'

.PHONY: tidy
tidy: ## Run clang-tidy over all sources.
	@$(install) build plugin tidy; $(call configure,dev); $(call build,dev); tools/tidy.sh

.PHONY: format
format: ## Format all sources, and write the generated documents anew.
	@$(install) build test; $(PYTHON) tools/lint/format.py; \
	  $(PYTHON) tools/gen_docs.py; $(PYTHON) tools/gen_kustomize.py

.PHONY: krew
krew: ## Make kubectl nvshare for krew: make krew URL=https://example.com/v0.1.0 [HOMEPAGE=URL].
	@$(install) build; $(PYTHON) tools/make_krew.py "$(URL)" $(if $(HOMEPAGE),--homepage "$(HOMEPAGE)")

.PHONY: clean
clean: ## Remove the build folder.
	@rm -rf build
