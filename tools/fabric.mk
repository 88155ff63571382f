# The provider for libfabric, where libfabric's headers are. FABRIC=PREFIX says where, if pkg-config does not know.
# `make install` puts it where a libfabric of the same LIBDIR looks for providers (docs/mpi.md).

FABRIC_CFLAGS := $(if $(FABRIC),-I$(FABRIC)/include,$(shell $(PKG_CONFIG) --cflags libfabric 2>/dev/null))
HAS_FABRIC := $(if $(wildcard fabric/*.c),$(call found,HAS_FABRIC,echo '$(hash)include <rdma/providers/fi_prov.h>' | \
	$(CC) $(FABRIC_CFLAGS) -E -x c - >/dev/null 2>&1 && echo yes))

# libfabric finds it by this name, in FI_PROVIDER_PATH. It has the library inside, because a libfabric may come from
# anywhere, also with a program that knows nothing of libzcrp; and it is linked with no libfabric (fabric/provider.h).
PROVIDER := $(PRODUCTS)/libzcrp-fi.so

fabric all: $(if $(HAS_FABRIC),$(PROVIDER))
fabric:
	$(if $(HAS_FABRIC),@:,@echo "without the provider: there is no rdma/fabric.h (libfabric-dev, or FABRIC=PREFIX)")

$(OBJ)/fabric/%.o: private COMPILE += $(FABRIC_CFLAGS)

# A thread of the library may outlive the last endpoint, so the provider stays when libfabric lets go of it.
$(PROVIDER): $(call objects,fabric/*.c) $(ALONE)
	$(call say,ld)$(LINK) -shared -Wl,-soname,$(@F) $(defs) -Wl,--exclude-libs,ALL \
		-Wl,--version-script=fabric/fabric.map -Wl,-z,nodelete -o $@ $^ $(LIBRARIES) -ldl

.PHONY: fabric
