# Every command of this project. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/trainingjob-operator
UV_VERSION := 0.13.9
CHECKOV_VERSION := 3.3.30
# its libraries as of this day, so that none that comes later changes the verdict
CHECKOV_UNTIL := 2026-11-25
UV := $(CACHE)/tools/uv-$(UV_VERSION)/bin/uv
PYTHON := .venv/bin/python
PYTEST := $(PYTHON) -m pytest
NAMESPACE := trainingjob-system

.PHONY: help install lint format types layers unit integration minors e2e examples browser-test monitoring-test faults bench bench-hang bench-start bench-page test \
        upgrade-test security audit docs tour generate cluster cluster-down images node-image deploy undeploy run quickstart \
        coverage clean

help: ## List all targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

##@ Set-up
install: .venv/.installed ## Install the locked tools and libraries into .venv

.venv/.installed: pyproject.toml uv.lock | $(UV)
	@$(UV) sync --frozen --quiet
	@touch $@

$(UV):
	@command -v python3 >/dev/null || { echo "python3 (3.11 or newer) is needed: install it first" >&2; exit 1; }
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "python3 is $$(python3 -V): 3.11 or newer is needed" >&2; exit 1; }
	@python3 -c 'import ensurepip; ensurepip.version()' 2>/dev/null || { \
		echo "python3 has no venv module" >&2; \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "install it first: sudo apt-get install python3-venv" >&2; exit 1; }; \
		echo "installing Debian's python3-venv" >&2; apt-get update -qq && apt-get install -qq -y python3-venv >/dev/null; }
	@echo "installing uv $(UV_VERSION) into $(dir $(UV))" >&2
	@python3 -m venv $(CACHE)/tools/uv-$(UV_VERSION)
	@$(CACHE)/tools/uv-$(UV_VERSION)/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

##@ Checks, in the order of `make test`
lint: install ## Check style and formatting (ruff), YAML (yamllint)
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/yamllint --strict .

format: install ## Rewrite the code in the project's format
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

types: install ## Check types (mypy, strict)
	@.venv/bin/mypy

layers: install ## Check that the layers hold (import-linter)
	@.venv/bin/lint-imports

unit: install ## Run the tests that need nothing: seconds
	@$(PYTEST) -m "not integration and not e2e and not example and not upgrade and not browser and not monitoring" --cov --cov-report=term:skip-covered

browser-test: install ## See the operator's page in a headless Chromium: a minute (CHROMIUM=, SCREENSHOTS=1)
	@[ -n "$${CHROMIUM:-}" ] || $(PYTHON) -m localcluster.packages chromium
	@$(UV) sync --frozen --quiet --group browser
	@$(PYTEST) -m browser

integration: install ## Run the tests against a real API server, built if missing (KUBERNETES=1.36)
	@$(if $(KUBERNETES),export KUBEBUILDER_ASSETS; KUBEBUILDER_ASSETS=$$($(PYTHON) -m localcluster assets $(KUBERNETES)); \
		$$KUBEBUILDER_ASSETS/kube-apiserver --version;) $(PYTEST) -m integration

minors: install ## Run the integration tests on the API servers of the two minors before ours
	@for minor in 1.36 1.35; do $(MAKE) integration KUBERNETES=$$minor; done

e2e: deploy ## Run the tests with real pods on the local cluster (ROLLCALL_ROUNDS=10)
	@KUBECONFIG=$$($(PYTHON) -m localcluster kubeconfig) $(PYTEST) -m e2e

examples: deploy ## Run every example, check its numbers, print a table (EXAMPLES="01-ddp 05-fsdp")
	@KUBECONFIG=$$($(PYTHON) -m localcluster kubeconfig) PYTHONPATH=operator:.:tests $(PYTHON) -m e2e.table $(EXAMPLES)

tour: deploy ## Play docs/tour.md on the local cluster and write down what is said: three minutes
	@KUBECONFIG=$$($(PYTHON) -m localcluster kubeconfig) PYTHONPATH=operator:. $(PYTHON) -m website.tour

monitoring-test: deploy ## See the Grafana dashboard's queries over real data: a minute (needs prometheus)
	@command -v prometheus >/dev/null || { echo "prometheus is needed: sudo apt-get install prometheus" >&2; exit 1; }
	@KUBECONFIG=$$($(PYTHON) -m localcluster kubeconfig) $(PYTEST) -m monitoring -s

faults: install ## Disturb the operator at every write and watch event: 14 minutes (FAULTS_SECONDS=, FAULTS_SEED=)
	@$(PYTEST) -m faults -rs

bench: install ## Measure us beside our peers: hours (BENCH_RUNS=5, SCENARIOS="1x500 fall", SYSTEMS="raw ours")
	@PYTHONPATH=operator:.:tests $(PYTHON) -m benchmarks.compare
	@PYTHONPATH=operator:.:tests $(PYTHON) -m benchmarks.compare.page

bench-hang: install ## Measure until a rank that hangs is named, on the deployed local cluster (BENCH_RUNS=5)
	@PYTHONPATH=operator:.:tests $(PYTHON) -m benchmarks.hang

bench-start: install ## Measure how long each command of the command line takes to start: a minute (BENCH_RUNS=7)
	@$(PYTHON) -m benchmarks.start

bench-page: install ## Write what `make bench` has measured into docs/performance.md
	@PYTHONPATH=operator:.:tests $(PYTHON) -m benchmarks.compare.page --write

upgrade-test: deploy ## Upgrade, roll back and uninstall under running jobs: 10 minutes (UPGRADE_FROM=COMMIT)
	@KUBECONFIG=$$($(PYTHON) -m localcluster kubeconfig) $(PYTEST) -m upgrade -s

test: lint types layers docs unit browser-test integration e2e ## Run all checks and tests, as CI does

# the chart with all that it may have, and the operator's pod as it is when it leads
# checkov in an environment of its own: its hundred libraries would hold ours back
security: install ## Let scanners look over the chart and the images: a minute (kube-score, checkov)
	@programs=$$($(PYTHON) -c 'from localcluster import binaries as it, gomodules; \
		print(it.ensure(["helm"]) / "helm", it.one(gomodules.KUBE_SCORE, "kube-score"))'); \
	read -r helm kube_score <<< "$$programs"; \
	rendered=$$(mktemp -d); trap 'rm -r "$$rendered"' EXIT; \
	"$$helm" template trainingjob-operator charts/trainingjob-operator --namespace $(NAMESPACE) \
		--set networkPolicy.enabled=true,podDisruptionBudget.enabled=true,metrics.service.enabled=true \
		--set-json 'networkPolicy.egress=[{}]' --set-string 'podLabels.trainingjob\.dev/leader=true' \
		> "$$rendered/chart.yaml"; \
	"$$kube_score" score $$(sed 's/#.*//' .kube-score) "$$rendered/chart.yaml"; \
	$(UV) tool run --quiet --from checkov==$(CHECKOV_VERSION) --exclude-newer $(CHECKOV_UNTIL) checkov \
		--config-file .checkov.yaml --framework kubernetes dockerfile \
		--file "$$rendered/chart.yaml" $(wildcard images/*/Dockerfile)

audit: install ## Ask OSV for known vulnerabilities of the locked libraries (needs the Internet)
	@$(UV) audit --frozen

coverage: install ## Show the lines and branches that unit tests do not reach
	@$(PYTEST) -m "not integration and not e2e and not example and not upgrade and not browser and not monitoring" --cov --cov-report=term-missing:skip-covered

##@ Build and run
# in an environment of its own, as it is no library of the project's; strict: a broken link or anchor ends it
docs: | $(UV) ## Build the documentation as a site into dist/site, offline
	@NO_COLOR=1 $(UV) run --quiet --frozen --isolated --only-group docs zensical build --clean --strict

generate: install ## Write the resource definition, the chart's copy and the reference pages from the code
	@$(PYTHON) -m trainingjobs.schema --write .
	@PYTHONPATH=operator:. $(PYTHON) -m website --write .

cluster: install ## Bring up a local Kubernetes (CLUSTER=embedded|kind|current, NODES=1|2, GANG=1)
	@$(PYTHON) -m localcluster up

cluster-down: install ## Take the local Kubernetes down, without a trace
	@$(PYTHON) -m localcluster down

images: install ## Build the images whose inputs changed: the operator's and the trainer's, or IMAGES="jax mpi"
	@$(PYTHON) -m localcluster.images build $(IMAGES)

node-image: install ## Make a node image for kind without a registry, print its name (KIND_NODE_IMAGE=)
	@$(PYTHON) -m localcluster.nodeimage

deploy: cluster ## Install the operator on the local cluster with Helm (REPLICAS=2)
	@$(PYTHON) -m localcluster.deploy install

undeploy: install ## Remove the operator from the local cluster; jobs stay
	@$(PYTHON) -m localcluster.deploy uninstall

run: install ## Run the operator from this checkout against the current kubeconfig
	@$(PYTHON) -m trainingjobs run

quickstart: install ## Bring up a cluster, install the operator and train a model on three pods
	@$(PYTHON) -m localcluster.quickstart

clean: ## Remove what was built in this checkout (the cache stays)
	@rm -rf .venv .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
