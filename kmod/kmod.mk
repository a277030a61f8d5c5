# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel module and the guests that test it; kmod/vm/README.md.
VM_PROGRAMS := $(patsubst tests/%.c,$(TEST_DIR)/%,$(wildcard tests/vm/*.c))

$(BUILD)/vm/init: kmod/vm/init.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(WARN) -static -o $@ $<
$(TEST_DIR)/vm/%: tests/vm/%.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -static -MMD -MP -MF $@.d \
		-o $@ $<

# KDIR: the headers of another kernel than the running one's; without headers
# of either, for the kernels of the tests.
KDIR ?= $(wildcard /lib/modules/$(shell uname -r)/build)
.PHONY: kmod install-dkms kmod-arm64 vm-debug check-kernels check-kasan
kmod:
ifneq ($(KDIR),)
	@kmod/vm/build-module '$(KDIR)' \
		'$(BUILD)/kmod/$(patsubst linux-headers-%,%,$(notdir $(realpath $(KDIR))))'
else
	@tools/install-deps kmod
	@BUILD='$(abspath $(BUILD))' kmod/vm/kernels.py build
endif

# The sources for `dkms install moca/VERSION`.
DKMS := $(DESTDIR)/usr/src/moca-$(VERSION)
install-dkms:
	install -d $(DKMS)/include/uapi
	install -m 644 kmod/*.[ch] kmod/Kbuild $(DKMS)/
	install -m 644 include/uapi/*.h $(DKMS)/include/uapi/
	sed 's|@VERSION@|$(VERSION)|' kmod/dkms.conf > $(DKMS)/dkms.conf

kmod-arm64:
	@tools/install-deps kmod
	@BUILD='$(abspath $(BUILD))' kmod/vm/kernels.py arm64

# A shell in a guest: make vm-debug KERNEL=6.1
KERNEL ?= 6.12
vm-debug:
	@tools/install-deps vm
	@$(MAKE) --no-print-directory -s $(BUILD)/moca $(BUILD)/vm/init $(VM_PROGRAMS)
	@BUILD='$(abspath $(BUILD))' kmod/vm/shell $(KERNEL)

# The guests' cases on all kernels, one after the other; those that make check
# does not boot are fetched.
KERNELS ?= 6.1 6.12 6.1-rt 6.12-rt 6.12-trixie 7.2 7.3 7.3-rt 6.12-arm64
check-kernels:
	@tools/install-deps check
	$(if $(filter %-arm64,$(KERNELS)),@tools/install-deps arm64)
	@bad=0; for k in $(KERNELS); do \
		BUILD='$(abspath $(BUILD))' KERNELS=$$k CLANG=all \
			tests/run tests/vm/run || \
			bad=1; \
	done; exit $$bad

# The guests' cases on a kernel that watches memory, locks and leaks.
check-kasan:
	@tools/install-deps kasan
	@$(MAKE) --no-print-directory -s $(BUILD)/vm/init $(VM_PROGRAMS)
	@BUILD='$(abspath $(BUILD))' kmod/vm/kernels.py debug
	@BUILD='$(abspath $(BUILD))' KERNELS=debug tests/run tests/vm/run
