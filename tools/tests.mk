# The tests: what there is, how it is linked, how it is run. Included by the Makefile.

programs = $(patsubst tests/%.c,$(OUT)/tests/%,$(wildcard tests/$(1)/*_$(2).c))

SUPPORT := $(call objects,tests/support/*.c)
WORLD := $(filter-out %/main.o,$(call objects,tests/sim/*.c))
STAGE := $(filter-out %_test.o,$(call objects,tests/attack/*.c))

unit := $(call programs,unit,test)
mock := $(call programs,mock,test)
property := $(call programs,property,test)
golden := $(call programs,golden,test)
sim := $(if $(wildcard tests/sim/main.c),$(OUT)/sim)
fuzz := $(call programs,fuzz,fuzz)
corpus := $(fuzz:_fuzz=_replay)
e2e := $(call programs,e2e,test)
attack := $(call programs,attack,test)

# ---- linking

libcheck = $(shell pkg-config --libs check)
libcmocka = $(shell pkg-config --libs cmocka)
define link_test
@mkdir -p $(@D)
$(call say,ld)$(LINK) -o $@ $^ $(LIBRARIES)
endef

.SECONDARY:
of_bench := $(filter $(OUT)/tests/unit/bench_%,$(unit))
$(filter-out $(of_bench),$(unit)) $(property): $(OUT)/tests/%: $(OBJ)/tests/%.o $(SUPPORT) $(COMMON) \
		$(INTERNAL)
	$(link_test) $(libcheck) -lm
# What programs are made of: link_ tests are of zcrp-link.
$(filter $(OUT)/tests/unit/link_%,$(unit)): $(OUT)/zcrp-link.a
$(OUT)/support.a: $(SUPPORT)
	$(call say,ar)rm -f $@ && ar rcs $@ $^
$(OUT)/zcrp-link.a: $(filter-out %/main.o,$(call objects,tools/zcrp-link/*.c))
	$(call say,ar)rm -f $@ && ar rcs $@ $^
# bench_ tests are of zcrp-bench (bench.mk).
$(of_bench): $(OUT)/tests/%: $(OBJ)/tests/%.o $(SUPPORT) $(OUT)/zcrp-bench.a $(COMMON) $(STATIC)
	$(link_test) $(libcheck) -lm
$(golden): $(OUT)/tests/%: $(OBJ)/tests/%.o $(WORLD) $(SUPPORT) $(INTERNAL)
	$(link_test) $(libcheck)
$(sim): $(OBJ)/tests/sim/main.o $(WORLD) $(SUPPORT) $(INTERNAL)
	$(link_test)
$(fuzz): $(OUT)/tests/%: $(OBJ)/tests/%.o $(INTERNAL)
	$(link_test) -fsanitize=fuzzer
$(corpus): $(OUT)/tests/%_replay: $(OBJ)/tests/%_fuzz.o $(OBJ)/tests/fuzz/replay.o $(INTERNAL)
	$(link_test)
$(e2e): $(OUT)/tests/%: $(OBJ)/tests/%.o $(SUPPORT) $(STATIC)
	$(link_test) $(libcheck)
$(attack): $(OUT)/tests/%: $(OBJ)/tests/%.o $(STAGE) $(STATIC)
	$(link_test) $(libcheck)

# A file of tests with mocked calls says in comments of its own which are wrapped:
# /* wrap: sendmsg poll */. A call within one file of the library is not.
wraps = $(shell sed -n 's|^/\* wrap: *\(.*[^ ]\) *\*/$$|\1|p' tests/mock/$(1).c)
$(mock): $(OUT)/tests/%: $(OBJ)/tests/%.o $(OUT)/zcrp-link.a $(OUT)/support.a $(COMMON) $(INTERNAL)
	$(link_test) $(addprefix -Wl$(comma)--wrap=,$(call wraps,$(*F))) $(libcmocka)
comma := ,

# ---- running: `make run SUITES="unit e2e" VARIANT=asan`

# What a suite adds to the runner's arguments, programs or name=command; what else it needs. The
# simulator's argument is a number of seeds; a fuzzer starts from the corpus that lies under its
# name in tests/fuzz/corpus/, and without the fuzzer that is a test of its own. Of itself libFuzzer
# ends with 77 when it has found something, which the runner would take for a skip.
tests_unit = $(unit)
tests_mock = $(mock)
tests_property = $(property)
tests_golden = $(golden)
tests_sim = $(if $(sim),'sim=$(sim) $(SEEDS)')
name_of_fuzz = $(notdir $(1:_fuzz=))
tests_fuzz = $(foreach f,$(fuzz),'fuzz/$(call name_of_fuzz,$(f))=$(f) -error_exitcode=1 \
	-artifact_prefix=$(OUT)/$(notdir $(f))- $(FUZZ) $(OUT)/corpus/$(call name_of_fuzz,$(f)) \
	$(wildcard tests/fuzz/corpus/$(call name_of_fuzz,$(f)))')
tests_corpus = $(foreach r,$(corpus),'corpus/$(notdir $(r:_replay=))=$(r) \
	tests/fuzz/corpus/$(notdir $(r:_replay=))')
tests_attack = $(attack)
tests_model = model=tests/model/run
tests_checks = 'check/layers=tools/layers $(filter $(OBJ)/src/core/%,$(LIBRARY))' \
	'check/layers-self-test=tools/layers --self-test' \
	'check/symbols=tools/symbols $(SHARED) $(STATIC)' \
	'check/symbols-self-test=tools/symbols --self-test' \
	'check/format=tools/format-check $(CODE)' \
	$(foreach c,gcc clang,'check/header-c-$(c)=$(c) -std=c11 -x c $(header_flags)') \
	$(foreach c,g++ clang++,'check/header-c++-$(c)=$(c) -std=c++11 -x c++ $(header_flags)') \
	$(if $(wildcard tools/codec.py),'check/codec=python3 tools/codec.py docs/vectors/datagrams.txt') \
	$(foreach t,$(wildcard tests/python/*_test.py),'check/$(basename $(notdir $t))=python3 -B $t') \
	'check/install=tools/install-check'
header_flags := -fsyntax-only -Wall -Wextra -Wpedantic $(WERROR) include/zcrp.h
needs_checks = $(LIBRARY) $(STATIC) $(SHARED) $(PROGRAMS) $(SCRIPTS)
tests_e2e = $(e2e) $(foreach s,$(scripts),e2e/$(basename $(notdir $(s)))=$(s))
needs_e2e = $(PROGRAMS) $(SCRIPTS)

# Under a sanitizer only what runs the library again: zcrp-bench.
scripts = $(wildcard $(if $(is_slow),tests/e2e/bench*.sh,tests/e2e/*.sh tests/e2e/*_test.py))

# Over AAL5 the same programs again, with all cells and with one in a hundred lost
# (tests/support/loopback.h); but not who writes datagrams into the sockets itself (flood). Who bears
# nothing for long (peer) has small units then. Under a sanitizer one carrier does, and loses none.
over_aal5 = 'e2e/$(1)-over-$(2)$(3)=env ZCRP_TEST_CHANNEL=$(2) $(4) $(OUT)/tests/e2e/$(1)_test'
over_both = $(foreach c,aal5 aal5-udp,$(call over_aal5,$(1),$(c),$(2),$(3)))
aal5_programs = $(filter-out aal5 flood,$(e2e:$(OUT)/tests/e2e/%_test=%))
cell_loss = ZCRP_AAL5=$(if $(filter peer lossy stress,$(1)),mtu=1500$(comma))loss=10000,seed=7
over_all = $(call over_aal5,aal5,aal5) $(foreach p,$(aal5_programs),$(call over_both,$(p)) \
	$(call over_both,$(p),-with-loss,$(call cell_loss,$(p))))
tests_e2e += $(if $(is_slow),$(foreach p,$(aal5_programs),$(call over_aal5,$(p),aal5-udp)),$(over_all))

alone := e2e
is_slow := $(flags_$(VARIANT))$(LAUNCH)
SUITE_NAMES := checks unit mock property golden corpus sim attack e2e
SANITIZED := unit mock property golden corpus sim attack e2e

seconds = $(if $(filter fuzz,$(SUITES)),$(shell expr $(TIME) + 60),$(if $(is_slow),600,240))

# Scripts find the variant's zcrp-bench in $ZCRP_BUILD. Sanitizers are slow and get more time.
run: $(foreach suite,$(SUITES),$($(suite)) $(needs_$(suite)))
	@mkdir -p $(OUT) $(fuzz:$(OUT)/tests/fuzz/%_fuzz=$(OUT)/corpus/%)
	@ZCRP_BUILD=$(PRODUCTS) $(if $(is_slow),CK_TIMEOUT_MULTIPLIER=3) $(RUN_ENV) \
	tools/run-tests --title '$(VARIANT): $(SUITES)' --log $(OUT)/log --jobs $(JOBS) \
		--timeout $(seconds) --launch '$(LAUNCH)' $(if $(TALLY),--tally $(TALLY)) \
		$(foreach suite,$(filter-out $(alone),$(SUITES)),$(tests_$(suite))) \
		--alone $(foreach suite,$(filter $(alone),$(SUITES)),$(tests_$(suite)))

# Older runtimes of the thread sanitizer cannot live with much address randomisation.
launch_tsan = $(shell setarch -R true 2>/dev/null && echo setarch -R)
launch_valgrind := valgrind -q --error-exitcode=9 --leak-check=full

again = $(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS)) run

$(SUITE_NAMES):
	+@$(again) SUITES=$@
fuzz:
	+@$(again) VARIANT=fuzz SUITES=fuzz
asan ubsan:
	+@$(again) VARIANT=$@ SUITES='$(SANITIZED)'
tsan:
	+@$(again) VARIANT=tsan SUITES='unit mock e2e' LAUNCH='$(launch_tsan)'
valgrind:
	+@$(again) SUITES='unit mock' LAUNCH='$(launch_valgrind)' RUN_ENV=CK_FORK=no

# Everything. A stage that does not even build is one failure. A compiler that nobody here has seen may
# warn, and the tests go on; continuous integration (.ci/run) sets WERROR=-Werror.
TOTAL := build/total
stage = $(again) TALLY=$(TOTAL) $(1) || echo 0 1 0 >>$(TOTAL)
check:
	@mkdir -p build && : >$(TOTAL)
	+@$(call stage,all SUITES='$(SUITE_NAMES) model' SEEDS=100)
	+@$(call stage,all VARIANT=clang SUITES='unit mock')
	+@$(call stage,VARIANT=asan SUITES='$(SANITIZED)' SEEDS=10)
	+@$(call stage,VARIANT=tsan SUITES='unit mock e2e' LAUNCH='$(launch_tsan)')
	+@$(call stage,VARIANT=fuzz SUITES=fuzz FUZZ='-runs=20000 -max_total_time=5')
	@tools/run-tests --total $(TOTAL)

# Every value that a sweep can have, a million strangers, a minute of listening for an echo.
attack-all:
	+@$(again) SUITES=attack RUN_ENV='ZCRP_ATTACK=all'

stress: $(OUT)/tests/e2e/stress_test
	ZCRP_STRESS_SECONDS=$(TIME) CK_TIMEOUT_MULTIPLIER=$(shell expr $(TIME) / 60 + 1) $<

model:
	@tests/model/run --large

test:
	+@$(again) SUITES='$(SUITE_NAMES)'

COV ?= $(SANITIZED)
cov:
	@rm -rf build/cov
	+@$(again) VARIANT=cov SUITES='$(COV)'
	@tools/cov build/cov
