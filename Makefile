# Everything that is checked and shown, one target each; `make help` lists them. CI runs `make test`.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# Two lanes. The main one runs every gate, on core 2.19 where there is a Python 3.11; the next one unit and sanity tests on core 2.21.
MAIN_PYTHON := $(shell tests/gates/python.sh 3.11 3.13 3.12)
MAIN_VERSION := $(subst python,,$(notdir $(MAIN_PYTHON)))
NEXT_PYTHON := $(if $(filter 3.11,$(MAIN_VERSION)),$(shell tests/gates/python.sh 3.13 3.12))
# the oldest Python of a node
NODE_PYTHON := $(shell tests/gates/python.sh 3.10)

MAIN := .venv
NEXT := .venv-2.21
MAIN_TREE := .build/main/ansible_collections/gb10/cluster
# what is shipped, for each lane's ansible-test
MAIN_SHIPPED := .build/main-shipped/ansible_collections/gb10/cluster
NEXT_SHIPPED := .build/next-shipped/ansible_collections/gb10/cluster
TARBALL := .build/dist/gb10-cluster-$(shell sed -n 's/^version: //p' galaxy.yml).tar.gz

# unit tests and playbooks run from the checkout through this link; a venv's tools come first in PATH
DEV := .build/dev/ansible_collections/gb10/cluster
GATE := PATH="$(CURDIR)/$(MAIN)/bin:$$PATH" ANSIBLE_COLLECTIONS_PATH="$(CURDIR)/.build/main" tests/gates/gate.sh

JOBS ?= $(shell nproc)
lab: TOPOLOGY ?= switched_fabric
bench: TOPOLOGY ?= two_node_direct
NODES ?=

# in the order they begin: what fails fast comes first, what takes long begins early enough to run beside the rest
GATES := house ruff shellcheck changelog unit types lint sanity unit-next docs sanity-next build importer install-test
# each on a lab of its own; they wait often, so two more than there are processors run at once, and the other gates beside them at a low priority:
# a node that gets no processor for ten seconds is lost. The longest of them has the right of way.
SCENARIOS := $(patsubst extensions/molecule/%/molecule.yml,molecule-%,$(wildcard extensions/molecule/*/molecule.yml))

# tests of the lab, its switch and the gates themselves, for one lane
TOOL_TESTS := tests/unit/lab tests/unit/gates tests/unit/routeros/test_switch_*

.PHONY: help test $(GATES) molecule $(SCENARIOS) system lab-setup tree lab lab-down bench clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

test: ## everything CI checks; logs in .build/gates
	@begin=$$SECONDS; rm -rf .build/gates; mkdir -p .build/gates; \
	$(MAKE) system || true; \
	$(MAKE) $(MAIN)/.made tree || true; \
	{ nice -n 10 $(MAKE) -k -j$$(($(JOBS) + 1)) QUIET=1 $(GATES) || true; } & \
	$(MAKE) -k -j$$(($(JOBS) + 2)) QUIET=1 $(SCENARIOS) || true; \
	wait; \
	SECONDS_SINCE_BEGIN=$$((SECONDS - begin)) tests/gates/summary.sh $(GATES) $(SCENARIOS)

# --- what the gates stand on ---

$(MAIN)/.made: tests/requirements.txt
	@test -n "$(MAIN_PYTHON)" || { echo "Python - expected 3.11, 3.12 or 3.13 with venv, found none. Install python3.11 and python3.11-venv."; exit 1; }
	@echo "main lane: $(MAIN_PYTHON)"
	@test -x $(MAIN)/bin/pip || $(MAIN_PYTHON) -m venv $(MAIN)
	@$(MAIN)/bin/pip install --quiet -r tests/requirements.txt
	@touch $@

$(NEXT)/.made: tests/requirements.txt requirements.txt
	@echo "next lane: $(NEXT_PYTHON)"
	@test -x $(NEXT)/bin/pip || $(NEXT_PYTHON) -m venv $(NEXT)
	@$(NEXT)/bin/pip install --quiet -c tests/requirements.txt -r requirements.txt ansible-core pytest hypothesis
	@touch $@

system:
	@tests/gates/system.sh

# most gates read a mirror of the working tree under the path that Ansible's tools insist on
tree: $(DEV)
	@$(or $(MAIN_PYTHON),python3) tests/gates/export.py $(MAIN_TREE) $(MAIN_SHIPPED) $(NEXT_SHIPPED)

$(DEV):
	@mkdir -p $(@D) && ln -sfn $(CURDIR) $@

# --- gates ---

house: $(MAIN)/.made $(DEV) ## rules of the house that no other tool knows
	@PYTHONPATH=.build/dev $(GATE) $@ python tests/gates/house.py

ruff: $(MAIN)/.made ## mistakes in tests and tools; what is shipped is sanity's
	@$(GATE) $@ ruff check --quiet .

shellcheck: system ## mistakes in shell scripts
	@$(GATE) $@ shellcheck $(shell git ls-files '*.sh')

changelog: $(MAIN)/.made tree ## changelog fragments
	@$(GATE) $@ env -C $(MAIN_TREE) antsibull-changelog lint

unit: $(MAIN)/.made $(DEV) ## unit tests, main lane
	@$(GATE) $@ env -u PYTHONDONTWRITEBYTECODE pytest

types: $(MAIN)/.made $(DEV) ## mypy
	@$(GATE) $@ mypy

lint: $(MAIN)/.made tree ## ansible-lint, production profile
	@$(GATE) $@ env -C $(MAIN_TREE) ansible-lint --profile production --offline --nocolor

docs: $(MAIN)/.made tree ## documentation of plugins and roles
	@$(GATE) $@ env -C $(MAIN_TREE) antsibull-docs lint-collection-docs --plugin-docs .

sanity: $(MAIN)/.made tree system ## all of ansible-test sanity, main lane, and node code on Python 3.10
	@$(GATE) $@ tests/gates/sanity.sh $(MAIN) $(MAIN_SHIPPED) $(or $(NODE_PYTHON),none)

build: $(MAIN)/.made tree ## the tarball
	@$(GATE) $@ ansible-galaxy collection build $(MAIN_TREE) --output-path $(dir $(TARBALL)) --force

importer: build ## the tarball as Galaxy takes it in
	@$(GATE) $@ tests/gates/importer.sh $(TARBALL)

install-test: build ## the tarball in an empty folder
	@$(GATE) $@ tests/gates/install.sh $(TARBALL)

ifneq ($(NEXT_PYTHON),)
unit-next: $(NEXT)/.made ## unit tests of what users run, next lane
	@$(GATE) $@ env -u PYTHONDONTWRITEBYTECODE $(NEXT)/bin/python -m pytest $(addprefix --ignore-glob=,$(TOOL_TESTS))

sanity-next: $(NEXT)/.made tree system ## all of ansible-test sanity, next lane
	@$(GATE) $@ tests/gates/sanity.sh $(NEXT) $(NEXT_SHIPPED)
else
unit-next sanity-next:
	@$(GATE) $@ tests/gates/skip.sh "the lane of core 2.21 needs Python 3.11 for the main lane and 3.12 or 3.13 beside it; the main lane is $(or $(MAIN_VERSION),missing)"
endif

lab-setup: $(MAIN)/.made
	@tests/lab/setup.sh

molecule: $(SCENARIOS) ## every scenario in the lab

molecule-switched_fabric: NICE := 0
$(SCENARIOS): NICE ?= 4
$(SCENARIOS): molecule-%: $(MAIN)/.made tree lab-setup
	@$(GATE) $@ nice -n $(NICE) tests/gates/molecule.sh $(MAIN_TREE) $*

# --- to look at ---

lab: $(MAIN)/.made tree lab-setup ## a simulated cluster, set up twice; four nodes on a switch, or TOPOLOGY=name and perhaps NODES=number
	@PATH="$(CURDIR)/$(MAIN)/bin:$$PATH" ANSIBLE_COLLECTIONS_PATH="$(CURDIR)/.build/dev" tests/gates/lab.sh $(TOPOLOGY) $(NODES)

lab-down: $(MAIN)/.made ## takes the lab of `make lab` down
	@PATH="$(CURDIR)/$(MAIN)/bin:$$PATH" python tests/lab/lab.py down

bench: $(MAIN)/.made tree lab-setup ## time and remote executions of a first and a second run; two nodes, or TOPOLOGY=name and perhaps NODES="2 4 8"
	@PATH="$(CURDIR)/$(MAIN)/bin:$$PATH" ANSIBLE_COLLECTIONS_PATH="$(CURDIR)/.build/dev" PYTHONPATH=tests/gates:.build/dev:tests/lab python tests/bench/bench.py --topology $(TOPOLOGY) $(patsubst %,--nodes %,$(NODES))

clean: ## removes what make made in the checkout
	rm -rf .build .venv .venv-2.21 .mypy_cache .hypothesis .ansible
