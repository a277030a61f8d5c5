# SPDX-License-Identifier: GPL-2.0-or-later
# Programs of tests/exact. Those with fixed addresses of their own must not move.
EXACT_DIR := $(TEST_DIR)/exact
EXACT_WORKLOADS := $(addprefix $(EXACT_DIR)/,pool random known granules)
EXACT_DEPS := $(wildcard tests/exact/*.h)
exact_workload = @mkdir -p $(@D) && $(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS)

$(EXACT_DIR)/pool: tests/exact/pool.c tests/exact/pool-macros.c \
		tests/exact/machine.c tests/exact/trampoline.S $(EXACT_DEPS)
	$(exact_workload) -o $@ $(filter %.c %.S,$^) -lZydis
$(EXACT_DIR)/random: tests/exact/random.c tests/exact/random-affine.c \
		tests/exact/random-rewrite.c tests/exact/machine.c \
		tests/exact/trampoline.S $(EXACT_DEPS)
	$(exact_workload) -no-pie -fno-pie -o $@ $(filter %.c %.S,$^)
$(EXACT_DIR)/granules: tests/exact/granules.c $(BUILD)/libmoca.a
	$(exact_workload) -o $@ $^ -lzstd
$(EXACT_DIR)/%: tests/exact/%.c
	$(exact_workload) -o $@ $<
