# SPDX-License-Identifier: GPL-2.0-or-later
# make bench-trace [QUICK=1]: libmocatrace beside LTTng-UST, tests/bench/trace.
# make bench-objects [QUICK=1]: moca objects on a large trace.
# make bench-summary [QUICK=1]: moca summary on the same trace.
# make bench-export [QUICK=1] [ONLY="parquet query"] [REPEAT=3] [OBJECTS=1000]: moca
# export, each format, and moca query: accesses per second and memory.
# make bench-advice [ONLY="churn table"] [REPEAT=3] [PAGES=1]: moca summary of programs with
# known faults, recorded with the defaults: recall and precision, tests/bench/advice;
# and how many clicks it takes from the report's opening to the line of the fault.
# make bench-apps [ONLY="povray R"] [REPEAT=3]: what moca says of real applications, and
# what its advice is worth, tests/bench/apps.
# make bench-sampled [GIB=16] [LASTS=30]: what samples of large memory say beside a
# recording that looks at all of it, tests/bench/sampled.
# make bench-sharing [ONLY="lu csr"] [REPEAT=1]: which pages that threads share are seen as
# shared, by default, tests/bench/sampled/sharing.
# make bench-rate [QUICK=1]: what sampling faults and CPU time costs.
# make bench-report [QUICK=1]: moca report on large traces, and its page.
# make bench-reduce [RANKS=1000]: moca reduce of a job of many ranks.
# make bench-ranks [RANKS=2] [REPEAT=7]: recording below mpirun beside recording without, tests/bench/ranks.
# make bench-overview: the division of a report's overview, at its largest.
# make bench-unwind: what finding the callers of an access costs the recorder.
# make bench-alloc [QUICK=1]: libmoca-alloc beside heaptrack, tests/bench/alloc.
# make bench-exact [QUICK=1]: exact mode beside valgrind and qemu, tests/bench/exact.
# make bench-exact-loops [QUICK=1]: loops of all lengths, tests/bench/exact/loops.
# make bench-exact-handlers [QUICK=1]: programs that handle faults, tests/bench/exact/handlers.
# make bench-exact-lottery [QUICK=1]: does it cost the same each time, tests/bench/exact/lottery.
# make bench-exact-told [REPEAT=5]: what exact mode tells of its cost, tests/bench/exact/told.
# make bench-cc [QUICK=1]: programs that moca cc builds, tests/bench/cc.
# make bench-cost [QUICK=1]: told cost against measured, tests/bench/cost.
# make bench-place [QUICK=1]: what a plan costs programs that allocate, tests/bench/place.
# make bench-try [ONLY="fill-once"] [ROUNDS=5]: what moca try finds beside changes by hand, tests/bench/try.
# make bench-kmod: what the kernel module costs, in guests, tests/bench/kmod.
# make bench [QUICK=1] [ONLY="stencil sort"] [REPEAT=3] [STACKS=1]: tests/bench/run says
# what is measured.
KERNELS := $(patsubst tests/bench/kernels/%.c,$(BUILD)/tests/bench/%, \
	$(wildcard tests/bench/kernels/*.c))
# Twice: as everybody builds it, and without libgfortran's handlers of faults.
FORTRAN_KERNELS := $(BUILD)/tests/bench/solve $(BUILD)/tests/bench/solve-plain

.PHONY: bench bench-kmod bench-cc bench-alloc bench-objects bench-overview bench-unwind bench-summary \
	bench-export bench-trace bench-programs bench-advice bench-apps
EMITTERS := $(addprefix $(BUILD)/tests/bench/,emit-moca emit-lttng)
bench-programs: $(KERNELS)

bench:
	@tools/install-deps bench
	@$(MAKE) --no-print-directory all bench-programs
	@BUILD='$(abspath $(BUILD))' QUICK='$(QUICK)' ONLY='$(ONLY)' REPEAT='$(REPEAT)' \
		STACKS='$(STACKS)' tests/bench/run

bench-kmod:
	@tools/install-deps check
	@BUILD='$(abspath $(BUILD))' tests/bench/kmod/run

bench-cc:
	@$(MAKE) --no-print-directory all
	@BUILD='$(abspath $(BUILD))' QUICK='$(QUICK)' ONLY='$(ONLY)' REPEAT='$(REPEAT)' \
		tests/bench/cc/run

.PHONY: bench-place
bench-place: $(BUILD)/tests/bench/pairs
	@tools/install-deps bench-place
	@$(MAKE) --no-print-directory all $(BUILD)/tests/place/load
	@BUILD='$(abspath $(BUILD))' QUICK='$(QUICK)' tests/bench/place/run
$(BUILD)/tests/bench/pairs: tests/bench/place/pairs.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) -std=gnu11 $(WARN) $(PLACE_CFLAGS) -o $@ $<

.PHONY: bench-try
bench-try: $(BUILD)/tests/bench/programs
	@$(MAKE) --no-print-directory all
	@BUILD='$(abspath $(BUILD))' ONLY='$(ONLY)' ROUNDS='$(ROUNDS)' TABLE='$(TABLE)' tests/bench/try/run
$(BUILD)/tests/bench/programs: tests/bench/try/programs.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) -std=gnu11 $(WARN) -pthread $(PLACE_CFLAGS) -o $@ $<

.PHONY: bench-sampled
bench-sampled: $(BUILD)/tests/bench/sampled
	@$(MAKE) --no-print-directory all
	@BUILD='$(abspath $(BUILD))' GIB='$(GIB)' LASTS='$(LASTS)' tests/bench/sampled/run
.PHONY: bench-sharing
bench-sharing: bench-programs
	@$(MAKE) --no-print-directory all
	@BUILD='$(abspath $(BUILD))' ONLY='$(ONLY)' REPEAT='$(REPEAT)' tests/bench/sampled/sharing
$(BUILD)/tests/bench/sampled: tests/bench/sampled/load.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) -std=gnu11 -g $(CFLAGS) $(WARN) -pthread -o $@ $<

bench-trace:
	@tools/install-deps bench-trace
	@$(MAKE) --no-print-directory all $(EMITTERS)
	@BUILD='$(abspath $(BUILD))' QUICK='$(QUICK)' REPEAT='$(REPEAT)' \
		tests/bench/trace/run

bench-objects:
	@$(MAKE) --no-print-directory all $(BUILD)/tests/bench/make-trace
	@BUILD='$(abspath $(BUILD))' QUICK='$(QUICK)' tests/bench/objects/run

bench-summary:
	@$(MAKE) --no-print-directory all $(BUILD)/tests/bench/make-trace
	@BUILD='$(abspath $(BUILD))' QUICK='$(QUICK)' tests/bench/summary/run

bench-export:
	@$(MAKE) --no-print-directory all $(BUILD)/tests/bench/make-trace
	@BUILD='$(abspath $(BUILD))' QUICK='$(QUICK)' ONLY='$(ONLY)' REPEAT='$(REPEAT)' \
		tests/bench/export/run

bench-advice:
	$(if $(PAGES),@tools/install-deps bench-report)
	$(if $(PAGES),@cd tests/web && npm ci --no-audit --no-fund >/dev/null)
	@$(MAKE) --no-print-directory all
	@BUILD='$(abspath $(BUILD))' ONLY='$(ONLY)' REPEAT='$(REPEAT)' PAGES='$(PAGES)' \
		tests/bench/advice/run

$(BUILD)/tests/bench/make-trace: tests/bench/objects/make-trace.c $(PARTS)
	$(with_parts)

$(BUILD)/tests/bench/make-counts: tests/bench/objects/make-counts.c $(PARTS)
	$(with_parts)

bench-overview: $(BUILD)/tests/bench/overview
	@for noise in 0 1; do for objects in 2 24; do \
		$< $$objects $$noise || exit 1; done; done

bench-unwind: $(BUILD)/tests/bench/unwind
	@$<

$(BUILD)/tests/bench/overview $(BUILD)/tests/bench/unwind: \
		$(BUILD)/tests/bench/%: tests/bench/%.c $(PARTS)
	$(with_parts)

bench-alloc:
	@tools/install-deps bench
	@$(MAKE) --no-print-directory all $(BUILD)/tests/bench/pair
	@BUILD='$(abspath $(BUILD))' QUICK='$(QUICK)' REPEAT='$(REPEAT)' \
		tests/bench/alloc/run

$(BUILD)/tests/bench/pair: tests/bench/alloc/pair.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(WARN) -fno-builtin -o $@ $< \
		-pthread

EMIT = @mkdir -p $(@D) && $(CC) -std=gnu11 $(CPPFLAGS) $(CFLAGS) $(WARN) \
	-o $@ tests/bench/trace/emit.c
$(BUILD)/tests/bench/emit-moca: tests/bench/trace/emit.c include/moca/trace.h \
		$(BUILD)/libmocatrace.so
	$(EMIT) -L$(BUILD) -lmocatrace -Wl,-rpath,'$$ORIGIN/../..' -pthread
# The macros of the other tracer are not held to our warnings.
$(BUILD)/tests/bench/emit-lttng: tests/bench/trace/emit.c \
		tests/bench/trace/lttng-events.h
	$(EMIT) -w -DUSE_LTTNG -llttng-ust -llttng-ust-common -ldl -pthread

# Programs whose cost is not in faults; tests/cli/test-cost knows what they do.
$(BUILD)/tests/bench/cost-load: tests/bench/cost/load.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(WARN) -fno-builtin -o $@ $< \
		-pthread

.PHONY: bench-cost
bench-cost:
	@tools/install-deps bench
	@$(MAKE) --no-print-directory all bench-programs \
		$(BUILD)/tests/bench/cost-load
	@BUILD='$(abspath $(BUILD))' QUICK='$(QUICK)' ONLY='$(ONLY)' REPEAT='$(REPEAT)' \
		tests/bench/cost/run

$(BUILD)/tests/bench/%: tests/bench/kernels/%.c tests/bench/kernels/kernel.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(WARN) -fopenmp -o $@ $< -lm

$(FORTRAN_KERNELS): $(BUILD)/tests/bench/%: tests/bench/kernels/solve.f90
	@mkdir -p $(@D)/modules/$*
	gfortran -O2 $(if $(filter %-plain,$*),-fno-backtrace) -J$(@D)/modules/$* -o $@ $<

bench-apps:
	@tools/install-deps bench-apps
	@$(MAKE) --no-print-directory all
	@BUILD='$(abspath $(BUILD))' ONLY='$(ONLY)' REPEAT='$(REPEAT)' tests/bench/apps/run

.PHONY: bench-report
bench-report:
	@tools/install-deps bench-report
	@$(MAKE) --no-print-directory all $(BUILD)/tests/bench/make-trace \
		$(BUILD)/tests/bench/make-counts
	@BUILD='$(abspath $(BUILD))' TOP='$(CURDIR)' QUICK='$(QUICK)' \
		tests/bench/report/run

.PHONY: bench-rate
bench-rate:
	@$(MAKE) --no-print-directory all $(BUILD)/tests/bench/rate-sources \
		$(BUILD)/tests/rate/load
	@BUILD='$(abspath $(BUILD))' QUICK='$(QUICK)' REPEAT='$(REPEAT)' \
		tests/bench/rate/run

$(BUILD)/tests/bench/rate-sources: tests/bench/rate/sources.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(WARN) -o $@ $< -pthread

.PHONY: bench-exact
bench-exact:
	@tools/install-deps bench-exact
	@$(MAKE) --no-print-directory all bench-programs $(BUILD)/tests/exact/granules
	@BUILD='$(abspath $(BUILD))' QUICK='$(QUICK)' ONLY='$(ONLY)' REPEAT='$(REPEAT)' \
		tests/bench/exact/run

.PHONY: bench-exact-handlers
bench-exact-handlers:
	@tools/install-deps bench-exact
	@$(MAKE) --no-print-directory all $(FORTRAN_KERNELS) $(BUILD)/tests/exact/granules
	@BUILD='$(abspath $(BUILD))' QUICK='$(QUICK)' ONLY='$(ONLY)' REPEAT='$(REPEAT)' \
		tests/bench/exact/handlers

.PHONY: bench-exact-lottery
bench-exact-lottery:
	@tools/install-deps bench-exact
	@$(MAKE) --no-print-directory all $(FORTRAN_KERNELS) $(BUILD)/tests/exact/granules
	@BUILD='$(abspath $(BUILD))' QUICK='$(QUICK)' ONLY='$(ONLY)' RUNS='$(RUNS)' \
		tests/bench/exact/lottery -v

.PHONY: bench-exact-told
bench-exact-told: $(BUILD)/tests/bench/strings
	@$(MAKE) --no-print-directory all $(BUILD)/tests/exact/granules
	@BUILD='$(abspath $(BUILD))' ONLY='$(ONLY)' REPEAT='$(REPEAT)' \
		tests/bench/exact/told

.PHONY: bench-exact-loops
bench-exact-loops: $(BUILD)/tests/bench/loops-scalar $(BUILD)/tests/bench/loops-vector
	@$(MAKE) --no-print-directory all $(BUILD)/tests/exact/granules
	@BUILD='$(abspath $(BUILD))' QUICK='$(QUICK)' ONLY='$(ONLY)' REPEAT='$(REPEAT)' \
		tests/bench/exact/loops

$(BUILD)/tests/bench/strings: tests/bench/exact/strings.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(WARN) -o $@ $<
$(BUILD)/tests/bench/loops-scalar: LOOP_FLAGS = -O2 -fno-tree-vectorize
$(BUILD)/tests/bench/loops-vector: LOOP_FLAGS = -O3 -mavx2
$(BUILD)/tests/bench/loops-%: tests/bench/exact/loops.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(WARN) $(LOOP_FLAGS) -o $@ $<

.PHONY: bench-ranks
bench-ranks: $(BUILD)/tests/bench/stencil
	@$(MAKE) --no-print-directory all
	@BUILD='$(abspath $(BUILD))' tests/bench/ranks $(or $(RANKS),2) $(or $(REPEAT),7)

.PHONY: bench-reduce
bench-reduce:
	@$(MAKE) --no-print-directory all $(BUILD)/tests/make-job
	@BUILD='$(abspath $(BUILD))' tests/bench/reduce $(or $(RANKS),1000)
