# Everything that a maintainer or CI does. `make` alone lists the targets.
#
# Pinned tools are fetched into .bin/ and .tools/ when a target first needs them. `run`, `build` and `test` need none of
# them: what buf generates is committed.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

ROOT := $(abspath $(dir $(lastword $(MAKEFILE_LIST))))
BIN := $(ROOT)/.bin
TOOLS := $(ROOT)/.tools
BUILD := $(ROOT)/.build
TENURE := $(ROOT)/bin/tenure

# The Java compilers; the other tools are pinned by files under tools/.
PROTOC_VERSION := 3.25.8
GRPC_JAVA_VERSION := 1.75.0
MAVEN_DEPENDENCY_PLUGIN := org.apache.maven.plugins:maven-dependency-plugin:3.8.1

# VERSION is what `tenure --version` says.
VERSION ?= $(shell git -C $(ROOT) describe --tags --always --dirty 2>/dev/null || echo dev)

GO ?= go
PYTHON ?= python3
MVN ?= mvn

# All programs and tests are built in one way, so that each package is compiled once; with the race detector, once more.
export CGO_ENABLED ?= $(if $(findstring -race,$(GO_TEST_FLAGS)),1,0)
ifeq ($(findstring -trimpath,$(GOFLAGS)),)
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS) -trimpath)
endif

# Maven's JVM lives for seconds: the second compiler and its threads cost more than they save.
export MAVEN_OPTS ?= -XX:TieredStopAtLevel=1 -XX:+UseSerialGC

# Maven's name for this platform, as in linux-x86_64 or osx-aarch_64.
PLATFORM := $(shell uname -s | sed 's/Linux/linux/;s/Darwin/osx/')-$(shell uname -m | sed 's/arm64/aarch_64/;s/aarch64/aarch_64/')

# Where the Go code is: the main module, and the modules beside it that import it.
SIDE_MODULES := $(patsubst %/go.mod,%,$(wildcard bench/go.mod bench/*/go.mod test/*/go.mod))

GO_TEST_FLAGS ?= -timeout 15m
FUZZ_TIME ?= 30s
SOAK_FLAGS ?= -timeout 2h
GO_TEST_PACKAGES ?= ./...
SIM_SEEDS ?= 1000
PLANTED_TURN ?= -1

# CI=true is how machines of CI say what they are. With TENURE_CI=1 a test that lacks what it needs fails, and is not skipped.
ifeq ($(CI),true)
export TENURE_CI ?= 1
endif

# What was skipped, for `make test` to tell at its end.
SKIPPED := $(BUILD)/skipped

.PHONY: help
help: ## list the targets; times are for two cores and filled caches
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-17s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

## Build and run

.PHONY: build
build: ## build bin/tenure, one static binary
	@# Where nothing has changed nothing is linked. A new one takes the place of the old one at once, which may be running, or wanted by another make.
	CGO_ENABLED=0 $(GO) build -ldflags '-X main.version=$(VERSION)' -o $(BUILD)/tenure ./cmd/tenure
	@cmp -s $(BUILD)/tenure $(TENURE) || { mkdir -p $(dir $(TENURE)) && cp $(BUILD)/tenure $(TENURE).$$$$ && mv $(TENURE).$$$$ $(TENURE); }

.PHONY: run
run: build ## build, then run one member on a temporary store
	$(TENURE) serve --dev

.PHONY: cluster
cluster: build ## build, then run three members on this machine; CLUSTER_DATA=DIR keeps what they store
	@tools/cluster.sh $(TENURE) $(CLUSTER_DATA)

## Test

comma := ,

# What Python and Java need, as commands.
PYTHON_CHECK := $(PYTHON) -c 'import ensurepip$(comma) venv'
JAVA_CHECK := command -v javac && command -v $(MVN)

# $(call found,CHECK) is whether CHECK succeeds. $(call skip,PROGRAM,TESTS) says that tests are skipped for want of a program
# on a developer's machine, and fails in CI, where a language that silently drops out would look like one that passes.
found = { $(1); } >/dev/null 2>&1
skip = { if [ "$${TENURE_CI:-}" = 1 ]; then echo "error: $(2) need $(1), not found here" >&2; exit 1; fi; \
	mkdir -p $(BUILD); echo "skipped: $(2) need $(1), not found here" | tee -a $(SKIPPED) >&2; }

# The tests of the three languages wait for clocks often enough to run beside each other, and of Go twice as many packages at once as there
# are processors: those that wait longest begin first, so that none is left alone at the end. What vet says is known from lint. A make that
# cannot keep their output apart runs one language after the other.
GO_PACKAGES_AT_ONCE = $$((2 * $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)))
GO_LONGEST := ./cmd/tenure ./server ./test/process ./test/cluster ./test/pool ./clients/conformance ./test/hostile ./test/seed ./raftnode
BESIDE := $(if $(filter output-sync,$(.FEATURES)),-j4 --output-sync=target,-j1)

.PHONY: test
test: ## run all tests of all languages, those of Go with -short, and list at the end what was skipped (5 to 6 min)
	@rm -f $(SKIPPED)
	@rc=0; $(MAKE) --no-print-directory build agents && \
	echo "Each language prints what its tests say when all of them have run." && \
	$(MAKE) --no-print-directory --keep-going $(BESIDE) test-python test-java test-go-main test-go-side \
		GO_TEST_FLAGS="-short -vet=off -p $(GO_PACKAGES_AT_ONCE) $(GO_TEST_FLAGS)" GO_TEST_PACKAGES='$(GO_LONGEST) ./...' KEPT_TESTS=$(BUILD)/tests \
		JAVA_TEST_FLAGS='-DargLine="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"' || rc=$$?; \
	if [ -s $(SKIPPED) ]; then echo "not all tests ran:"; sort -u $(SKIPPED); fi; \
	exit $$rc

# The scenarios of clients/conformance are run by the clients of all languages that there are. This makes what they need, or
# says what is skipped.
.PHONY: agents
agents:
	@if $(call found,$(PYTHON_CHECK)); then $(MAKE) --no-print-directory $(TOOLS)/python-client/.done; \
	else $(call skip,python3 with venv,the scenarios of the Python client); fi
	@if $(call found,$(JAVA_CHECK)); then $(MAKE) --no-print-directory $(JAVA_AGENT)/.classpath; \
	else $(call skip,a JDK and Maven,the scenarios of the Java client); fi

# Java's agent is compiled in a folder of its own, so that the tests of the Java client may run meanwhile. Its folders count as sources: so a
# file that is no more is missed. Tests that find no class path build the agent themselves.
JAVA_AGENT := $(BUILD)/conformance-java

$(JAVA_AGENT)/.classpath: clients/java/pom.xml $(shell find clients/java/src gen/java 2>/dev/null)
	cd clients/java && $(MVN) --quiet --batch-mode --no-transfer-progress --strict-checksums test-compile \
		$(MAVEN_DEPENDENCY_PLUGIN):build-classpath -Dtenure.build.directory=$(JAVA_AGENT) -Dmdep.outputFile=$(JAVA_AGENT)/libraries
	printf '%s' "$(JAVA_AGENT)/test-classes:$(JAVA_AGENT)/classes:$$(cat $(JAVA_AGENT)/libraries)" >$@

# TENURE_AGENTS tells their test which languages there must be.
with_agents = TENURE_BINARY=$(TENURE) \
	TENURE_AGENTS="$$(if $(call found,$(PYTHON_CHECK)); then echo python; fi; if $(call found,$(JAVA_CHECK)); then echo java; fi)" \
	TENURE_JAVA_CLASSPATH="$$(if $(call found,$(JAVA_CHECK)); then cat $(JAVA_AGENT)/.classpath; fi)"

# $(call go_test,NAME,PACKAGES) runs tests. Where KEPT_TESTS is a folder, their programs are kept there, in NAME.
KEPT_TESTS ?=
go_test = $(if $(KEPT_TESTS),$(ROOT)/tools/gotest.sh $(KEPT_TESTS)/$(1) $(GO_TEST_FLAGS) -- $(2),$(GO) test $(GO_TEST_FLAGS) $(2))

.PHONY: test-go
test-go: build agents ## run the Go tests, and the scenarios that all clients share (7 min)
	@$(MAKE) --no-print-directory --keep-going test-go-main test-go-side

.PHONY: test-go-main
test-go-main: build agents
	$(with_agents) $(call go_test,main,$(GO_TEST_PACKAGES))

.PHONY: test-go-side
test-go-side: build
	failed=0; \
	for module in $(SIDE_MODULES); do (cd "$$module" && TENURE_BINARY=$(TENURE) $(call go_test,$${module//\//-},./...)) || failed=1; done; \
	exit $$failed

# The tests of the client mostly wait, so three processes run them beside each other, each a few files at a time.
.PHONY: test-python
test-python: build ## run the tests of the Python stubs and of the Python client (3 min)
	@$(call found,$(PYTHON_CHECK)) || { $(call skip,python3 with venv,the tests of Python); exit 0; }; \
	$(MAKE) --no-print-directory $(TOOLS)/python-test/.done $(TOOLS)/python-client/.done; \
	(cd test/stubs/python && TENURE_BINARY=$(TENURE) $(TOOLS)/python-test/bin/python -m pytest -p no:cacheprovider); \
	cd clients/python && $(TOOLS)/python-client/bin/python -m pip install --quiet --no-input \
		--disable-pip-version-check --no-deps --no-build-isolation --force-reinstall . && \
	$(TOOLS)/python-client/bin/ruff check && $(TOOLS)/python-client/bin/ruff format --check && $(TOOLS)/python-client/bin/mypy && \
	ls tests/test_*.py | TENURE_BINARY=$(TENURE) xargs -n 8 -P 3 $(ROOT)/tools/whole.sh $(TOOLS)/python-client/bin/python -m pytest

# `make test` has the JVM of the tests compile with the first compiler only: it lives for a minute, and takes half the CPU so. Here it is
# as users have it.
JAVA_TEST_FLAGS ?=

.PHONY: test-java
test-java: build ## run the tests of the Java client and stubs (2 min)
	@$(call found,$(JAVA_CHECK)) || { $(call skip,a JDK and Maven,the tests of the Java client and stubs); exit 0; }; \
	for project in test/stubs/java clients/java; do \
		(cd $$project && TENURE_BINARY=$(TENURE) $(MVN) --batch-mode --no-transfer-progress --strict-checksums $(JAVA_TEST_FLAGS) test) || exit 1; \
	done

.PHONY: package-java
package-java: ## make the jars of the Java client, with sources and documentation (1 min)
	rm -rf clients/java/target/*.jar clients/java/target/reports clients/java/target/maven-javadoc-plugin-stale-data.txt
	cd clients/java && $(MVN) --batch-mode --no-transfer-progress --strict-checksums -DskipTests package
	@for jar in .jar:class -sources.jar:java -javadoc.jar:html; do \
		jar tf clients/java/target/tenure-client-*[0-9]$${jar%:*} | grep -E "(^|/)io/tenure/Client.$${jar#*:}$$" >/dev/null || \
			{ echo "clients/java makes no $${jar%:*} with io.tenure.Client" >&2; exit 1; }; \
	done

.PHONY: conformance
conformance: build agents ## run every scenario with every client, and the contest for locks between all of them (9 min)
	$(with_agents) TENURE_CONFORMANCE=all $(GO) test -count=1 -vet=off -parallel 4 -timeout 30m -v ./clients/conformance

# In these the members are processes of their own, of which the race detector sees nothing. One test of each has the most
# goroutines, and stands for the code that drives them; all run in test-go. What vet says is known from there, and from lint.
PROCESS_TESTS := test/cluster test/fault test/pool test/process test/proof test/hostile test/seed
PROCESS_TESTS_RACE := TestAQuietClientIsServed|TestTheOnlyMemberMissesNoMachineWhileItIsAway|TestWritesThroughAFollowerSurviveDyingLeaders|TestRollingRestart|TestEveryWatcherGetsItsPartOfTheHistory|TestSessionsLiveWhileRenewedAndEndWithinASecondOfTheirTTL|TestElectionOfTheGuide

.PHONY: race
race: build ## run the Go tests with the race detector (10 min)
	CGO_ENABLED=1 TENURE_BINARY=$(TENURE) $(GO) test -race -vet=off $(GO_TEST_FLAGS) \
		$$($(GO) list ./... | grep -v $(foreach tests,$(PROCESS_TESTS),-e '/$(tests)$$'))
	CGO_ENABLED=1 TENURE_BINARY=$(TENURE) $(GO) test -race -vet=off $(GO_TEST_FLAGS) -run '^($(PROCESS_TESTS_RACE))$$' $(addprefix ./,$(PROCESS_TESTS)) | \
		awk '{ print } /no tests to run/ { none = 1 } END { exit none }'

# Packages of which `make race` runs less than all: those above, and those that do less under the detector, as their race_on_test.go says.
# The simulator and the scenarios of the clients have targets of their own.
.PHONY: test-beside-race
test-beside-race: ## run the Go tests that `make race`, `make sim` and `make conformance` leave out (CI runs all four)
	@$(MAKE) --no-print-directory test-go GO_TEST_PACKAGES="$$( \
		{ git ls-files '*/race_on_test.go' | xargs -n 1 dirname; printf '%s\n' $(PROCESS_TESTS); } | \
		grep -v -x -e test/sim -e clients/conformance | sort -u | sed 's|^|./|' | paste -s -d ' ')"

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZ_TIME (30s)
	tools/fuzz.sh $(FUZZ_TIME)

.PHONY: soak
soak: build agents ## run the long tests, which `make test` cuts short (hours)
	TENURE_SOAK=1 TENURE_BINARY=$(TENURE) $(GO) test -count=1 $(SOAK_FLAGS) ./...
	$(GO) test -count=1 $(SOAK_FLAGS) -run TestModel ./storage -model.seeds 16 -model.commands 65536
	TENURE_CRASH_POINTS=20000 $(GO) test -count=1 $(SOAK_FLAGS) -run TestCrashSweep ./raftnode -v
	TENURE_SOAK=1 $(MAKE) --no-print-directory test-python test-java
	TENURE_CONFORMANCE_TLS=1 $(MAKE) --no-print-directory conformance
	$(MAKE) --no-print-directory planted

# go test matches names in which spaces have become underscores.
ATTACK ?= .
.PHONY: hostile
hostile: build ## make the attacks in their long form and print their table; ATTACK='answers that' makes those that match (1 h)
	TENURE_SOAK=1 TENURE_BINARY=$(TENURE) $(GO) test -count=1 $(SOAK_FLAGS) -v -run "TestAttacks/$$(echo '$(ATTACK)' | tr ' ' _)" ./test/hostile | \
		grep --line-buffered -E '\| .* \|$$|FAIL|allowed|answered|failed|want at most'

.PHONY: thirdparty
thirdparty: build ## run programs made for Consul against Tenure, as far as they can be fetched, and write their table to docs/consul.md (25 min, and 15 min for the first fetch)
	tools/thirdparty.sh $(TOOLS)/thirdparty
	cd test/thirdparty && TENURE_BINARY=$(TENURE) TENURE_THIRDPARTY=$(TOOLS)/thirdparty $(GO) test -count=1 -parallel 6 -timeout 1h -v .

# What CI runs of it: most programs, each call once, with one killed leader.
THIRDPARTY_SHORT := consul consul-template py-consul npm-consul ecwid orbitz kiwiproject
.PHONY: thirdparty-short
thirdparty-short: build ## run what is fetched quickly of these programs, in a short form, and write no table (3 min, and 2 min for the first fetch)
	tools/thirdparty.sh $(TOOLS)/thirdparty $(THIRDPARTY_SHORT)
	cd test/thirdparty && TENURE_BINARY=$(TENURE) TENURE_THIRDPARTY=$(TOOLS)/thirdparty TENURE_THIRDPARTY_SHORT=1 $(GO) test -count=1 -vet=off -timeout 10m -v \
		-run '^(TestProgramsMakeEachCall|TestConsulsOwnProgram|TestTemplatesAreRendered)$$' .

# The tests of the state machine that give it many commands: with the invariants, and without the race detector, because each of them
# runs on one goroutine.
STORAGE_TESTS_SIM := TestModel|TestReplicasAgree|TestRandomCatalog|TestCrashLosesOnlyTheTail|TestEndListEndsWhatACommandHasNoRoomFor|TestRecoverKeepsSessions|TestRestoreEndsManySessions|TestABreakTakesSoMany|TestForgettingTakesSteps|TestACommandMovesFewLargeKeys|TestATransactionStopsReadingWhereItsResultIsTooLarge|TestATransactionReadsTheSameWithTheLogAndWithout

.PHONY: sim
sim: ## hold the state machine against its model, and simulate a cluster and what breaks: SIM_SEEDS (1 000) runs of 72 s (13 min)
	$(GO) test -count=1 -vet=off -tags invariants -run '^($(STORAGE_TESTS_SIM))$$' ./storage
	$(GO) test -count=1 -vet=off -timeout 30m -tags invariants -v ./test/sim -seeds $(SIM_SEEDS)

.PHONY: planted
planted: ## plant bugs, one after the other, and demand that tests find each; PLANTED_TURN=N hunts 12 of them (8 min)
	$(GO) run ./test/planted/overlay -out $(BUILD)/planted
	$(GO) build -tags invariants -overlay $(BUILD)/planted/overlay.json ./...
	$(GO) test -c -vet=off -tags invariants -overlay $(BUILD)/planted/overlay.json -o $(BUILD)/planted/raftnode.test ./raftnode
	TENURE_CRASH_SWEEP=$(BUILD)/planted/raftnode.test $(GO) test -count=1 -vet=off -run TestTheCrashSweepFindsPlantedBugs ./test/planted
	TENURE_PLANTED_OVERLAY=$(BUILD)/planted/overlay.json $(GO) test -count=1 -vet=off -timeout 20m -run TestRulesOfFreshnessAreMissed -v ./test/planted
	$(GO) test -count=1 -vet=off -timeout 60m -tags invariants -overlay $(BUILD)/planted/overlay.json -run TestPlantedBugsAreFound -v ./test/sim -turn $(PLANTED_TURN)

.PHONY: mutants
mutants: ## change the product in 120 small ways, one at a time, and list those that no test notices (4 hours); MUTANTS_FLAGS
	mkdir -p $(BUILD)
	$(GO) run ./test/mutants -out $(BUILD)/mutants.jsonl $(MUTANTS_FLAGS)

.PHONY: bench
bench: build ## measure one member against raw gRPC and raw fdatasync
	cd bench && TENURE_BINARY=$(TENURE) $(GO) run . $(BENCH_FLAGS)

ZOOKEEPER := $(BUILD)/zookeeper.classpath

$(ZOOKEEPER): bench/peers/zookeeper/pom.xml | $(BUILD)
	cd bench/peers/zookeeper && $(MVN) --batch-mode --quiet --no-transfer-progress --strict-checksums \
		$(MAVEN_DEPENDENCY_PLUGIN):build-classpath -Dmdep.outputFile=$@

.PHONY: bench-peers
bench-peers: build $(ZOOKEEPER) ## measure Tenure beside etcd and ZooKeeper in one run, on a quiet machine (60 min); PEERS_FLAGS
	$(GO) build -C bench/peers -o $(BUILD)/etcd go.etcd.io/etcd/server/v3
	cd bench/peers && $(GO) run . -tenure $(TENURE) -etcd $(BUILD)/etcd -zookeeper "$$(cat $(ZOOKEEPER))" $(PEERS_FLAGS)

.PHONY: bench-outage
bench-outage: build agents ## measure how long callers of each library wait when the leader dies or says nothing (10 min)
	cd bench && TENURE_BINARY=$(TENURE) PYTHONPATH=$(CURDIR)/clients/python/src:$(CURDIR)/gen/python \
		$(GO) run . -workloads outage -members 3 -library "python=$(TOOLS)/python-client/bin/python puts/puts.py" \
		-library "java=java -cp $$(cat $(JAVA_AGENT)/.classpath) puts/Puts.java" $(BENCH_FLAGS)

.PHONY: costs
costs: ## name the slowest command that anybody can make
	cd bench && $(GO) run ./costs $(COSTS_FLAGS)

## Check and generate

.PHONY: check
check: $(BIN)/golangci-lint ## vet, lint and test (-short) the Go packages changed since main (1 min)
	@tools/check.sh $(BIN)/golangci-lint

# Pages whose English has been mended, and has to stay so.
WORDS := README.md CONTRIBUTING.md docs/README.md docs/tutorial.md docs/election.md docs/which-lock.md docs/catalog.md \
	docs/agent.md docs/rest.md docs/glossary.md docs/architecture.md docs/guarantees.md docs/operations.md \
	docs/performance.md docs/security.md docs/clients/go.md docs/clients/java.md docs/clients/python.md \
	docs/clients/features.md docs/clients/reference.md deploy/README.md docs/coming-from.md docs/consul.md \
	storage/testdata/README.md clients/go/README.md clients/java/README.md clients/python/README.md clients/conformance/README.md bench/METHOD.md

# Code with text that users read: comments of the API, messages and help, docstrings and Javadoc. Texts of cluster version 1 never change.
WORDS_CODE = $(filter-out %_test.go,$(shell git ls-files 'proto/tenure/v1/*.proto' '*.go' 'clients/python/src/*.py' 'clients/java/src/main/*.java' \
	':!gen' ':!test' ':!bench' ':!tools' ':!storage/rule/texts.go'))

.PHONY: house
house: ## print the largest objects and packages, what imports what, and which limits are missed
	@$(PYTHON) tools/house.py

.PHONY: words
words: ## look for expressions that a native reader stumbles over
	@$(PYTHON) -m doctest tools/words.py
	@$(PYTHON) tools/words.py $(WORDS) $(WORDS_CODE)

.PHONY: lint
lint: words $(BIN)/buf $(BIN)/golangci-lint ## check protos and Go code; changes nothing (1 min)
	$(PYTHON) tools/house.py --check >/dev/null || { $(PYTHON) tools/house.py; exit 1; }
	$(BIN)/buf lint
	$(BIN)/buf format --diff --exit-code
	$(BIN)/golangci-lint run ./...
	for module in $(SIDE_MODULES); do (cd "$$module" && $(BIN)/golangci-lint run --config $(ROOT)/.golangci.yml ./...) || exit 1; done

.PHONY: fmt
fmt: $(BIN)/buf $(BIN)/golangci-lint ## format protos, and the Go code of the main module
	$(BIN)/buf format --write
	git ls-files '*.go' | grep -v -E "^($$(echo gen $(SIDE_MODULES) | tr ' ' '|'))/" | xargs $(BIN)/golangci-lint fmt

# Generates beside gen/ and swaps at the end, so that a failed run leaves the committed code as it was.
.PHONY: gen
gen: $(BIN)/buf $(BIN)/.go-tools $(BIN)/protoc $(BIN)/protoc-gen-grpc-java $(TOOLS)/python-gen/.done ## regenerate gen/, and what reflection serves, from proto/
	rm -rf $(BUILD)/gen $(BUILD)/gen.old
	$(BIN)/buf generate --output $(BUILD)/gen
	$(BIN)/buf generate --output $(BUILD)/gen --template proto/private.gen.yaml
	$(TOOLS)/python-gen/bin/python tools/openapi.py $(BUILD)/gen/gen/openapi/tenure.swagger.json
	cp tools/openapi.go.txt $(BUILD)/gen/gen/openapi/openapi.go
	mkdir -p $(BUILD)/gen/gen/python
	$(TOOLS)/python-gen/bin/python -m grpc_tools.protoc --proto_path=proto --python_out=$(BUILD)/gen/gen/python \
		--pyi_out=$(BUILD)/gen/gen/python --grpc_python_out=$(BUILD)/gen/gen/python proto/tenure/v1/*.proto
	$(BIN)/buf build --path proto/tenure/v1 --as-file-descriptor-set --output server/descriptor/tenure.binpb
	if [ -e gen ]; then mv gen $(BUILD)/gen.old; fi
	mv $(BUILD)/gen/gen gen
	rm -rf $(BUILD)/gen $(BUILD)/gen.old

.PHONY: verify-gen
verify-gen: gen ## regenerate and fail if gen/ is not what is committed
	@changed=$$(git status --porcelain -- gen server/descriptor/tenure.binpb); \
	if [ -n "$$changed" ]; then \
		echo "error: gen/ is not what proto/ gives; run make gen and commit the result:" >&2; \
		echo "$$changed" | head -40 >&2; git --no-pager diff --stat -- gen server/descriptor/tenure.binpb | tail -1 >&2; exit 1; \
	fi

.PHONY: breaking
breaking: $(BIN)/buf ## compare proto/ with the last release; before v0.1.0 it only prints
	tools/breaking.sh $(BIN)/buf

.PHONY: ci
ci: ## run what CI runs (40 min)
	.ci/run

.PHONY: clean
clean: ## remove what was built; the tools stay
	rm -rf bin .build test/stubs/java/target clients/java/target
	find clients test tools -name __pycache__ -type d -prune -exec rm -rf {} +

## Tools

.PHONY: tools
tools: $(BIN)/buf $(BIN)/.go-tools $(BIN)/protoc $(BIN)/protoc-gen-grpc-java $(TOOLS)/python-gen/.done $(BIN)/golangci-lint ## fetch the pinned tools into .bin and .tools

# Other targets build what they need; this one is for people.
.PHONY: grpcurl
grpcurl: $(BIN)/grpcurl ## build grpcurl, which the documentation uses, into .bin (1 min)

$(BIN)/grpcurl: tools/go.mod tools/go.sum | $(BIN)
	cd tools && GOBIN=$(BIN) $(GO) install github.com/fullstorydev/grpcurl/cmd/grpcurl
	touch $@

$(BIN) $(TOOLS) $(BUILD):
	mkdir -p $@

# protoc-gen-go, protoc-gen-go-grpc, protoc-gen-grpc-gateway, protoc-gen-openapiv2 and grpcurl.
$(BIN)/.go-tools: tools/go.mod tools/go.sum | $(BIN) $(TOOLS)
	cd tools && GOBIN=$(BIN) $(GO) install tool
	touch $@

# These two need versions of shared libraries that tools/go.mod cannot give them, so each is built from its own module.
$(BIN)/buf: tools/buf.version | $(BIN)
	GOBIN=$(BIN) $(GO) install github.com/bufbuild/buf/cmd/buf@$$(cat tools/buf.version)
	touch $@

$(BIN)/golangci-lint: tools/golangci-lint.version | $(BIN)
	GOBIN=$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$$(cat tools/golangci-lint.version)
	touch $@

# The Java compilers come from Maven's repository as programs; their checksums are in tools/java/SHA256SUMS.
# $(call maven_program,GROUP:ARTIFACT,VERSION) puts one at $@.
define maven_program
	$(MVN) --batch-mode --quiet --no-transfer-progress --strict-checksums $(MAVEN_DEPENDENCY_PLUGIN):copy \
		-Dartifact=$(1):$(2):exe:$(PLATFORM) -DoutputDirectory=$(TOOLS)/java
	cd $(TOOLS)/java && grep -F "$(lastword $(subst :, ,$(1)))-$(2)-$(PLATFORM).exe" $(ROOT)/tools/java/SHA256SUMS | sha256sum --check --quiet -
	install -m 755 $(TOOLS)/java/$(lastword $(subst :, ,$(1)))-$(2)-$(PLATFORM).exe $@
endef

$(BIN)/protoc: tools/java/SHA256SUMS | $(BIN) $(TOOLS)
	$(call maven_program,com.google.protobuf:protoc,$(PROTOC_VERSION))

$(BIN)/protoc-gen-grpc-java: tools/java/SHA256SUMS | $(BIN) $(TOOLS)
	$(call maven_program,io.grpc:protoc-gen-grpc-java,$(GRPC_JAVA_VERSION))

# $(call python_venv,REQUIREMENTS) makes the virtual environment whose stamp is $@.
define python_venv
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --no-input --disable-pip-version-check --require-hashes -r $(1)
	touch $@
endef

$(TOOLS)/python-gen/.done: tools/python/requirements.txt | $(TOOLS)
	$(call python_venv,tools/python/requirements.txt)

$(TOOLS)/python-test/.done: test/stubs/python/requirements.txt | $(TOOLS)
	$(call python_venv,test/stubs/python/requirements.txt)

$(TOOLS)/python-client/.done: clients/python/requirements.txt | $(TOOLS)
	$(call python_venv,clients/python/requirements.txt)
