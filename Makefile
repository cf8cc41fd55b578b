# The front door: `make` lists what it can do. CMake with CMakePresets.json does the work.
SHELL := /bin/bash
PREFIX ?= /usr/local
CONFIGURE ?=  # more options for CMake
PART ?= all  # what bench-slide and gpu-bench run
# The data sets of a development machine, unless YOKE_DATA names others.
YOKE_DATA ?= $(realpath ../shared/data)
ifneq ($(YOKE_DATA),)
  export YOKE_DATA
endif
YOKE_VENV = $(or $(YOKE_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/yoke)/venv-python
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell tools/cores)
cpp_files = git ls-files '*.cc' '*.h' '*.cu' '*.cuh'

.PHONY: help setup build demo test test-all build-tests bench bench-slide cores-check figures figure format tidy gpu-check gpu-bundle gpu-bench install wheel clean

help:  ## this list
	@grep -E '^[a-z%-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

setup:  ## install what is missing to build, test and check yoke
	@tools/setup build python test tidy

build: build/release/build.ninja  ## the program build/bin/yoke, optimized; installs what is missing
	@tools/setup build
	@cmake --build build/release --target yoke

demo: build  ## build, then train LeNet on drawn digits
	@build/bin/yoke train examples/demo.toml

test: build-tests  ## build and run the tests but the slow ones
	@rm -rf build/release/results
	@tools/test release -LE '^(gpu|slow)$$'

test-all: build-tests  ## every test, at lower instruction sets too, sanitizers over all, fuzzers, clang-tidy over all
	@tools/test_all

build-tests: build/release/build.ninja
	@tools/setup build python test
	@[ -e build/release/tests ] || cmake --preset release $(CONFIGURE)
	@cmake --build build/release

bench:  ## our training step against PyTorch's
	@tools/bench

bench-slide:  ## the hashed output layer's speed, scaling and memory; PART=labels, yardstick, ...
	@tools/bench bench/slide.py $(PART)

cores-check: build  ## how steps grow with this machine's cores: computed beside measured, at most 5 minutes
	@python3 bench/growth.py --check --seconds 5 --teams 1,2,4,8,16 \
	  --rows mlp:64:f32,mlp:512:f32,lenet:64:f32,lenet:64:bf16,alexnet-cifar:128:f32,resnet20:128:f32,slide:200000:f32
	@python3 bench/growth.py --shapes --check --seconds 2 --machines $$(nproc):1 --rows mlp:64:f32,mlp:512:f32,lenet:64:f32,alexnet-cifar:128:f32

figures:  ## the tables of docs that are measured, and which are older than what they measure
	@python3 bench/figures.py

figure:  ## measures one, or all of a page (NAME=plan.md), again and puts them there; QUICK=1 only prints a try
	@python3 bench/figures.py $(NAME) $(if $(QUICK),--quick)

paper-%: build  ## a paper's tables beside ours: paper-omnivore, paper-hogbatch, paper-gossip, paper-slide, paper-easgd; QUICK=1 for a try
	@tools/setup build test
	@[ -e build/release/tests ] || cmake --preset release $(CONFIGURE)
	@python3 bench/paper.py $* $(if $(QUICK),--quick)

format:  ## rewrite the code in the house's format
	@tools/setup tidy
	@$(cpp_files) | xargs -r clang-format -i

tidy:  ## clang-tidy over all of the code
	@tools/setup build test tidy
	@tools/tidy

gpu-check: build  ## the tests that need this machine's GPU, at most 4 minutes
	@python3 tools/gpu_check.py

gpu-bundle:  ## what travels to a machine with a GPU and no network: build/gpu-bundle.tar.xz
	@tools/setup build test
	@tools/gpu_bundle

gpu-bench: build  ## training on a GPU, against PyTorch's and the CPU's; PART=mlp, lenet, resnet50, covtype, easgd, ...
	@python3 bench/gpu.py $(PART)

install: build  ## program, C library, pages and examples under PREFIX (default /usr/local)
	@cmake --build build/release --target yoke_library
	@cmake --install build/release --prefix $(PREFIX)

wheel:  ## a wheel of the Python package in build/wheel, with the libraries that it needs but for MPI
	@tools/setup build python
	@rm -rf build/wheel
	@CC=cc CXX=c++ $(YOKE_VENV)/bin/python -m pip --quiet wheel . --no-deps --wheel-dir build/wheel/linked
	@PATH="$(YOKE_VENV)/bin:$$PATH" auditwheel repair --exclude 'libmpi*' --exclude 'libopen-*' --wheel-dir build/wheel build/wheel/linked/*.whl 2>&1 | tail -1
	@ls -sh build/wheel/*.whl

clean:  ## remove what was built
	@rm -rf build

build/bin/yoke:
	@$(MAKE) build

build/release/build.ninja:
	@tools/setup build
	@cmake --preset release $(CONFIGURE)
