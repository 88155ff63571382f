# zcrp-bench and what is measured with it. Included by the Makefile.

# The guard counts allocations by a library that it preloads.
ALLOCATIONS := $(PRODUCTS)/guard/allocations.so
$(ALLOCATIONS): $(OBJ)/tests/guard/allocations.o
	@mkdir -p $(@D)
	$(call say,ld)$(LINK) -shared -o $@ $^

# `make bench` measures and rewrites docs/lab/: the tables, and the JSON of the figures (as root, or without paths);
# `make bench BENCH=...` only measures what the arguments of zcrp-bench say.
bench: all $(ALLOCATIONS)
ifdef BENCH
	@build/zcrp-bench $(BENCH)
else
	@tools/lab/bench-tables
	@ZCRP_BUILD=$(PRODUCTS) tools/lab/figures measure
endif

# Measures what the figures of docs/performance.md show: docs/lab/*.json. As root, on a quiet machine; eight minutes. QUICK=1 only tries the commands, and writes to build/lab/.
figures-measure: all
	@ZCRP_BUILD=$(PRODUCTS) tools/lab/figures measure $(if $(QUICK),--quick)

# Draws the figures of docs/performance.md from docs/lab/*.json; needs gnuplot.
figures:
	@python3 -B tools/lab/figures draw

bench-guard: $(PROGRAMS) $(ALLOCATIONS) $(PRODUCTS)/lab/instructions
	@ZCRP_BUILD=$(PRODUCTS) tests/guard/run

# The guard is a test, of the plain variant: sanitizers allocate and instruct on their own account.
tests_e2e += $(if $(filter plain,$(VARIANT)),'bench/guard:alone=tests/guard/run --counts' \
	'bench/guard-instructions=tests/guard/run --instructions' \
	'bench/guard-small=tests/guard/run --small' \
	'bench/guard-self-test=tests/guard/run --self-test')

# What zcrp-bench is made of, without any peer (tools/peers.mk), for its unit tests.
peer_objects := $(foreach p,$(ALL_PEERS),$(patsubst %.c,$(OBJ)/%.o,$(call peer_sources,$(p))))
bare_objects := $(filter-out $(peer_objects) %/main.o,$(call objects,tools/zcrp-bench/*.c tools/zcrp-bench/*/*.c))
$(OUT)/zcrp-bench.a: $(bare_objects)
	$(call say,ar)rm -f $@ && $(AR) rcs $@ $^

# All peers that are there, side by side; rewrites their table in docs/lab/tables.md.
bench-peers: all $(ALLOCATIONS)
	@tools/lab/bench-tables --peers

# The paper's figures again, between emulated machines, as a page: build/paper/index.md. Needs the
# rights of root. QUICK=1: a first look.
paper: all
	@ZCRP_BUILD=$(PRODUCTS) ZCRP_VERSION=$(VERSION) python3 -B tools/lab/paper.py \
		$(if $(QUICK),--scale quick) --output $(PRODUCTS)/paper

# The load experiment, too; rewrites docs/evaluation.md.
evaluation: paper
	@$(PRODUCTS)/zcrp-cpuload --path loopback,veth --json $(PRODUCTS)/paper/load.json
	@python3 -B tools/lab/page.py $(PRODUCTS)/paper docs/evaluation.md

# Over links with a rate, a delay and mishaps; takes the rights of root. Nine minutes.
bench-paths: all
	@tools/lab/path-tables

# Programs of one experiment each: a queue of 1,000 peers beside their descriptors; one end of a transfer for
# move-paths; and what a small message costs in instructions.
LAB := $(patsubst tools/%.c,$(PRODUCTS)/%,$(wildcard tools/lab/*.c))
$(LAB): $(PRODUCTS)/lab/%: $(OBJ)/tools/lab/%.o $(COMMON) $(STATIC)
	@mkdir -p $(@D)
	$(call say,ld)$(LINK) -o $@ $^ $(LIBRARIES)
many-peers: $(LAB)
	@$(PRODUCTS)/lab/many_peers

# A caller whose address changes in the middle of 200 MB; takes the rights of root.
moves: $(LAB)
	@tools/lab/move-paths

# What zcrp-tunnel does for programs that people use, beside TCP and kcptun; takes the rights of root. 13 minutes.
tunnel-tables: all
	@tools/lab/tunnel-tables

# What a small message costs in instructions, by part; needs valgrind. Not of this machine's load: so two commits can be
# compared anywhere.
instructions: $(PRODUCTS)/lab/instructions
	@tools/lab/count-instructions $< $(CASES)

.PHONY: tunnel-tables instructions figures figures-measure many-peers moves bench-peers bench-paths bench bench-guard paper evaluation
