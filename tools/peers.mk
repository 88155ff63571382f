# The peers: other message protocols that zcrp-bench compares with, each where its development
# package is installed. `make PEERS=` builds without any, `make PEERS=srt` with that one. Included by
# the Makefile.

ALL_PEERS := srt quic tls

packages_srt := srt
packages_quic := libngtcp2 >= 0.12 libngtcp2 < 1 libngtcp2_crypto_gnutls gnutls
packages_tls := openssl >= 3

has_packages = $(shell $(PKG_CONFIG) --exists '$(packages_$(1))' 2>/dev/null && echo $(1))

# The thread sanitizer takes what it cannot see in libraries for races.
PEERS := $(if $(last),$(last_PEERS),$(if $(filter tsan fuzz,$(VARIANT)),,$(strip \
	$(foreach p,$(ALL_PEERS),$(call has_packages,$(p))))))

# What belongs to peers that are not there.
peer_sources = $(wildcard tools/zcrp-bench/transports/$(1).c tools/zcrp-bench/transports/$(1)_*.c)
LEFT_OUT := $(foreach p,$(filter-out $(PEERS),$(ALL_PEERS)),$(call peer_sources,$(p)))
define peer
$(patsubst %.c,$(OBJ)/%.o,$(call peer_sources,$(1))): COMPILE += \
	$(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags '$(packages_$(1))' 2>/dev/null))
endef
$(foreach p,$(PEERS),$(eval $(call peer,$(p))))

peer_packages := $(foreach p,$(PEERS),$(packages_$(p)))
$(PRODUCTS)/zcrp-bench: LDLIBS += $(if $(peer_packages),$(shell $(PKG_CONFIG) --libs '$(peer_packages)' 2>/dev/null))
