# SPDX-License-Identifier: GPL-2.0-or-later
# make deb: Debian packages of the commit in build/deb; debian/rules.
.PHONY: deb
deb:
	@tools/install-deps deb
	@$(MAKE) --no-print-directory -s $(PAGE)
	@tools/build-deb '$(BUILD)/deb' '$(VERSION)' '$(PAGE)'

# make static: moca as one file, which needs no library where it runs; what
# programs load (libmoca-alloc.so, libmocatrace.so) is within it, and so is
# Zydis, of which Debian has no static library. doc/design/packages.md.
ONE_FILE := $(BUILD)/one-file
ONE_OBJ := $(call obj,$(wildcard lib/standalone/*.[cS]))
ZYDIS_FILE = $(realpath $(shell $(CC) -print-file-name=libZydis.so))
.PHONY: static
static:
	@tools/install-deps static
	@$(MAKE) --no-print-directory $(ONE_FILE)/moca
	@ls -l $(ONE_FILE)/moca
$(ONE_FILE)/moca: $(MOCA_OBJ) $(ONE_OBJ)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -static -pthread -o $@.new $^ \
		$(filter-out -lZydis,$(MOCA_LIBS)) -lbz2 -llzma -lzstd -lz
	strip $@.new
	mv $@.new $@
$(ONE_FILE)/within/%.so: $(BUILD)/%.so
	@mkdir -p $(@D)
	strip --strip-unneeded -o $@ $<
WITHIN := $(addprefix $(ONE_FILE)/within/,libmoca-alloc.so libmocatrace.so)
$(call obj,lib/standalone/files.S): $(WITHIN)
$(call obj,lib/standalone/files.S): private CPPFLAGS += \
	'-DZYDIS_FILE="$(ZYDIS_FILE)"' \
	'-DALLOC_FILE="$(ONE_FILE)/within/libmoca-alloc.so"' \
	'-DTRACE_FILE="$(ONE_FILE)/within/libmocatrace.so"'
# For tests/installed/one-file. Sanitizers have no static libraries.
test-programs: $(if $(filter $(INSTRUMENTING),$(CFLAGS)),,$(ONE_FILE)/moca)
