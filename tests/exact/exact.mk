# SPDX-License-Identifier: GPL-2.0-or-later
# Programs of tests/exact. Those with fixed addresses of their own must not move.
EXACT_DIR := $(TEST_DIR)/exact
EXACT_WORKLOADS := $(addprefix $(EXACT_DIR)/,pool random known granules signal \
	life-signals life-code life-exceptions signal-counts native \
	elements chart steady oracle-1 oracle-2 oracle-3 oracle-4 oracle-5)
EXACT_DEPS := $(wildcard tests/exact/*.h)
exact_workload = @mkdir -p $(@D) && $(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS)

$(EXACT_DIR)/pool: tests/exact/pool.c tests/exact/pool-macros.c \
		tests/exact/machine.c tests/exact/trampoline.S $(EXACT_DEPS)
	$(exact_workload) -o $@ $(filter %.c %.S,$^) -lZydis
$(EXACT_DIR)/random: tests/exact/random.c tests/exact/random-affine.c \
		tests/exact/random-rewrite.c tests/exact/machine.c \
		tests/exact/trampoline.S $(EXACT_DEPS)
	$(exact_workload) -no-pie -fno-pie -o $@ $(filter %.c %.S,$^)
# The agent's parts for signals, in a section that tells them from the program.
SIGNAL_PARTS := $(addprefix $(BUILD)/exact/agent/exact/,entry.o sigreturn.o \
	signal.o signal-action.o signal-frame.o signal-mask.o)
$(EXACT_DIR)/agent.o: $(SIGNAL_PARTS)
	@mkdir -p $(@D)
	$(LD) -r -o $@ $^
	objcopy --rename-section .text=agent_text $@
$(EXACT_DIR)/signal: tests/exact/signal.c tests/exact/signal-frames.c \
		tests/exact/signal-harness.c $(EXACT_DIR)/agent.o $(EXACT_DEPS) $(wildcard agent/exact/*.h)
	$(exact_workload) -o $@ $(filter %.c %.o,$^)
$(EXACT_DIR)/granules: tests/exact/granules.c $(BUILD)/libmoca.a
	$(exact_workload) -o $@ $^ -lzstd
$(EXACT_DIR)/life-exceptions: tests/exact/life-exceptions.cc
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -Wall -Wextra $(CFLAGS) -pthread -o $@ $<
$(EXACT_DIR)/life-%: tests/exact/life-%.c tests/programs/case.c tests/programs/case.h
	$(exact_workload) -Wno-clobbered -o $@ $< tests/programs/case.c
# 1 as compilers make it without optimisation, 2 with vectors.
$(EXACT_DIR)/oracle-%: tests/exact/oracle.c
	$(exact_workload) $(if $(filter 1,$*),-O0,$(if $(filter 2,$*),-O3 \
		-mavx2)) -ffreestanding -fno-stack-protector -mno-red-zone \
		-fno-tree-loop-distribute-patterns -fno-pie -no-pie -static \
		-nostdlib -DPROGRAM=$* -o $@ $<
# Without instructions for strings that are the compiler's.
$(EXACT_DIR)/elements: tests/exact/elements.c tests/exact/call.h
	$(exact_workload) -ffreestanding -fno-stack-protector -mno-sse \
		-fno-tree-loop-distribute-patterns -fno-pie -no-pie -static \
		-nostdlib -o $@ $<
$(EXACT_DIR)/%: tests/exact/%.c
	$(exact_workload) -o $@ $<
