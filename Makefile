# The three commands of this project: make build, make test, make demo. The rest is for people who change it.
.DEFAULT_GOAL := help
.PHONY: build test demo nightly fuzz install package asan tsan onnx hosts arm test-gpu format tidy lint clean help

build: ## install what is missing, configure, compile the kit into build/release (ARCH=aarch64: into build/aarch64); make test adds the tests
	@scripts/build.sh $(or $(ARCH),release)

test: build ## build, then check the project's rules and run every test
	@scripts/build.sh release all_tests
	@scripts/test.sh release

demo: ## build what it takes, then list, check and measure operators and train LeNet5
	@scripts/build.sh demo
	@scripts/demo.sh

nightly: build ## what takes hours: a training killed again and again, all samples on the simulated Ascend, all f32 through every function
	@scripts/build.sh release all_tests
	@HALYARD_KILLS=50 build/release/bin/train_test --gtest_filter='Resume.*'
	@build/release/bin/halyard check --device ascend --refused tests/ascend/refused.txt
	@build/release/bin/halyard check --device c --refused tests/c99/refused.txt
	@build/release/bin/halyard check --ulps all
	@HALYARD_ALL_PTX=1 build/release/bin/backend_test --gtest_filter='Cuda.*'
	@build/release/bin/halyard check --device cuda
	@build/release/bin/halyard check --device opencl

fuzz: ## a million changed files that loaders read, 400,000 calls of ops, a million of an exported library, under AddressSanitizer and UBSan
	@scripts/build.sh asan
	@HALYARD_FUZZ=400000 build/asan/bin/call_fuzz_test
	@HALYARD_FUZZ=1000000 build/asan/bin/train_test --gtest_filter='Formats/LoaderFuzz.*'
	@tests/export/run_library_fuzz.sh "$(CURDIR)/build/asan" "$(CURDIR)" 1000000 "$(CURDIR)/build/asan/sanitized/runtime.a"

install: build ## copy the kit into PREFIX (/usr/local): CMake package, headers, libraries, the command
	@scripts/install.sh $(PREFIX)

package: build ## pack the kit as a .deb and a .tar.gz, into build/release/packages
	@scripts/package.sh

asan tsan: ## the tests under AddressSanitizer and UBSan, or ThreadSanitizer
	@scripts/build.sh $@
	@scripts/test.sh $@

onnx: build ## ONNX's own node tests through the primitives; fetches the onnx wheel
	@scripts/onnx.sh release

hosts: build ## ops exported into PyTorch and MindSpore, with their gradients; fetches the wheels of both, several GB
	@scripts/hosts.sh release

arm: build ## networks and ops as C99 on ARM64, ARM32A and a Cortex-M4, and the kit's tests and checks on AArch64, in QEMU; installs cross compilers
	@scripts/arm.sh release

test-gpu: build ## the checks of all CUDA kernels, a training and single ops, on a GPU; without one it says so
	@scripts/gpu.sh

format: ## rewrite the C++ sources with clang-format
	@scripts/lint.sh format

tidy: build ## clang-tidy over the sources of build/release
	@scripts/lint.sh tidy

lint: ## include direction, cycles, file sizes, formatting, complexity; changes nothing
	@scripts/lint.sh check

clean: ## remove the build folders; .venv and the compiler cache stay
	@echo "[halyard] removing build/"
	@rm -rf build

help: ## this list
	@awk -F':.*## ' '/^[a-z ]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
