# The peers: other message protocols that zcrp-bench compares with, each where its development
# package is there. `make PEERS=` builds without any, `make PEERS="srt udt"` with these. Included by
# the Makefile.

ALL_PEERS := srt udt enet sctp quic

packages_srt := srt
packages_enet := libenet
packages_sctp := usrsctp
packages_quic := libngtcp2 >= 0.12 libngtcp2 < 1 libngtcp2_crypto_gnutls gnutls
udt_header := $(firstword $(wildcard /usr/include/udt/udt.h /usr/local/include/udt/udt.h))

has_packages = $(shell pkg-config --exists '$(packages_$(1))' 2>/dev/null && echo $(1))
has_udt := $(if $(udt_header),$(shell command -v $(CXX) >/dev/null && echo udt))

# The thread sanitizer takes what it cannot see in libraries for races.
PEERS := $(if $(filter tsan fuzz,$(VARIANT)),,$(foreach p,$(ALL_PEERS),$(if \
	$(packages_$(p)),$(call has_packages,$(p)),$(has_$(p)))))

# What belongs to peers that are not there.
LEFT_OUT := $(foreach p,$(filter-out $(PEERS),$(ALL_PEERS)),$(wildcard \
	tools/zcrp-bench/transport_$(p).c tools/zcrp-bench/$(p)_*.c))

peer_sources = $(wildcard tools/zcrp-bench/transport_$(1).c tools/zcrp-bench/$(1)_*.c)
define peer
$(patsubst %.c,$(OBJ)/%.o,$(call peer_sources,$(1))): COMPILE += \
	$(patsubst -I%,-isystem %,$(shell pkg-config --cflags '$(packages_$(1))'))
endef
$(foreach p,$(filter-out udt,$(PEERS)),$(eval $(call peer,$(p))))

# UDT speaks C++ only. It is linked statically, and none of its names is exported: SRT, which
# descends from it, has functions of the same names, and each library has to find its own.
ifneq ($(filter udt,$(PEERS)),)
$(PRODUCTS)/zcrp-bench: $(OBJ)/tools/zcrp-bench/udt_shim.o
$(PRODUCTS)/zcrp-bench: LDLIBS += -l:libudt.a -Wl,--exclude-libs,libudt.a -lstdc++ -lm
endif

peer_packages := $(foreach p,$(PEERS),$(packages_$(p)))
$(PRODUCTS)/zcrp-bench: LDLIBS += $(if $(peer_packages),$(shell pkg-config --libs '$(peer_packages)'))

$(OBJ)/%.o: %.cpp $(OUT)/flags
	@mkdir -p $(@D)
	$(call say,c++)$(CXX) -std=c++11 -Itools -fPIC -fvisibility=hidden -Wall -Wextra -Wconversion \
		-Wshadow $(WERROR) $(CFLAGS) $(flags_$(VARIANT)) -MMD -MP -c -o $@ $<
