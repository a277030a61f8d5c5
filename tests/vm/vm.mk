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
