# The verbs of a checkout; each one is a few CMake preset calls. JOBS and PREFIX may be set.
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
BENCH_FLAGS ?=
GAIN_RUNS ?= 68

.PHONY: help build demo test bench gains fuzz manual format check check-arm install deb
help:
	@sed -n 's/^## //p' Makefile

## make build      release binary at build/release/bin/wallsight (installs missing Debian packages)
build:
	@scripts/install_deps.sh build
	cmake --preset release
	cmake --build --preset release -j $(JOBS)

## make demo       builds and prints the report of a sample
demo: build
	build/release/bin/wallsight analyze samples/kineto/dataloader/trace.json.gz

## make test       plain (warnings are errors) and ASan+UBSan build, all tests on both (slow checks: a share of inputs on the second)
test:
	@scripts/install_deps.sh build
	cmake --preset ci
	cmake --build --preset ci -j $(JOBS)
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	ctest --preset ci -j $(JOBS)
	ctest --preset asan -j $(JOBS)

## make bench      speed and memory against the floor programs; BENCH_FLAGS=--quick for a short run
bench: build
	cmake --preset bench
	cmake --build --preset bench -j $(JOBS)
	python3 tests/bench/bench.py --wallsight build/release/bin/wallsight --tools build/bench/bin $(BENCH_FLAGS)

## make gains      predicted gains against simulated truth, spoiled ranks, and 64 ranks at once; GAIN_RUNS=68
gains: build
	python3 tests/checks/degraded_ranks.py build/release/bin/wallsight
	python3 tests/checks/counterfactuals.py build/release/bin/wallsight $(GAIN_RUNS)
	python3 tests/bench/many_ranks.py build/release/bin/wallsight

## make fuzz       every fuzz target for FUZZ_SECONDS (60) on a corpus made of the samples
fuzz:
	@scripts/install_deps.sh fuzz
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	tests/fuzz/run_fuzzers.sh build/fuzz $(FUZZ_SECONDS)

## make manual     build/rules_manual.md: every rule with its conditions, actions and sources
manual:
	@mkdir -p build
	python3 scripts/rules_manual.py build/rules_manual.md

## make format     clang-format over the whole tree
format:
	@scripts/install_deps.sh check
	git ls-files -z '*.cpp' '*.h' | xargs -0 clang-format -i

## make check      format and clang-tidy over the whole tree (include rules are part of make test)
check:
	@scripts/install_deps.sh check
	git ls-files -z '*.cpp' '*.h' | xargs -0 clang-format --dry-run --Werror
	cmake --preset tidy
	cmake --build --preset tidy -j $(JOBS) --target ws_recording_proto ws_partial_proto
	git ls-files -z 'analyzer/*.cpp' 'collector/*.cpp' 'tests/*.cpp' ':!*_abi_test.cpp' | xargs -0 -n 1 -P $(JOBS) \
	  sh -c 'out=$$(clang-tidy -quiet -p build/tidy "$$0" 2>&1) || { echo "$$out"; exit 1; }'
	cmake --build --preset tidy -j $(JOBS) --target house_test
	build/tidy/bin/house_test

## make check-arm  compiles every source for aarch64
check-arm:
	@scripts/install_deps.sh arm
	scripts/check_arm.sh $(JOBS)

## make install    into PREFIX (/usr/local): the binary, its rules and schemas
install: build
	cmake --install build/release --prefix $(PREFIX)

## make deb        build/release/wallsight_VERSION_ARCH.deb
deb: build
	@scripts/install_deps.sh deb
	cd build/release && cpack -G DEB
