# libzcrp. Everything is built in build/<variant>/ with the flags of that variant; the plain
# variant's products lie in build/ itself.
#
#: make all        the library, static and shared, and the programs, in build/ (the default)
#: make lib        the library alone: it takes a C compiler and libsodium (docs/building.md)
#: make fabric     the provider for libfabric (MPI), build/libzcrp-fi.so (docs/mpi.md)
#: make examples   the programs in examples/, in build/examples/
#: make nccl       the net plugin for NCCL: build/libnccl-net-zcrp.so
#: make demo       a file from one process to another, verified; messages beside TCP, also over a bad path
#: make test       every suite, plain: no sanitizers, no fuzzers
#: make check      the tests that find most faults, also under sanitizers, in four to seven minutes
#: make check-all  everything that there is to test; as root; about two hours
#:
#: make unit mock property golden corpus sim attack e2e aal5 memory nccl-net provider scripts python checks model proofs   one suite
#: make asan ubsan tsan valgrind                    the suites under a sanitizer
#: make fuzz       the fuzzers in tests/fuzz, for TIME=30 s each (FUZZ=...: other options of libFuzzer)
#: make stress     random calls from several threads for TIME=30 s a seed (VARIANT=asan, tsan)
#: make attack-all the attacks again, exhaustively: four minutes
#: make model-all  the models in tests/model, larger than make model has them: seven minutes (needs spin)
#: make symbolic   attacks on the handshake, keys, moves and meetings, looked for by Verifpal (needs verifpal)
#: make targets    other systems, processors and choices of libraries (TARGETS="musl aarch64": only these)
#: make cov        lines and branches that the tests ran (COV=...: only these suites)
#: make mutants    how many small mistakes in the core the tests notice (MUTANTS=...: options of tests/mutants/run)
#:
#: make format     lay out the code (clang-format)
#: make tidy       look for trouble (clang-tidy)
#: make layers     who includes whom, and what the core refers to
#: make symbols    what leaves the library
#: make bench      measure, and rewrite docs/lab/ (BENCH=...: instead run zcrp-bench so)
#: make figures-measure    only what the figures of docs/performance.md show (root; eight minutes)
#: make figures    draw these figures again, in seconds
#: make bench-peers    beside other message protocols, those whose libraries are there (PEERS=...: only these)
#: make bench-paths    over links that are long, slow or lossy, beside TCP (root; nine minutes)
#: make paper      the paper's evaluation again: build/paper/index.md (QUICK=1: a first look); as root
#: make evaluation paper, and what is left of the processor; rewrites docs/evaluation.md
#: make many-peers     1,000 connections in one thread: a queue, and a loop over descriptors
#: make instructions   what a small message costs in instructions, by part (needs valgrind; CASES=...: stream:udp:64)
#: make moves         a caller with keys whose address changes, and a NAT that forgets, in 200 MB (root)
#: make tunnel-tables   programs through zcrp-tunnel, beside TCP and kcptun (root; 13 minutes)
#: make bench-guard   what must hold on any machine: copies, system calls, allocations
#: make python-check   the Python package: its types and its tests (PYTEST=...: only these)
#: make python-upstream   dask.distributed's own tests over zcrp:// (DASK=...: its repository; PYTEST=...: as above)
#: make python-bench   the same beside zcrp-bench and sockets of Python (BENCH=...: arguments)
#: make python-bench-dask   zcrp:// beside tcp:// under Dask (BENCH=...: arguments)
#: make python-api the reference of the Python package: build/python/api (pdoc)
#: make wheel      the Python package as two files: build/python/sdist to compile, build/python/wheel to install
#: make wheel-check    both without this tree: each Python that is here, bare Debians (root; PYTHONS="3.9 3.13")
#: make packages   Debian packages of the last commit: build/packages/*.deb (needs sh tools/setup packages)
#: make install    what was built last, to PREFIX=/usr/local, below DESTDIR; make uninstall takes it away
#: make install-lib    the library alone
#: make clean      remove build/
#:
#: CC, CXX, AR, LD, OBJCOPY, PKG_CONFIG, CPPFLAGS, CFLAGS, LDFLAGS, PREFIX, BINDIR, LIBDIR, INCLUDEDIR,
#: MANDIR and DESTDIR are yours. V=1 shows the commands, and each test; JOBS=2: processes; SEEDS=50: runs
#: of sim; WERROR=-Werror makes warnings errors; KEYS=0 builds the library without keys.

.DEFAULT_GOAL := all

VERSION := $(shell sed -n 's/^\#define ZCRP_VERSION_TEXT "\(.*\)"/\1/p' include/zcrp.h)
# What a program linked with this version runs with: until 1.0 a minor version may break it, then only a major one.
SOVERSION := $(patsubst 0,0.$(word 2,$(subst ., ,$(VERSION))),$(firstword $(subst ., ,$(VERSION))))
SONAME := libzcrp.so.$(SOVERSION)

VARIANT ?= plain
OUT := build/$(VARIANT)

# ---- what was built last

# `make install` takes over what the last build was made with, whoever calls it and in whatever environment, so that
# it installs what was built. If it is given one of these variables with another value, it begins anew.
CHOSEN := AR CC CFLAGS CPPFLAGS KEYS LD LDFLAGS OBJCOPY PEERS PKG_CONFIG WERROR
FOUND := ARGP GNUTLS HAS_FABRIC IPSEC_MB ISAL LTO MODULES SODIUM WIDE XXHASH
hash := \#
define newline


endef
ifneq ($(MAKECMDGOALS),)
ifeq ($(filter-out install install-lib uninstall,$(MAKECMDGOALS)),)
-include $(OUT)/settings
endif
endif
is_given = $(filter command environment,$(firstword $(origin $(1))))
are_different = $(subst x$(1),,x$(2))$(subst x$(2),,x$(1))
told = $(foreach v,$(CHOSEN),$(if $(call is_given,$v),$(call are_different,$($v),$(last_$v))))
last := $(if $(last_CC),$(if $(strip $(told)),,yes))
$(if $(last),$(foreach v,$(CHOSEN),$(eval $v := $$(last_$v))))
# What an older version left does not tell all of these; those that it lacks are looked for.
found = $(if $(and $(last),$(filter-out undefined,$(origin last_$(1)))),$(last_$(1)),$(shell $(2)))
setting = last_$(1) := $(subst $(hash),$$(hash),$(subst $$,$$$$,$($(1))))$(newline)
settings = $(subst $(newline) ,$(newline),$(foreach v,$(CHOSEN) $(FOUND),$(call setting,$v)))

CFLAGS ?= -O2 -g
OBJCOPY ?= objcopy
PKG_CONFIG ?= pkg-config
JOBS ?= $(shell nproc)
SEEDS ?= 50
TIME ?= 30
FUZZ ?= -max_total_time=$(TIME)
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man

# ---- variants

# Compiles as fast as can be. A C library that is to check its own buffers needs optimisation.
QUICK := $(if $(findstring FORTIFY,$(CPPFLAGS) $(CFLAGS)),,-O0)

# A report names lines, not values, so it takes -g1.
sanitize := -O1 -g1 -fno-omit-frame-pointer -fno-sanitize-recover=all
flags_plain :=
flags_clang :=
flags_asan := $(sanitize) -fsanitize=address,undefined
flags_ubsan := $(sanitize) -fsanitize=undefined
flags_tsan := $(sanitize) -fsanitize=thread
flags_fuzz := $(sanitize) -fsanitize=fuzzer-no-link,address,undefined
flags_cov := -O0 --coverage

# Sanitizers are best with clang, and the fuzzer is clang's.
ifeq ($(origin CC),default)
CC := $(if $(filter clang asan ubsan tsan fuzz,$(VARIANT)),clang,gcc)
else ifneq ($(filter clang fuzz,$(VARIANT)),)
override CC := $(if $(findstring clang,$(CC)),$(CC),clang)
endif

# What is installed is compiled as a whole, which saves a sixth of a small message's instructions.
LTO := $(if $(filter plain,$(VARIANT)),$(call found,LTO,$(CC) --version 2>/dev/null | grep -q 'Free Software' && \
	echo -flto=auto))

# Where a long has 32 bits, files may still be larger.
WIDE := $(call found,WIDE,echo __SIZEOF_LONG__ | $(CC) $(CPPFLAGS) $(CFLAGS) -E -P -x c - 2>/dev/null | grep -qx 4 && \
	echo -D_FILE_OFFSET_BITS=64)

OBJ := $(OUT)/obj
PRODUCTS := $(if $(filter plain,$(VARIANT)),build,$(OUT))

# Optional: the CRC of AAL5 at the speed of memory (src/transport/crc.h).
ISAL := $(call found,ISAL,$(PKG_CONFIG) --libs libisal 2>/dev/null)

# Optional: keys (src/keys). KEYS=0 builds without them.
KEYS ?= 1
GNUTLS := $(if $(filter-out 0,$(KEYS)),$(call found,GNUTLS,$(PKG_CONFIG) --libs 'gnutls >= 3.7.0' 2>/dev/null))

# Optional: AES with several blocks at a time (src/keys/vaes.h). IPSec-MB has no file of pkg-config.
ipsec_mb := \#include <intel-ipsec-mb.h>\n\#if IMB_VERSION_NUM < IMB_VERSION(1, 0, 0)\n\#error\n\#endif\n
IPSEC_MB := $(if $(GNUTLS),$(call found,IPSEC_MB,printf '$(ipsec_mb)' | $(CC) $(CPPFLAGS) -E -x c - >/dev/null 2>&1 && \
	echo -lIPSec_MB))
# Optional: the programs, whose command lines it reads. glibc has it; elsewhere it is a library of its own, which
# is named argp after its header.
argp := \#include <argp.h>\n\#ifdef __GLIBC__\nglibc\n\#else\n-largp\n\#endif\n
ARGP := $(call found,ARGP,text=$$(printf '$(argp)' | $(CC) $(CPPFLAGS) -E -P -x c - 2>/dev/null) && \
	echo "$$text" | tail -n 1)
# Optional: zcrp-cp, whose hashes it has.
XXHASH := $(call found,XXHASH,$(PKG_CONFIG) --libs libxxhash 2>/dev/null)

# What the library is linked with, beside the system's own.
SODIUM := $(call found,SODIUM,$(PKG_CONFIG) --libs libsodium 2>/dev/null || echo -lsodium)
LIBRARIES := $(SODIUM) $(ISAL) $(GNUTLS) $(IPSEC_MB)
# Those that zcrp.pc may leave to pkg-config: what pkg-config says of them for static linking can be linked here. The
# gnutls.pc of Debian 12 names libunistring, which no package brings that Debian's libgnutls28-dev depends on.
MODULES := $(call found,MODULES,to=$$(mktemp) && for module in libsodium libisal gnutls; do \
	flags=$$($(PKG_CONFIG) --static --libs $$module) && echo 'int main(void) { return 0; }' | \
	$(CC) $(CFLAGS) -x c - -o $$to $(LDFLAGS) $$flags && echo $$module; done 2>/dev/null; rm -f $$to)

WARNINGS := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wswitch-enum -Wvla
COMPILE = $(CC) -std=c11 -D_GNU_SOURCE $(WIDE) -Isrc -Iinclude -Itools -fPIC -fvisibility=hidden -pthread \
	$(WARNINGS) $(WERROR) $(if $(ISAL),-DZCRP_ISAL) $(if $(GNUTLS),-DZCRP_KEYS) \
	$(if $(IPSEC_MB),-DZCRP_IPSEC_MB) $(CPPFLAGS) $(CFLAGS) $(flags_$(VARIANT))
# Two builds in two folders have the same bytes (tests/checks/reproducible): debug information does not name this folder.
# In reports of sanitizers and of gcov it does.
ANYWHERE := $(if $(flags_$(VARIANT)),,'-ffile-prefix-map=$(CURDIR)=.')
LINK = $(CC) -pthread $(if $(LTO),-fno-lto) $(CFLAGS) $(flags_$(VARIANT)) $(LDFLAGS)

# ---- what there is

include tools/peers.mk
LEFT_OUT += $(if $(GNUTLS),src/keys/none.c,$(filter-out src/keys/none.c,$(wildcard src/keys/*.c)))
LEFT_OUT += $(if $(ARGP),,tools/common/arguments.c tests/unit/common/arguments_test.c)
# Sorted, because wildcard sorts by the user's locale, and what is linked lies in this order.
objects = $(patsubst %.c,$(OBJ)/%.o,$(filter-out $(LEFT_OUT),$(foreach p,$(1),$(sort $(wildcard $p)))))

# meson.build has these patterns, too.
LIBRARY := $(call objects,src/*/*.c src/*/*/*.c)
# A sanitizer's compiler takes a third less time for a folder as one file, because it reads all headers once. Mocks replace
# calls between files, but none within these folders. So names of two files in one of these folders differ.
FOLDERS := $(if $(findstring sanitize,$(flags_$(VARIANT))),$(addprefix src/,$(addprefix core/,adt keys path receiver sender \
	wire) queue transport/aal5 transport/udp waiting))
LIBRARY := $(filter-out $(FOLDERS:%=$(OBJ)/%/%.o),$(LIBRARY)) $(FOLDERS:%=$(OBJ)/%.o)
# Without optimisation clang takes a third of the time for the library with the thread sanitizer, whose tests take 8 %
# more, and no access is optimised away before it is checked. Those of the address sanitizer would take 45 to 100 % more.
$(if $(filter tsan,$(VARIANT)),$(LIBRARY)): private COMPILE += $(QUICK)
# Its objects can be linked as they are, too: its own tests are. The assembler then writes this folder into the program
# (gcc 12, whatever it is told), so the object that zcrp-top shares is compiled alone.
BOARD_FILE := $(OBJ)/src/statsfile/board_file.o
$(if $(LTO),$(filter-out $(BOARD_FILE),$(LIBRARY))): private COMPILE += $(LTO) -ffat-lto-objects
COMMON := $(call objects,tools/common/*.c)
CODE := $(wildcard include/*.h include/*.hpp examples/*.c python/native/*.[ch] fabric/*.[ch] \
	$(foreach d,src tests tools,$(foreach e,h c cpp,$d/*/*.$e $d/*/*/*.$e)))

to_tidy = $(filter-out %.h %.cpp tests/% $(LEFT_OUT),$(CODE))

STATIC := $(PRODUCTS)/libzcrp.a
SHARED := $(PRODUCTS)/libzcrp.so
PROGRAMS := $(if $(ARGP),$(patsubst tools/%/main.c,$(PRODUCTS)/%,$(filter-out $(if $(XXHASH),,tools/zcrp-cp/main.c),\
	$(wildcard tools/*/main.c))))
SCRIPTS := $(if $(shell command -v python3),$(patsubst tools/%/__main__.py,$(PRODUCTS)/%,\
	$(wildcard tools/*/__main__.py)))

all: $(STATIC) $(SHARED) $(PROGRAMS) $(SCRIPTS)
	$(if $(ARGP),@:,@echo "without programs: $(CC) has no argp.h (docs/building.md)")
lib: $(STATIC) $(SHARED)
	@:

help:
	@sed -n 's/^#: \{0,1\}//p' Makefile

# ---- building

# A command without a shell before it is one process less.
blank :=
ifneq ($(V),1)
say = $(info $(blank)  $(1)	$@)@
endif

# Changes when the compiler, a flag or a peer does, and everything with it.
$(OUT)/flags: export FLAGS = $(COMPILE) $(LTO) $(LDFLAGS) $(PEERS)
$(OUT)/flags: export SETTINGS = $(settings)
$(OUT)/flags: FORCE
	@mkdir -p $(addprefix $(OBJ)/,$(sort $(dir $(filter %.c,$(CODE)))))
	@echo "$$FLAGS" | cmp -s - $@ || echo "$$FLAGS" >$@
	@echo "$$SETTINGS" | cmp -s - $(OUT)/settings || echo "$$SETTINGS" >$(OUT)/settings

$(OBJ)/%.o: %.c $(OUT)/flags
	$(call say,cc)$(COMPILE) $(ANYWHERE) -MMD -MP -c -o $@ $<

$(foreach f,$(FOLDERS),$(eval $(OBJ)/$f.o: $(wildcard $f/*.c)))
$(FOLDERS:%=$(OBJ)/%.o): $(OBJ)/%.o: $(OUT)/flags
	@printf '#include "%s"\n' $(sort $(wildcard $*/*.c)) >$(@:.o=.c)
	$(call say,cc)$(COMPILE) -I. -MMD -MP -c -o $@ $(@:.o=.c)

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)

# The library for its own tests: every name can be reached.
INTERNAL := $(OUT)/internal.a
$(INTERNAL): $(LIBRARY)
	$(call say,ar)rm -f $@ && $(AR) rcs $@ $^

# The library for everybody else is one object. Section groups, of which a linker keeps one of a name, cannot
# collide with theirs: clang's address sanitizer makes some.
WHOLE := $(OUT)/whole.o
$(WHOLE): $(LIBRARY)
	$(call say,ld)$(if $(LTO),$(COMPILE) $(ANYWHERE) $(LTO) -r -flinker-output=nolto-rel,$(LD) -r --force-group-allocation) -o $@ $^

# Neither can its hidden names. On 32-bit x86 they collide in the shared library, too: with those of libgcc.
ALONE := $(OUT)/zcrp.o
$(ALONE): $(WHOLE)
	$(call say,objcopy)$(OBJCOPY) --localize-hidden $< $@
$(STATIC): $(ALONE)
	$(call say,ar)rm -f $@ && $(AR) rcsD $@ $<

# Complete by itself; only a sanitizer's runtime is the program's.
defs = $(if $(flags_$(VARIANT)),,-Wl$(comma)-z$(comma)defs)
names = -Wl,--version-script=src/zcrp.map,--no-undefined-version
# A thread that waits for pages (src/platform/pages.h) may outlive the last entity.
stays = -Wl,-z,nodelete
$(SHARED): $(ALONE) src/zcrp.map
	$(call say,ld)$(LINK) -shared -Wl,-soname,$(SONAME) $(defs) $(names) $(stays) -o $@.$(VERSION) $(ALONE) $(LIBRARIES) && \
		ln -sf $(@F).$(VERSION) $(@D)/$(SONAME) && ln -sf $(SONAME) $@

# zcrp-top reads files of the library's, and shares what both know of them.
$(PRODUCTS)/zcrp-top: $(BOARD_FILE)

# A program is a folder of tools/ with a main.c.
.SECONDEXPANSION:
$(PROGRAMS): $(PRODUCTS)/%: $$(call objects,tools/$$*/*.c tools/$$*/*/*.c) $(COMMON) $(STATIC)
	$(call say,ld)$(LINK) -o $@ $^ -lm $(LIBRARIES) $(filter -l%,$(ARGP)) $(LDLIBS)

$(PRODUCTS)/zcrp-cp: LDLIBS += $(XXHASH)

# Or one with a __main__.py: its modules become one file that python3 runs.
$(SCRIPTS): $(PRODUCTS)/%: $(wildcard tools/*/*.py) tools/bundle $(OUT)/flags
	$(call say,zip)tools/bundle $@ $(VERSION) $(wildcard tools/$*/*.py tools/common/*.py)

# An example is one file, which a user can compile alone.
EXAMPLES := $(patsubst %.c,$(PRODUCTS)/%,$(wildcard examples/*.c))
$(EXAMPLES): $(PRODUCTS)/%: $(OBJ)/%.o $(STATIC)
	@mkdir -p $(@D)
	$(call say,ld)$(LINK) -o $@ $^ $(LIBRARIES)
all examples: $(EXAMPLES)

include tools/bench.mk
include tools/fabric.mk
include tools/nccl.mk
include tools/tests.mk
include tools/install.mk
include tools/python.mk
include tools/targets.mk

# ---- the rest

demo: all
	@sh tools/demo
format:
	@clang-format -i $(CODE)
tidy:
	@tests/checks/tidy $(to_tidy)
layers: $(LIBRARY)
	@tests/checks/layers $(filter $(OBJ)/src/core/%,$^)
symbols: $(SHARED) $(STATIC)
	@tests/checks/symbols $^

clean:
	rm -rf build

FORCE:
.PHONY: FORCE all lib help examples built run check rest check-all test cov demo format tidy layers symbols install \
	uninstall clean fuzz mutants model-all symbolic stress attack-all asan ubsan tsan valgrind $(SUITE_NAMES)
