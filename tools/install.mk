# Installing. Included by the Makefile. What a path has of PREFIX becomes ${prefix} in zcrp.pc, so that
# pkg-config can move it.

define pkg_config_file
prefix=$(PREFIX)
libdir=$(LIBDIR:$(PREFIX)/%=$${prefix}/%)
includedir=$(INCLUDEDIR:$(PREFIX)/%=$${prefix}/%)

Name: zcrp
Description: Zero-copying, block-acknowledging, receiver-initiated messages over UDP
Version: $(VERSION)
Libs: -L$${libdir} -lzcrp
Libs.private: -pthread $(LIBRARIES)
Cflags: -I$${includedir}
endef

INSTALL ?= install
MANUALS := $(wildcard docs/*.[137] docs/*/*.[137])
to_bin = $(DESTDIR)$(BINDIR)
to_lib = $(DESTDIR)$(LIBDIR)
to_include = $(DESTDIR)$(INCLUDEDIR)
manual = $(DESTDIR)$(MANDIR)/man$(subst .,,$(suffix $(1)))/$(notdir $(1))

install: all
	$(INSTALL) -d $(to_include) $(to_lib)/pkgconfig $(to_bin)
	$(INSTALL) -m 644 include/zcrp.h $(to_include)/
	$(INSTALL) -m 644 $(STATIC) $(to_lib)/
	$(INSTALL) -m 755 $(SHARED).$(VERSION) $(to_lib)/
	ln -sf libzcrp.so.$(VERSION) $(to_lib)/$(SONAME)
	ln -sf $(SONAME) $(to_lib)/libzcrp.so
	$(file >$(OUT)/zcrp.pc,$(pkg_config_file))$(INSTALL) -m 644 $(OUT)/zcrp.pc $(to_lib)/pkgconfig/
	$(INSTALL) -m 755 $(PROGRAMS) $(SCRIPTS) $(to_bin)/
	$(foreach m,$(MANUALS),$(INSTALL) -D -m 644 $m $(call manual,$m) &&) :

uninstall:
	rm -f $(to_include)/zcrp.h $(to_lib)/libzcrp.a $(to_lib)/libzcrp.so* $(to_lib)/pkgconfig/zcrp.pc \
		$(patsubst $(PRODUCTS)/%,$(to_bin)/%,$(PROGRAMS) $(SCRIPTS)) \
		$(foreach m,$(MANUALS),$(call manual,$m))
