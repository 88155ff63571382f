# The tests: how they are linked, and which run where. Included by the Makefile. tools/run-tests finds
# and runs what is there.

# ---- linking

libcheck = $(shell $(PKG_CONFIG) --libs check)
libcmocka = $(shell $(PKG_CONFIG) --libs cmocka)
sources = $(wildcard $(foreach s,$(1),tests/$(s)/*_$(2).c tests/$(s)/*/*_$(2).c))
tests_of = $(call objects,$(call sources,$(1),test))
programs = $(patsubst tests/%.c,$(OUT)/tests/%,$(call sources,$(1),$(2)))

# Tests are compiled as fast as can be, and what they test as ever. The address sanitizer guards the buffers of a test;
# whether a test does what C defines takes its compiler a third of the time. It is private: what a test depends on, as the
# file of flags, has none of it.
QUICK_TESTS := unit mock e2e nccl fabric support
$(foreach d,$(QUICK_TESTS) $(if $(filter fuzz,$(VARIANT)),,fuzz),$(OBJ)/tests/$(d)/%.o): private COMPILE += $(QUICK)
$(foreach d,$(QUICK_TESTS),$(OBJ)/tests/$(d)/%.o): private COMPILE += $(if $(filter asan,$(VARIANT)),-fno-sanitize=undefined)

# A suite of libcheck is one program; main is in $(SUPPORT). What programs are made of is tested in
# programs of its own, because their names may be the library's, too.
SUPPORT := $(OUT)/support.a
WORLD := $(filter-out %/main.o,$(call objects,tests/sim/*.c tests/sim/scenarios/*.c))
STAGE := $(filter-out %_test.o,$(call objects,tests/attack/*.c))
unit_bench := $(filter $(OBJ)/tests/unit/bench%,$(call tests_of,unit))
unit_link := $(filter $(OBJ)/tests/unit/link%,$(call tests_of,unit))
unit_top := $(filter $(OBJ)/tests/unit/top%,$(call tests_of,unit))
unit_cp := $(filter $(OBJ)/tests/unit/cp%,$(call tests_of,unit))
unit_tunnel := $(filter $(OBJ)/tests/unit/tunnel%,$(call tests_of,unit))
unit_library := $(filter-out $(unit_bench) $(unit_link) $(unit_top) $(unit_cp) $(unit_tunnel),$(call tests_of,unit))

# Those parts of the library that read what strangers send, a peer's memory, and files; the core has property and corpus.
at_the_border := $(filter $(foreach d,accept handshake keys statsfile transport,$(OBJ)/tests/unit/$d/%),$(unit_library))
unit-at-the-border := $(OUT)/tests/at-the-border
unit := $(OUT)/tests/unit $(if $(ARGP),$(patsubst %,$(OUT)/tests/unit-%,bench link top tunnel $(if $(XXHASH),cp)))
property := $(OUT)/tests/property
golden := $(OUT)/tests/golden
sim := $(OUT)/sim
attack := $(OUT)/tests/attack
e2e := $(OUT)/tests/e2e
# Those files of e2e that the thread sanitizer needs first; keys has the threads of keys_handle, and takes longest.
WHERE_THREADS_MEET := stress queue_stress queue_wakes churn cycles ending connection reconnect death keys_handle
threads := $(OUT)/tests/threads
# Those that the address sanitizer leaves to check-all: texts, limits, figures, who may come in and who waits how, by code
# that the others, unit and mock run, too; random calls and meeting threads, of which the thread sanitizer finds more; and
# messages in all ways of pieces, which it sees in property and wrap_iov.
NOT_SANITIZED := board explain idle killed names offload options pairing paper trace absent admission answer calls gathering \
	probing refusal shares waiting cycles queue_stress queue_wakes reconnect stress wrap_iov_ways
e2e-little := $(OUT)/tests/little
# Programs that know libfabric alone, and find the provider at run time (tools/fabric.mk). Behind FABRIC=PREFIX the
# library is found wherever the system has its libraries.
provider := $(OUT)/tests/provider
fabric_folder = $(patsubst %/libfabric.so,%,$(firstword $(wildcard $(addsuffix /libfabric.so,$(FABRIC)/lib $(FABRIC)/lib/*))))
FABRIC_LIBS = $(if $(FABRIC),-L$(fabric_folder) -Wl$(comma)--disable-new-dtags -Wl$(comma)-rpath=$(fabric_folder) \
	-lfabric,$(shell $(PKG_CONFIG) --libs libfabric))
$(OBJ)/tests/fabric/%.o: private COMPILE += $(FABRIC_CFLAGS)
mock := $(call programs,mock,test)
# Those of zcrp-link replace calls that gcov makes in the same program when it ends, and run nothing that is counted.
ifeq ($(VARIANT),cov)
mock := $(filter-out $(OUT)/tests/mock/link/%,$(mock))
endif
# What these mock has the same name for the linker on every processor.
mock-calls := $(patsubst %,$(OUT)/tests/mock/%_test,calls clock futex)
mock-little = $(foreach p,$(filter-out $(OUT)/tests/mock/link/%,$(mock)),$(if $(findstring alloc,$(call wraps,$(p:$(OUT)/%=%.c))),$p))
mutants := $(OUT)/tests/unit $(filter-out $(OUT)/tests/mock/link/%,$(mock)) $(golden) $(property) $(sim) $(e2e)
fuzz := $(call programs,fuzz,fuzz)
corpus := $(fuzz:_fuzz=_replay)

# gold, where gcc has it, links a program in half the time. With the address sanitizer it warns of each name of clang's.
gold = $(eval gold := $(shell gcc -fuse-ld=gold -Wl,--version >/dev/null 2>&1 && echo -fuse-ld=gold))$(gold)
link_fast = $(if $(filter plain-gcc,$(VARIANT)-$(CC)),$(if $(findstring fuse-ld,$(LDFLAGS)),,$(gold)))
define link_test
@mkdir -p $(@D)
$(call say,ld)$(LINK) $(link_fast) -o $@ $^ $(LIBRARIES)
endef
define archive
$(call say,ar)rm -f $@ && $(AR) rcs $@ $^
endef

.SECONDARY:
$(SUPPORT): $(call objects,tests/support/*.c)
	$(archive)
$(OUT)/zcrp-link.a: $(filter-out %/main.o,$(call objects,tools/zcrp-link/*.c))
	$(archive)
$(OUT)/tests/unit: $(unit_library) $(SUPPORT) $(COMMON) $(INTERNAL)
	$(link_test) $(libcheck) -lm
$(OUT)/tests/at-the-border: $(at_the_border) $(SUPPORT) $(INTERNAL)
	$(link_test) $(libcheck) -lm
$(OUT)/tests/unit-bench: $(unit_bench) $(SUPPORT) $(OUT)/zcrp-bench.a $(COMMON) $(STATIC)
	$(link_test) $(libcheck) -lm
$(OUT)/tests/unit-link: $(unit_link) $(SUPPORT) $(OUT)/zcrp-link.a $(COMMON) $(INTERNAL)
	$(link_test) $(libcheck) -lm
$(OUT)/zcrp-top.a: $(filter-out %/main.o,$(call objects,tools/zcrp-top/*.c))
	$(archive)
$(OUT)/tests/unit-top: $(unit_top) $(SUPPORT) $(OUT)/zcrp-top.a $(COMMON) $(INTERNAL)
	$(link_test) $(libcheck) -lm
$(OUT)/zcrp-cp.a: $(filter-out %/main.o,$(call objects,tools/zcrp-cp/*/*.c))
	$(archive)
$(OUT)/tests/unit-cp: $(unit_cp) $(SUPPORT) $(OUT)/zcrp-cp.a $(COMMON) $(STATIC)
	$(link_test) $(libcheck) $(XXHASH) -lm -Wl,--wrap=zcrp_cancel,--wrap=zcrp_connection_close
$(OUT)/zcrp-tunnel.a: $(filter-out %/main.o,$(call objects,tools/zcrp-tunnel/*.c))
	$(archive)
$(OUT)/tests/unit-tunnel: $(unit_tunnel) $(SUPPORT) $(OUT)/zcrp-tunnel.a $(COMMON) $(STATIC)
	$(link_test) $(libcheck) -lm -Wl,--wrap=getaddrinfo
$(property): $(call tests_of,property) $(SUPPORT) $(INTERNAL)
	$(link_test) $(libcheck) -lm
$(golden): $(call tests_of,golden) $(WORLD) $(SUPPORT) $(INTERNAL)
	$(link_test) $(libcheck)
$(e2e): $(call tests_of,e2e) $(SUPPORT) $(STATIC)
	$(link_test) $(libcheck)
$(e2e-little): $(filter-out $(foreach f,$(NOT_SANITIZED),%/$f_test.o),$(call tests_of,e2e)) $(SUPPORT) $(STATIC)
	$(link_test) $(libcheck)
$(threads): $(filter $(foreach f,$(WHERE_THREADS_MEET),%/$f_test.o),$(call tests_of,e2e)) $(SUPPORT) $(STATIC)
	$(link_test) $(libcheck)
$(attack): $(call tests_of,attack) $(STAGE) $(SUPPORT) $(STATIC)
	$(link_test) $(libcheck)
$(provider): $(call tests_of,fabric) $(call objects,tests/fabric/node.c tests/fabric/ranks.c) $(SUPPORT) $(STATIC)
	$(link_test) $(libcheck) $(FABRIC_LIBS)
$(sim): $(OBJ)/tests/sim/main.o $(WORLD) $(INTERNAL)
	$(link_test)
$(fuzz): $(OUT)/tests/%: $(OBJ)/tests/%.o $(INTERNAL)
	$(link_test) -fsanitize=fuzzer
$(corpus): $(OUT)/tests/%_replay: $(OBJ)/tests/%_fuzz.o $(OBJ)/tests/fuzz/replay.o $(INTERNAL)
	$(link_test)

# A program of mocks is linked from the library's objects. Its source says which calls are its own:
# /* wrap: sendmsg poll */. A call within one file of the library is not.
wraps = $(shell sed -n 's|^/\* wrap: *\(.*[^ ]\) *\*/$$|\1|p' $(1))
$(mock): $(OUT)/tests/%: $(OBJ)/tests/%.o $$(if $$(findstring mock/link/,$$@),$(OUT)/zcrp-link.a $(COMMON)) \
		$(SUPPORT) $(INTERNAL)
	$(link_test) $(addprefix -Wl$(comma)--wrap=,$(call wraps,tests/$*.c)) $(libcmocka)
comma := ,

# ---- suites

SUITE_NAMES := model proofs scripts attack aal5 memory e2e nccl-net provider sim property unit mock golden corpus python checks

# What a suite needs beside its own program.
provider := $(if $(HAS_FABRIC),$(provider) $(PROVIDER))
aal5 := $(e2e)
aal5-rest := $(e2e)
memory := $(e2e)
memory-little := $(e2e)
scripts-rest = $(scripts) $(LAB) $(NCCL) $(NCCL_RANK) $(if $(HAS_FABRIC),$(PROVIDER))
sim-short := $(sim)
sim-brief := $(sim)
scripts = $(PROGRAMS) $(SCRIPTS) $(ALLOCATIONS) $(EXAMPLES) $(if $(filter plain,$(VARIANT)),$(PRODUCTS)/lab/instructions)
checks = $(LIBRARY) $(STATIC) $(SHARED) $(PROGRAMS) $(SCRIPTS)

# Tests that are commands. Those of bench.mk need all that scripts need.
tests_scripts := $(tests_e2e)
tests_e2e :=
tests_provider := $(if $(HAS_FABRIC),,'provider=sh -c "echo there is no rdma/fabric.h: libfabric-dev; exit 77"')
tests_checks = 'checks/layers=tests/checks/layers $(filter $(OBJ)/src/core/%,$(LIBRARY))' \
	'checks/symbols=tests/checks/symbols $(SHARED) $(STATIC)' \
	'checks/format=tests/checks/format-check $(CODE)' \
	'checks/words=tests/checks/words --ranges' \
	'checks/english=tests/checks/english' 'checks/english-self-test=tests/checks/english --self-test' \
	'checks/listed=tests/checks/checks-listed' 'checks/listed-self-test=tests/checks/checks-listed --self-test' \
	$(foreach c,gcc clang,'checks/header-c-$(c)=$(c) -std=c11 -x c $(header_flags)') \
	$(foreach c,g++ clang++,'checks/header-c++-$(c)=$(c) -std=c++11 -x c++ $(header_flags)') \
	'checks/codec=python3 tests/peer/codec.py docs/vectors/datagrams.txt' \
	'checks/install=tests/checks/install-check' 'checks/without-keys=tests/checks/without-keys $(CC) -fno-lto \
	$(filter-out $(OBJ)/src/keys/%,$(LIBRARY)) $(SODIUM) $(ISAL)'
header_flags := -fsyntax-only -Wall -Wextra -Wpedantic $(WERROR) include/zcrp.h

# `make run SUITES="unit e2e" VARIANT=asan` builds and runs these. `make built` only builds: without the
# file that it leaves, the runner counts the variant as failed.
built: $(foreach s,$(SUITES),$($(s)))
	@touch $(OUT)/built
run: built
	@$(call run_tests,$(call wanted,$(VARIANT),$(SUITES)))

wanted = $(foreach s,$(filter-out checks $(if $(HAS_FABRIC),,provider),$(2)),$(1):$(s)) $(if $(filter plain,$(1)),$(foreach s,$(2),$(tests_$(s))))
run_tests = tools/run-tests --jobs $(JOBS) --seeds $(SEEDS) --fuzz='$(FUZZ)' --launch='$(LAUNCH)' \
	$(if $(TIMEOUT),--timeout $(TIMEOUT)) $(if $(V),--verbose) $(if $(RECORD),--record) $(if $(TALLY),--tally $(TALLY)) $(1)

parallel = $(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))
again = rm -f build/$(or $(1),$(VARIANT))/built; $(parallel) run $(if $(1),VARIANT=$(1))

$(SUITE_NAMES):
	+@$(again) SUITES=$@
test:
	+@$(again) SUITES='$(SUITE_NAMES)'
SANITIZED := scripts attack aal5 memory e2e nccl-net provider sim property unit mock golden corpus
asan ubsan:
	+@$(call again,$@) SUITES='$(SANITIZED)' SEEDS=10
tsan:
	+@$(call again,$@) SUITES='unit mock e2e aal5 memory nccl-net provider scripts'
fuzz:
	+@$(call again,fuzz) SUITES=fuzz
# What a child of a fork leaves to its end may be lost only possibly.
# It runs one thread at a time: --fair-sched, or one that looks again and again keeps the others waiting.
VALGRIND := valgrind -q --fair-sched=yes --error-exitcode=9 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite
valgrind:
	+@$(again) SUITES='unit mock' LAUNCH='$(VALGRIND)'

# Every value that a sweep can have, a million strangers, a minute of listening for an echo.
attack-all: export ZCRP_ATTACK := all
attack-all: export CK_TIMEOUT_MULTIPLIER := 20
attack-all:
	+@$(again) SUITES=attack TIMEOUT=1200
stress: $(e2e)
	ZCRP_STRESS_SECONDS=$(TIME) CK_TIMEOUT_MULTIPLIER=$(shell expr $(TIME) / 30 + 1) $< stress
model-all:
	@tests/model/run --large
symbolic:
	@tests/symbolic/run

# ---- make check: the tests that find most faults, in four to seven minutes on two cores

# What sleeps runs beside compilers, and then beside what computes; so the programs that sleep most are built first.
# A variant that does not build is one failure. A compiler that nobody here has seen may warn, and the tests go on;
# continuous integration (.ci/run) sets WERROR=-Werror.
CHECK_first := aal5 memory-little e2e
CHECK_plain := $(CHECK_first) $(patsubst proofs,proofs-quick,$(patsubst sim,sim-brief,\
	$(filter-out model property memory $(CHECK_first),$(SUITE_NAMES))))
CHECK_asan := e2e-little property unit-at-the-border mock-little corpus
CHECK_tsan := threads
build_tests = 'build/$(or $(3),$(1)):build=$(parallel) built VARIANT=$(1) SUITES="$(2)"'
check: SEEDS := 2
check: export ZCRP_CHURN_ROUNDS ?= 500
check:
	@rm -f $(foreach v,plain asan tsan,build/$v/built)
	+@$(call run_tests,$(call build_tests,plain,$(CHECK_first),e2e) $(call wanted,plain,$(CHECK_first)) \
		$(call build_tests,plain,$(CHECK_plain)) $(call wanted,plain,$(filter-out $(CHECK_first),$(CHECK_plain))) \
		$(foreach v,asan tsan,$(call build_tests,$v,$(CHECK_$v)) $(call wanted,$v,$(CHECK_$v))))

# ---- make check-all: the rest, too

packages_check := sh tools/setup packages && tests/checks/packages-check

TOTAL := $(CURDIR)/build/total
or_failure = || echo 0 1 0 >>$(TOTAL)
# What sleeps in one variant runs beside what another one computes.
REST_plain := model proofs sim property aal5-rest scripts-rest
REST_asan := unit mock golden e2e nccl-net provider sim attack aal5 memory scripts
REST_tsan := unit mock e2e nccl-net provider aal5 memory
REST_clang := unit
REST_fuzz := fuzz
REST := plain asan tsan clang fuzz
rest: SEEDS := 30
rest:
	@rm -f $(foreach v,$(REST),build/$v/built)
	+@$(call run_tests,$(foreach v,$(REST),$(call build_tests,$v,$(REST_$v)) $(call wanted,$v,$(REST_$v))))
check-all:
	@mkdir -p build && : >$(TOTAL)
	+@$(parallel) check TALLY=$(TOTAL) $(or_failure)
	+@$(parallel) rest TALLY=$(TOTAL) $(or_failure)
	+@$(parallel) attack-all TALLY=$(TOTAL) $(or_failure)
	+@$(parallel) valgrind TALLY=$(TOTAL) $(or_failure)
	+@$(parallel) targets TALLY=$(TOTAL) $(or_failure)
	+@$(parallel) wheel-check TALLY=$(TOTAL) $(or_failure)
	@ZCRP_STRESS_SECONDS=60 tools/run-tests --verbose --timeout 7200 --tally $(TOTAL) \
		asan:e2e/stress tsan:e2e/stress 'model/large=tests/model/run --large' 'symbolic/keys:alone=tests/symbolic/run' 'checks/tidy:alone=tests/checks/tidy $(to_tidy)' \
		'checks/layers-self-test=tests/checks/layers --self-test' 'checks/symbols-self-test=tests/checks/symbols --self-test' \
		'checks/install-as-built:alone=tests/checks/install-as-built' 'checks/reproducible:alone=tests/checks/reproducible' \
		'checks/meson:alone=tests/checks/meson-check' \
		'fresh/trixie=tools/fresh trixie' 'fresh/bookworm=tools/fresh bookworm' \
		'fresh/packages-trixie=tools/fresh trixie "$(packages_check)"' \
		'fresh/packages-bookworm=tools/fresh bookworm "$(packages_check)"'
	@ZCRP_LIVES=13000 ZCRP_ATTACK=all ZCRP_DEATHS=5000 ZCRP_CHURN_ROUNDS=100000 ZCRP_CHURN_BYTES=0 ZCRP_STRESS_SECONDS=300 \
		ZCRP_RECONNECT_SECONDS=60 ZCRP_RECONNECT_CALLERS=64 CK_TIMEOUT_MULTIPLIER=60 \
		GLIBC_TUNABLES=glibc.malloc.tcache_count=0 tools/run-tests --verbose --timeout 3600 --tally $(TOTAL) \
		tsan:e2e/churn asan:e2e/churn plain:e2e/churn asan:e2e/death plain:property/sealing plain:e2e/keys/keys \
		plain:e2e/keys/moves plain:e2e/reconnect
	@tools/run-tests --total $(TOTAL)

# How many small mistakes in the core, or in the link, the tests notice.
mutants:
	+@$(parallel) built VARIANT=mutants CFLAGS=-O1 SUITES=mutants
	@tests/mutants/run --libraries='$(LIBRARIES) $(libcheck) $(libcmocka) -lm' $(MUTANTS)

COV ?= $(SANITIZED)
cov:
	@rm -rf build/cov
	+@$(call again,cov) SUITES='$(COV)'
	@tools/cov build/cov
