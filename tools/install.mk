# Installing. Included by the Makefile. find_package(zcrp) of CMake finds the targets zcrp::zcrp and zcrp::static, wherever
# the installed tree lies.

# What a program that is linked statically needs: what pkg-config knows by name, and the rest.
module_SODIUM := libsodium
module_ISAL := libisal
module_GNUTLS := gnutls
REQUIRES = $(foreach v,SODIUM ISAL GNUTLS,$(if $($v),$(filter $(module_$v),$(MODULES))))
LIBS_PRIVATE = -pthread $(foreach v,SODIUM ISAL GNUTLS IPSEC_MB,$(if $(filter $(module_$v),$(MODULES)),,$($v)))

# The headers' folder: from LIBDIR, or absolute if one of both is not below PREFIX.
space := $() $()
are_below = $(and $(filter $(PREFIX)/%,$(LIBDIR)),$(filter $(PREFIX)/%,$(INCLUDEDIR)))
up = $(subst $(space),/,$(patsubst %,..,$(subst /, ,$(LIBDIR:$(PREFIX)/%=%))))
HEADERS = $(if $(are_below),$${_zcrp_lib}/$(up)/$(INCLUDEDIR:$(PREFIX)/%=%),$(INCLUDEDIR))

INSTALL ?= install
MANUALS := $(wildcard docs/*.[17])
API_MANUALS := $(wildcard docs/*.3)
to_bin = $(DESTDIR)$(BINDIR)
to_lib = $(DESTDIR)$(LIBDIR)
to_include = $(DESTDIR)$(INCLUDEDIR)
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
completions = $(patsubst $(PRODUCTS)/%,$(DESTDIR)$(BASHCOMPDIR)/%,$(PROGRAMS) $(SCRIPTS))
manual = $(DESTDIR)$(MANDIR)/man$(subst .,,$(suffix $(1)))/$(notdir $(1))

# Each public function has a page by its name, which leads to zcrp(3).
paren := (
functions = $(sort $(patsubst %_sized,%,$(shell sed -n 's/^\(ZCRP_PUBLIC .*[ *]\)\{0,1\}\(zcrp_[a-z0-9_]*\)$(paren).*/\2/p' include/zcrp.h)))
to_man3 = $(DESTDIR)$(MANDIR)/man3

# What a path has of PREFIX becomes ${prefix} in zcrp.pc, so that pkg-config can move it.
PC_LIBDIR = $(LIBDIR:$(PREFIX)/%=$${prefix}/%)
PC_INCLUDEDIR = $(INCLUDEDIR:$(PREFIX)/%=$${prefix}/%)
LINKED = -pthread $(LIBRARIES)
values = PREFIX LIBDIR INCLUDEDIR PC_LIBDIR PC_INCLUDEDIR VERSION SOVERSION REQUIRES LIBS_PRIVATE LINKED HEADERS

# Meson fills in the same files. The first build makes them, so that they belong to its user; root's `make install` only
# writes them anew.
FOR_BUILDS := $(addprefix $(OUT)/,zcrp.pc zcrp-config.cmake zcrp-config-version.cmake)
$(FOR_BUILDS): $(OUT)/%: tools/install/%.in $(OUT)/flags FORCE
	@sed $(foreach v,$(values),-e 's|@$v@|$(strip $($v))|') $< >$@
all lib: $(FOR_BUILDS)

# The library alone, as `make lib` builds it; and all.
install-lib: lib
	$(INSTALL) -d $(to_include) $(to_lib)/pkgconfig $(to_lib)/cmake/zcrp
	$(INSTALL) -m 644 include/zcrp.h include/zcrp.hpp $(to_include)/
	$(INSTALL) -m 644 $(STATIC) $(to_lib)/
	$(INSTALL) -m 755 $(SHARED).$(VERSION) $(to_lib)/
	ln -sf libzcrp.so.$(VERSION) $(to_lib)/$(SONAME)
	ln -sf $(SONAME) $(to_lib)/libzcrp.so
	$(INSTALL) -m 644 $(OUT)/zcrp.pc $(to_lib)/pkgconfig/
	$(INSTALL) -m 644 $(filter %.cmake,$(FOR_BUILDS)) $(to_lib)/cmake/zcrp/
	$(INSTALL) -d $(to_man3)
	$(INSTALL) -m 644 $(API_MANUALS) $(to_man3)/
	@for f in $(functions); do echo '.so man3/zcrp.3' >$(to_man3)/$$f.3 && chmod 644 $(to_man3)/$$f.3 || exit 1; done

install: all install-lib
	$(INSTALL) -d $(to_bin)
	$(if $(PROGRAMS)$(SCRIPTS),$(INSTALL) -m 755 $(PROGRAMS) $(SCRIPTS) $(to_bin)/)
	$(if $(NCCL),$(INSTALL) -m 755 $(NCCL) $(to_lib)/)
	$(if $(HAS_FABRIC),$(INSTALL) -D -m 755 $(PROVIDER) $(to_lib)/libfabric/$(notdir $(PROVIDER)))
	$(foreach c,$(completions),$(INSTALL) -D -m 644 tools/completion/zcrp.bash $c &&) :
	$(foreach m,$(MANUALS),$(INSTALL) -D -m 644 $m $(call manual,$m) &&) :

uninstall:
	rm -f $(to_include)/zcrp.h $(to_include)/zcrp.hpp $(to_lib)/cmake/zcrp/zcrp-config*.cmake $(to_lib)/libzcrp.a $(to_lib)/libzcrp.so* $(to_lib)/pkgconfig/zcrp.pc $(to_lib)/libnccl-net-zcrp.so $(to_lib)/libfabric/libzcrp-fi.so \
		$(patsubst $(PRODUCTS)/%,$(to_bin)/%,$(PROGRAMS) $(SCRIPTS)) \
		$(completions) $(foreach m,$(MANUALS) $(API_MANUALS),$(call manual,$m)) $(functions:%=$(to_man3)/%.3)
	@for folder in cmake/zcrp cmake pkgconfig libfabric; do rmdir $(to_lib)/$$folder 2>/dev/null || :; done

# ---- packages of Debian, of the last commit (debian/), or of the tree where that is all there is

packages:
	@command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null || \
		{ echo "what builds packages is missing: sh tools/setup packages" >&2; exit 1; }
	@rm -rf build/packages && mkdir -p build/packages/libzcrp
	@if git rev-parse -q --verify HEAD >/dev/null 2>&1; then git archive HEAD; else tar -c --exclude=./build .; fi | \
		tar -x -C build/packages/libzcrp
	@cd build/packages/libzcrp && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc -b >../log 2>&1 || \
		{ tail -n 30 ../log; ! grep -q 'Unmet build dep' ../log || echo "sh tools/setup packages"; exit 1; }
	@rm -rf build/packages/libzcrp
	@ls build/packages/*.deb

.PHONY: packages install-lib
