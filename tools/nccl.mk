# NCCL's net plugin (nccl/, docs/nccl.md), and its tests. Included by the Makefile. It is one file to copy: the library
# is in it. NCCL unloads it, but its threads may stay.

NCCL := $(if $(wildcard nccl/*.c),$(PRODUCTS)/libnccl-net-zcrp.so)
$(PRODUCTS)/libnccl-net-zcrp.so: $(call objects,nccl/*.c) $(STATIC) nccl/net.map
	$(call say,ld)$(LINK) -shared -Wl,-soname,$(@F) $(defs) -Wl,--version-script=nccl/net.map $(stays) \
		-o $@ $(filter-out %.map,$^) $(LIBRARIES)
nccl all: $(NCCL)
CODE += $(wildcard nccl/*.[ch])

# A rank for two hosts, or for the two ends of zcrp-link.
NCCL_RANK := $(PRODUCTS)/lab/nccl-rank
$(NCCL_RANK): $(call objects,$(addprefix tests/nccl/,rank.c driver.c load.c watcher.c))
	@mkdir -p $(@D)
	$(call say,ld)$(LINK) -o $@ $^ -ldl

# The suite loads the plugin as NCCL does; two of its parts are tested by themselves, too.
$(OUT)/tests/nccl-net: $(call objects,tests/nccl/*_test.c $(addprefix tests/nccl/,driver.c load.c ranks.c watcher.c) \
		nccl/handle.c nccl/interfaces.c) $(OUT)/support.a
	$(link_test) $(libcheck) -ldl
nccl-net := $(OUT)/tests/nccl-net $(NCCL)

.PHONY: nccl
