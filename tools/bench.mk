# zcrp-bench and what is measured with it. Included by the Makefile.

# zcrp-bench counts allocations, its own and the library's.
counted := malloc calloc realloc aligned_alloc posix_memalign free
$(PRODUCTS)/zcrp-bench: LDLIBS += $(counted:%=-Wl,--wrap=%)
$(OBJ)/tools/%/main.o: COMPILE += -DZCRP_VERSION='"$(VERSION)"'

# `make bench` measures and rewrites docs/performance.md; `make bench BENCH=...` only measures what
# the arguments of zcrp-bench say.
bench: all
ifdef BENCH
	@build/zcrp-bench $(BENCH)
else
	@tools/bench-tables
endif

bench-guard: $(PROGRAMS)
	@ZCRP_BUILD=$(PRODUCTS) tools/bench-guard

# The guard is a test, of the plain variant: sanitizers allocate and instruct on their own account.
tests_e2e += $(if $(filter plain,$(VARIANT)),bench/guard=tools/bench-guard \
	'bench/guard-self-test=tools/bench-guard --self-test')

.PHONY: bench bench-guard
