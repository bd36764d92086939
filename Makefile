# The face of the project: every developer command. `make` lists them. What a target needs is installed on first use:
# system packages through tools/need (as root on Debian), Python tools into .venv. Nothing else on the machine changes.

SHELL := /bin/sh
.NOTPARALLEL:
.DEFAULT_GOAL := help

PY ?= all
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 60
PYTEST_ARGS ?=

TOOLS := .venv/tools/bin
DEV_PY = $(if $(filter all,$(PY)),$(shell tools/pythons --default),$(PY))
MESON := PATH="$(CURDIR)/$(TOOLS):$$PATH" $(TOOLS)/meson
QUIET_SETUP = >$(1)/setup.log 2>&1 || { cat $(1)/setup.log; exit 1; }
# $(call configure,FOLDER,OPTIONS): a meson build folder, made once.
configure = @mkdir -p $(1); [ -f $(1)/build.ninja ] || $(3) $(MESON) setup $(1) $(2) $(call QUIET_SETUP,$(1))
compile = @$(MESON) compile -C $(1) -j $(JOBS)$(2) >$(1)/compile.log 2>&1 || { grep -v '^\[' $(1)/compile.log; exit 1; }
INSTALLED := lineprofiler:executable lineprofiler:static_library lineprofiler:shared_library
meson_test = @$(MESON) test -C $(1) --no-rebuild --print-errorlogs --num-processes $(JOBS) $(2)

.PHONY: help
help: ## list these commands
	@awk 'BEGIN { FS = ":.*## " } /^##@ / { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Try it
.PHONY: demo
demo: .venv/.need-build ## record an MCTS over four processes, one of them killed, and print its report
	@tools/py-env $(DEV_PY)
	@.venv/py$(DEV_PY)/bin/python examples/demo.py

.PHONY: examples
examples: .venv/.tools .venv/.need-examples ## run the examples, and those of the docs
	@tools/py-env $(DEV_PY)
	$(call configure,build/prefix,-Dbuildtype=release -Dprefix=$(CURDIR)/build/prefix/usr -Dlibdir=lib)
	$(call compile,build/prefix)
	@$(MESON) install -C build/prefix --no-rebuild --quiet
	@.venv/py$(DEV_PY)/bin/python tools/check-examples build/prefix/usr $(EXAMPLES)

##@ Test
.PHONY: test unit py web fault valgrind fuzz-smoke asan ubsan tsan matrix
test: unit py web ## C unit tests, the Python tests on every supported interpreter found, the pages in a browser

unit: .venv/.tools ## C unit tests, no Python needed
	$(call configure,build/unit,)
	$(call compile,build/unit)
	$(call meson_test,build/unit,--no-suite fault)

py: .venv/.need-build ## Python tests; PY=3.12 for one interpreter, PYTEST_ARGS='-k name' for some
	@tools/test-py "$(PY)" $(PYTEST_ARGS)

web: .venv/.tools .venv/.need-web ## the pages: modules under node, whole pages in Chromium
	$(call configure,build/unit,)
	$(call compile,build/unit)
	@tools/test-web $(DEV_PY) build/unit $(PYTEST_ARGS)

fault: .venv/.tools valgrind ## failing allocations and writes, full disk, kills; the core's tests under valgrind
	$(call configure,build/unit,)
	$(call compile,build/unit)
	$(call meson_test,build/unit,--suite fault)

valgrind: .venv/.tools .venv/.need-valgrind
	$(call configure,build/unit,)
	$(call compile,build/unit)
	$(call meson_test,build/unit,--no-suite fault -t 20 --wrapper 'valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --suppressions=$(CURDIR)/tools/valgrind.supp')

fuzz-smoke: .venv/.tools .venv/.need-clang ## each fuzzer for FUZZ_SECONDS (60)
	@tools/fuzz-smoke $(FUZZ_SECONDS)

asan: .venv/.tools ## address and undefined-behaviour sanitizers: C unit tests, and the extension under one Python
	$(call configure,build/asan,-Db_sanitize=address$(comma)undefined -Dc_args=-fno-sanitize-recover=undefined)
	$(call compile,build/asan)
	$(call meson_test,build/asan,-t 4)
	@tools/asan-py $(DEV_PY) $(PYTEST_ARGS)

ubsan: .venv/.tools ## undefined-behaviour sanitizer alone, optimised as shipped
	$(call configure,build/ubsan,-Dbuildtype=release -Db_sanitize=undefined -Dc_args=-fno-sanitize-recover=undefined)
	$(call compile,build/ubsan)
	$(call meson_test,build/ubsan,-t 4)

tsan: .venv/.tools ## thread sanitizer: C unit tests
	$(call configure,build/tsan,-Db_sanitize=thread -Dc_args=-Wno-tsan)
	$(call compile,build/tsan)
	@TSAN_OPTIONS='die_after_fork=0 suppressions=$(CURDIR)/tools/tsan.supp' $(MESON) test -C build/tsan --no-rebuild \
	  --print-errorlogs --num-processes $(JOBS) -t 6 --wrapper '$(CURDIR)/tools/no-aslr'

matrix: .venv/.tools .venv/.need-matrix ## Debian's Python 3.13 to 3.15 in a chroot, the core for arm64 under qemu; MATRIX=py for one
	@tools/matrix $(MATRIX)

##@ Keep it clean
.PHONY: lint headers symbols format cover accept
lint: .venv/.lint headers ## layers, formatting, lengths, banned calls, ruff, mypy, clang-tidy, cppcheck, exported symbols
	$(call configure,build/lint,)
	$(call compile,build/lint)
	@PATH="$(CURDIR)/$(TOOLS):$$PATH" tools/lint build/lint

symbols: .venv/.tools
	$(call configure,build/lint,)
	$(call compile,build/lint)
	@tools/py-env $(DEV_PY)
	@tools/check-symbols --write build/lint/include/liblineprofiler.so build/py$(DEV_PY)/ext/_core*.so

headers: .venv/.lint ## every header compiles alone as C11, the public ones as C++17 too
	@tools/check-headers

format: .venv/.lint ## rewrite C and Python sources in the project's format
	@tools/c-files | xargs clang-format -i
	@$(TOOLS)/ruff format -q .
	@$(TOOLS)/ruff check -q --fix .

cover: .venv/.tools ## line coverage of the core by its C unit tests, written to build/cover/html
	@tools/venv tools $(DEV_PY) cover
	$(call configure,build/cover,-Db_coverage=true -Dbuildtype=debug)
	$(call compile,build/cover)
	@find build/cover -name '*.gcda' -delete # counts of what was compiled before do not fit
	$(call meson_test,build/cover,-q)
	@mkdir -p build/cover/html
	@$(TOOLS)/gcovr -r . build/cover -f core --gcov-ignore-errors=no_working_dir_found \
	  --print-summary --html-details build/cover/html/index.html # a file whose notes gcov refuses costs itself only

accept: .venv/.tools ## write what the golden tests print now into tests/golden, and show the difference
	$(call configure,build/unit,)
	$(call compile,build/unit)
	@LP_ACCEPT=1 $(MESON) test -C build/unit --no-rebuild -q --suite render
	@git --no-pager diff --stat -p -- tests/golden; git status --short -- tests/golden

##@ Measure and ship
.PHONY: bench wheel install clean
bench: .venv/.tools ## every published number, as ratios to a baseline of the same run; PY=3.12, BENCH_ARGS=--quick
	@bench/prepare $(DEV_PY)
	@.venv/bench-py$(DEV_PY)/bin/python bench/run.py $(BENCH_ARGS)

wheel: .venv/.need-build ## a manylinux_2_28 wheel in dist/, tried out in an empty environment
	@tools/wheel $(DEV_PY)

install: .venv/.tools ## the native program, library, header and pkg-config file into PREFIX (/usr/local)
	$(call configure,build/install,-Dbuildtype=release -Dwerror=false)
	@$(MESON) configure build/install -Dprefix=$(PREFIX)
	$(call compile,build/install, $(INSTALLED))
	@$(MESON) install -C build/install --no-rebuild --quiet
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true

clean: ## remove everything that was built or installed here
	@rm -rf build dist .venv .mypy_cache .ruff_cache .pytest_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

comma := ,

# What is there once is not asked for again; a changed list asks anew.
.venv/.need-%: tools/need
	@tools/need $*
	@mkdir -p .venv; touch $@
.venv/.tools: .venv/.need-build tools/requirements/build.txt tools/venv
	@tools/venv tools $(DEV_PY) build
	@touch $@
.venv/.lint: .venv/.tools .venv/.need-lint .venv/.need-clang tools/requirements/lint.txt
	@tools/venv tools $(DEV_PY) lint
	@touch $@
.PRECIOUS: .venv/.need-%
