# Installing. Included by the Makefile.

define pkg_config_file
prefix=$(PREFIX)
libdir=$(LIBDIR)
includedir=$(PREFIX)/include

Name: zcrp
Description: Zero-copying, block-acknowledging, receiver-initiated messages over UDP
Version: $(VERSION)
Libs: -L$${libdir} -lzcrp
Libs.private: -pthread $(LIBRARIES)
Cflags: -I$${includedir}
endef

SECTIONS := 1 3 7
manuals = $(wildcard docs/*.$(1))
to = $(DESTDIR)$(PREFIX)
to_lib = $(DESTDIR)$(LIBDIR)
install: all
	install -d $(to)/include $(to_lib)/pkgconfig $(to)/bin
	install -m 644 include/zcrp.h $(to)/include/
	install -m 644 $(STATIC) $(to_lib)/
	install -m 755 $(SHARED).$(VERSION) $(to_lib)/
	ln -sf libzcrp.so.$(VERSION) $(to_lib)/$(SONAME)
	ln -sf $(SONAME) $(to_lib)/libzcrp.so
	$(file >$(OUT)/zcrp.pc,$(pkg_config_file))install -m 644 $(OUT)/zcrp.pc $(to_lib)/pkgconfig/
	install -m 755 $(PROGRAMS) $(SCRIPTS) $(to)/bin/
	$(foreach s,$(SECTIONS),install -D -m 644 -t $(to)/share/man/man$(s) $(call manuals,$(s)) &&) :

uninstall:
	rm -f $(to)/include/zcrp.h $(to_lib)/libzcrp.a $(to_lib)/libzcrp.so* \
		$(to_lib)/pkgconfig/zcrp.pc $(patsubst $(PRODUCTS)/%,$(to)/bin/%,$(PROGRAMS) $(SCRIPTS)) \
		$(foreach s,$(SECTIONS),$(patsubst docs/%,$(to)/share/man/man$(s)/%,$(call manuals,$(s))))
