# SPDX-License-Identifier: GPL-2.0-or-later
# make bench [QUICK=1] [ONLY="stencil sort"] [REPEAT=3]: tests/bench/run says
# what is measured.
KERNELS := $(patsubst tests/bench/kernels/%.c,$(BUILD)/tests/bench/%, \
	$(wildcard tests/bench/kernels/*.c))

.PHONY: bench bench-programs
bench-programs: $(KERNELS)

bench:
	@tools/install-deps bench
	@$(MAKE) --no-print-directory all bench-programs
	@BUILD='$(abspath $(BUILD))' QUICK='$(QUICK)' ONLY='$(ONLY)' REPEAT='$(REPEAT)' \
		tests/bench/run

$(BUILD)/tests/bench/%: tests/bench/kernels/%.c tests/bench/kernels/kernel.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(WARN) -fopenmp -o $@ $< -lm
