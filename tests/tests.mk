# SPDX-License-Identifier: GPL-2.0-or-later
# make check and make stress; tests/run says what a test is.
TEST_DIR := $(BUILD)/tests
TEST_CPPFLAGS := $(CPPFLAGS) -Itests
TEST_CFLAGS := -std=gnu11 $(CFLAGS) $(WARN) -fno-strict-aliasing -pthread
PARTS_LIBS := $(MOCA_LIBS) -pthread
# Of all parts of the tool a test has those that it uses.
PARTS := $(TEST_DIR)/parts.a
$(PARTS): $(PARTS_OBJ)
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcsT $@ $^
with_parts = @mkdir -p $(@D) && $(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -MMD -MP \
	-MF $@.d -o $@ $< $(PARTS) $(LDFLAGS) $(PARTS_LIBS)

UNIT_TESTS := $(patsubst tests/%.c,$(TEST_DIR)/%, \
	$(wildcard tests/unit/test-*.c))
EXAMPLES := $(patsubst %.c,$(TEST_DIR)/%,$(wildcard examples/*.c))
CASE_PROGRAMS := memory files signals processes forks threads kernel \
	corpus-memory corpus-over corpus-process corpus-clone corpus-kernel corpus-first \
	takeover waits stops kept heap sealed
SANITIZERS := asan lsan tsan ubsan
VARIANTS := memory-static processes-static threads-static \
	memory-static-pie memory-nopie processes-nopie \
	heap-static heap-nopie
TEST_PROGRAMS := $(addprefix $(TEST_DIR)/programs/, \
	$(CASE_PROGRAMS) $(VARIANTS) omp fork-held frozen profile zappers blind $(SANITIZERS)) \
	$(patsubst tests/%.c,$(TEST_DIR)/%,$(wildcard tests/coverage/*.c) \
	$(wildcard tests/stress/*.c))
MAKE_TRACE := $(if $(wildcard tests/cli/make-trace.c),$(TEST_DIR)/make-trace)
MAKE_OBJECTS := $(TEST_DIR)/make-objects $(TEST_DIR)/make-exact $(TEST_DIR)/make-job
EXPORT_PROGRAMS := $(patsubst tests/%.c,$(TEST_DIR)/%, \
	$(wildcard tests/export/*.c))
FUZZER := $(patsubst tests/fuzz/%.c,$(TEST_DIR)/%, \
	$(wildcard tests/fuzz/fuzz-*.c))

# Programs that emit events, as users would build them; tests/trace/run.
M32 := $(shell echo 'int main(void) { return 0; }' | $(CC) -m32 -x c - \
	-o /dev/null 2>/dev/null && echo yes)
EMITTING := $(addprefix $(TEST_DIR)/trace/,verify writers writers-static life \
	incarnation fields plugin-0.so plugin-1.so plugin-static.so host $(if $(M32),writers-32))

# Programs that allocate; tests/alloc/run. What the compiler knows of malloc
# it would use to leave calls out.
ALLOCATING := $(addprefix $(TEST_DIR)/alloc/,calls early-malloc news left life thin unwind launch \
	tracing plugin-0.so plugin-1.so \
	plugin-cxx.so plugin-threads.so plugin-own.so calls-jemalloc calls-nopie)

# An agent for the tests of exact mode's collector.
EXACT_PROGRAMS := $(addprefix $(TEST_DIR)/exact/,stand-in rows limited)
$(TEST_DIR)/exact/stand-in: tests/exact/stand-in.c tests/exact/call.h \
		include/abi/exact-arena.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -std=gnu11 $(WARN) $(EXACT_AGENT_CFLAGS) \
		$(EXACT_AGENT_LDFLAGS) -o $@ $<
$(TEST_DIR)/exact/rows: tests/exact/rows.c $(BUILD)/libmoca.a
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -o $@ $< $(BUILD)/libmoca.a -lzstd
$(TEST_DIR)/exact/limited: tests/exact/limited.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -o $@ $<

# What counts moca cc's programs step by step.
CC_PROGRAMS := $(TEST_DIR)/cc/oracle.so
$(TEST_DIR)/cc/oracle.so: tests/cc/oracle.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -shared -fPIC -o $@ $< -lZydis

# What tests mount, they mount for themselves.
OWN_MOUNTS := $(TEST_DIR)/own-mounts
$(OWN_MOUNTS): tests/own-mounts.c tests/own-mounts.h
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -o $@ $<

# What stops moca where a test wants it; what it takes for a module of another version.
HALT := $(addprefix $(TEST_DIR)/cli/,halt.so other-module.so)
$(HALT): $(TEST_DIR)/cli/%.so: tests/cli/%.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -shared -fPIC -o $@ $<

# What makes moca's own calls fail, and what it records meanwhile.
FAULTS := $(addprefix $(TEST_DIR)/faults/,fail.so program exact-agent \
	libraries/moca)
$(TEST_DIR)/faults/fail.so: tests/faults/fail.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -shared -fPIC -static-libgcc -o $@ $<
$(TEST_DIR)/faults/exact-agent: tests/faults/exact-fail.c $(EXACT_AGENT_OBJ)
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) -std=gnu11 $(WARN) $(EXACT_AGENT_CFLAGS) \
		$(EXACT_AGENT_LDFLAGS) -Wl,--wrap=moca_exact_call -o $@ $^
# As moca finds them, beside itself.
LIBRARIES := $(TEST_DIR)/faults/libraries
$(LIBRARIES)/%-fail.o: tests/faults/library-fail.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -fPIC -fno-builtin \
		-fvisibility=hidden -DLIBRARY='"$*"' -c -o $@ $<
FAILING := -shared -pthread -Wl,-z,nodelete -Wl,-z,now \
	-Wl,--wrap=mmap,--wrap=open,--wrap=openat,--wrap=syscall
$(LIBRARIES)/libmocatrace.so: $(LIBRARIES)/trace-fail.o $(TRACE_OBJ)
	$(CC) $(FAILING) -Wl,-soname,libmocatrace.so.0 \
		-Wl,--version-script=agent/trace/libmocatrace.map -o $@ $^
	ln -sf libmocatrace.so $@.0
$(LIBRARIES)/libmoca-alloc.so: $(LIBRARIES)/alloc-fail.o $(ALLOC_OBJ) \
		$(LIBRARIES)/libmocatrace.so
	$(CC) $(FAILING) -Wl,-soname,libmoca-alloc.so -Wl,-rpath,'$$ORIGIN' \
		-Wl,--version-script=agent/alloc/libmoca-alloc.map -o $@ $^
$(LIBRARIES)/moca: $(BUILD)/moca $(LIBRARIES)/libmoca-alloc.so
	ln -f $< $@
$(TEST_DIR)/faults/program: tests/faults/program.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -o $@ $<

# The ring alone, both sides in one program.
STORMS := $(addprefix $(TEST_DIR)/trace/,ring-storm ring-storm-tsan \
	$(if $(M32),ring-storm-32))
RING_PARTS := lib/ring/producer.c lib/ring/consumer.c
RING_DEPS := $(RING_PARTS) $(wildcard lib/ring/*.h)

CLI_TESTS := $(sort $(wildcard tests/cli/*.sh tests/cli/test-*))
# tests/run begins with those of tests/seconds, the longest first.
SCRIPT_TESTS := $(wildcard tests/objects/run tests/programs/full-disk \
	tests/house/runner tests/fuzz/run tests/objects/identity \
	tests/exact/signals tests/exact/sequences tests/exact/collector \
	tests/programs/fork-memory tests/house/run tests/programs/terminal \
	tests/house/format tests/house/names tests/house/arm64 tests/exact/native tests/exact/begin tests/programs/refusals \
	tests/programs/preload tests/programs/stops tests/programs/ranks tests/programs/cgroup tests/way/run tests/alloc/detours \
	tests/coverage/code tests/coverage/nodes tests/coverage/samples tests/stacks/run tests/stacks/jit-names \
	tests/python/run tests/python/layout tests/top/run tests/installed/tree tests/installed/one-file tests/place/run \
	tests/programs/corpus tests/model/run tests/programs/run \
	tests/programs/certificate tests/programs/corners tests/cc/run \
	tests/coverage/run tests/trace/run tests/trace/storm tests/alloc/run \
	tests/advice/run tests/export/run tests/export/tables tests/export/stacks \
	tests/export/filters tests/export/parquet tests/export/perfetto tests/export/framesoc tests/export/tabarnac tests/export/howto tests/import/run tests/export/callgrind tests/export/dhat tests/rate/run tests/web/run tests/exact/counts tests/exact/life tests/exact/lackey tests/exact/elements tests/exact/steady tests/exact/chart tests/export/paje \
	tests/exact/programs tests/vm/run tests/faults/run tests/stress/run)

# Allocators that are found by their code.
OWN_MALLOC := own-malloc-own own-malloc-jemalloc own-malloc-tcmalloc \
	own-malloc-static own-malloc-static-pie own-malloc-static-own
DETOURED := $(addprefix $(TEST_DIR)/alloc/,detour-targets \
	detour-targets-nopie detour-cost overlap no-exec thread.so gs-static \
	$(OWN_MALLOC))

WEB_PROGRAMS := $(TEST_DIR)/web/make-traces $(TEST_DIR)/web/make-finding \
	$(TEST_DIR)/web/workload $(TEST_DIR)/web/live \
	$(BUILD)/tests/bench/make-trace

WAYS := $(TEST_DIR)/way/present

# Programs whose sites a plan names; tests/place/run.
PLACED := $(addprefix $(TEST_DIR)/place/,load load-now load-no-plt load-nopie library.so news tried spread)

include tests/exact/exact.mk
include kmod/kmod.mk

.PHONY: test-programs check stress
test-programs: $(UNIT_TESTS) $(BUILD)/tests/bench/cost-load $(EXAMPLES) $(TEST_PROGRAMS) $(MAKE_TRACE) \
	$(MAKE_OBJECTS) $(EXPORT_PROGRAMS) $(FUZZER) $(EMITTING) $(STORMS) \
	$(ALLOCATING) $(DETOURED) $(WEB_PROGRAMS) $(EXACT_PROGRAMS) \
	$(EXACT_WORKLOADS) $(WAYS) $(CC_PROGRAMS) $(FAULTS) $(OWN_MOUNTS) $(HALT) $(PLACED) \
	$(TEST_DIR)/rate/load $(TEST_DIR)/top/load $(TEST_DIR)/stacks/callers \
	$(TEST_DIR)/stacks/allocs $(TEST_DIR)/stacks/jit \
	$(BUILD)/vm/init $(VM_PROGRAMS)

check:
	@tools/install-deps check
	@$(MAKE) --no-print-directory -s $(PARALLEL) all test-programs
	@BUILD='$(abspath $(BUILD))' tests/run $(UNIT_TESTS) $(SCRIPT_TESTS) $(CLI_TESTS)

# The same, and what needs large packages or much time: all of the corpus.
.PHONY: check-long
check-long:
	@tools/install-deps check-long
	@$(MAKE) --no-print-directory all test-programs
	@BUILD='$(abspath $(BUILD))' CORPUS=long FAULTS=all SPREAD=all LOADS=50 NATIVE=1 \
		KERNELS='6.1 6.12 6.1-rt 6.12-rt' \
		FUZZ_SECONDS=60 tests/run --timeout 7200 \
		--total 36000 \
		$(UNIT_TESTS) $(SCRIPT_TESTS) $(CLI_TESTS) tests/house/recipes \
		tests/programs/slurm tests/installed/roots

# A million random sequences of each of three pools, in exact mode.
.PHONY: check-exact-long
check-exact-long:
	@tools/install-deps check
	@$(MAKE) --no-print-directory all test-programs
	@BUILD='$(abspath $(BUILD))' COUNT=1000000 SEEDS='1 2 3' tests/run --timeout 7200 \
		--total 7200 tests/exact/sequences

# The same kills as in check, at ten times as many moments.
stress:
	@tools/install-deps check
	@$(MAKE) --no-print-directory all test-programs
	@BUILD='$(abspath $(BUILD))' KILLS=200 tests/run --timeout 7200 \
		--total 7200 tests/stress/run

$(TEST_DIR)/unit/%: tests/unit/%.c $(PARTS)
	$(with_parts)

# What runs inside programs is no part of the tool.
RELOCATE_PARTS := $(addprefix lib/code/,link.c zydis.c relocate.c symfile.c)
$(TEST_DIR)/unit/test-relocate: tests/unit/test-relocate.c $(RELOCATE_PARTS) \
		$(wildcard lib/code/*.h)
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -o $@ $< $(RELOCATE_PARTS)

$(TEST_DIR)/unit/test-symfile: tests/unit/test-symfile.c \
		lib/code/symfile.c lib/code/symfile.h
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -o $@ $< lib/code/symfile.c

WALK_PARTS := agent/alloc/stack.c agent/alloc/unwind.c agent/alloc/cfi.c \
	lib/code/cfi.c
$(TEST_DIR)/unit/test-walks: tests/unit/test-walks.c $(WALK_PARTS) \
		$(wildcard agent/alloc/*.h)
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -ffunction-sections \
		-Wl,--gc-sections -o $@ $< $(WALK_PARTS)

# A way of recording of its own, beside ours.
$(TEST_DIR)/way/%: tests/way/%.c $(PARTS)
	$(with_parts)

$(TEST_DIR)/make-%: tests/cli/make-%.c $(PARTS)
	$(with_parts)

$(TEST_DIR)/web/make-%: tests/web/make-%.c $(PARTS)
	$(with_parts)
$(TEST_DIR)/web/workload $(TEST_DIR)/web/live: $(TEST_DIR)/web/%: tests/web/%.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -fno-builtin -o $@ $<

$(TEST_DIR)/export/%: tests/export/%.c $(PARTS)
	$(with_parts)

# The examples see only what is installed: the headers and the library.
$(TEST_DIR)/examples/%: examples/%.c $(BUILD)/libmoca.so \
		$(BUILD)/libmocatrace.so
	@mkdir -p $(@D)
	$(CC) -Iinclude $(CFLAGS) $(WARN) -o $@ $< -L$(BUILD) -lmoca \
		-lmocatrace -pthread -Wl,-rpath,'$$ORIGIN/../..'

# The reader's sources once more, with the sanitizers.
$(TEST_DIR)/fuzz-reader: tests/fuzz/fuzz-reader.c $(FORMAT_SRC) \
		$(wildcard lib/format/*.h include/moca/*.h)
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -O1 \
		-fsanitize=address,undefined -fno-sanitize-recover=all \
		-fno-omit-frame-pointer -o $@ $(filter %.c,$^) \
		$(LDFLAGS) -lzstd -lm -pthread

$(TEST_DIR)/fuzz-ring: tests/fuzz/fuzz-ring.c $(RING_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -O1 \
		-fsanitize=address,undefined -fno-sanitize-recover=all \
		-fno-omit-frame-pointer -o $@ $< $(RING_PARTS)

PROGRAM_DEPS := tests/programs/case.c tests/programs/case.h
program = @mkdir -p $(@D) && $(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) \
	$(1) -o $@ $< tests/programs/case.c
$(TEST_DIR)/programs/%-static: tests/programs/%.c $(PROGRAM_DEPS)
	$(call program,-static)
$(TEST_DIR)/programs/%-static-pie: tests/programs/%.c $(PROGRAM_DEPS)
	$(call program,-static-pie -fPIE)
$(TEST_DIR)/programs/%-nopie: tests/programs/%.c $(PROGRAM_DEPS)
	$(call program,-no-pie -fno-pie)
$(TEST_DIR)/programs/blind $(TEST_DIR)/programs/profile: \
		$(TEST_DIR)/programs/%: tests/programs/%.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -o $@ $<
sanitized = @mkdir -p $(@D) && $(CC) -O1 -g -w -pthread -fsanitize=$(1) -o $@ $<
$(TEST_DIR)/programs/asan: tests/programs/sanitized.c
	$(call sanitized,address)
$(TEST_DIR)/programs/lsan: tests/programs/sanitized.c
	$(call sanitized,leak)
$(TEST_DIR)/programs/tsan: tests/programs/sanitized.c
	$(call sanitized,thread)
$(TEST_DIR)/programs/ubsan: tests/programs/sanitized.c
	$(call sanitized,undefined)
$(TEST_DIR)/programs/omp: tests/programs/omp.c $(PROGRAM_DEPS)
	$(call program,-fopenmp)
$(TEST_DIR)/programs/%: tests/programs/%.c $(PROGRAM_DEPS)
	$(call program,)

storm = @mkdir -p $(@D) && $(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -o $@ $< \
	$(RING_PARTS)
$(TEST_DIR)/trace/ring-storm: tests/trace/ring-storm.c $(RING_DEPS)
	$(storm)
$(TEST_DIR)/trace/ring-storm-32: tests/trace/ring-storm.c $(RING_DEPS)
	$(storm) -m32
# It knows no fences; what they are for, only the others test.
$(TEST_DIR)/trace/ring-storm-tsan: tests/trace/ring-storm.c $(RING_DEPS)
	$(storm) -fsanitize=thread -Wno-tsan

EMIT_DEPS := tests/trace/seq.h include/moca/trace.h $(BUILD)/libmocatrace.so \
	$(BUILD)/libmocatrace.a
emitting = @mkdir -p $(@D) && $(CC) -Iinclude -D_GNU_SOURCE $(TEST_CFLAGS) \
	-o $@ $<
WITH_SO := -L$(BUILD) -lmocatrace -Wl,-rpath,'$$ORIGIN/../..' -pthread
$(TEST_DIR)/trace/verify: tests/trace/verify.c $(BUILD)/libmoca.so $(EMIT_DEPS)
	$(emitting) -L$(BUILD) -lmoca $(WITH_SO)
$(TEST_DIR)/trace/writers-static: tests/trace/writers.c $(EMIT_DEPS)
	$(emitting) -static $(BUILD)/libmocatrace.a -pthread
$(TEST_DIR)/trace/writers-32: tests/trace/writers.c $(EMIT_DEPS)
	@$(MAKE) --no-print-directory lib32
	$(emitting) -m32 $(BUILD)/lib32/libmocatrace.a -pthread
$(TEST_DIR)/trace/incarnation: tests/trace/incarnation.c $(EMIT_DEPS)
	$(emitting) -I. $(BUILD)/libmocatrace.a -pthread
# It brings libmocatrace, and takes it away again.
$(TEST_DIR)/trace/plugin-static.so: tests/trace/plugin.c $(EMIT_DEPS)
	$(emitting) -shared -fPIC -DPLUGIN=0 $(BUILD)/libmocatrace.a -pthread
$(TEST_DIR)/trace/host: tests/trace/host.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CFLAGS) -o $@ $< -pthread
$(TEST_DIR)/trace/plugin-%.so: tests/trace/plugin.c $(EMIT_DEPS)
	$(emitting) -shared -fPIC -DPLUGIN=$* $(WITH_SO)
$(TEST_DIR)/trace/fields: tests/trace/fields.cc $(EMIT_DEPS)
	@mkdir -p $(@D)
	$(CXX) -std=c++11 -Wall -Wextra -Wpedantic -Iinclude $(CFLAGS) -o $@ $< \
		$(BUILD)/libmocatrace.a -pthread
$(TEST_DIR)/trace/%: tests/trace/%.c $(EMIT_DEPS)
	$(emitting) $(WITH_SO)

ALLOC_CXX = @mkdir -p $(@D) && $(CXX) -O2 -g -Wall -Wextra -o $@ $<
$(TEST_DIR)/alloc/detour-targets: tests/alloc/detour-targets.cc
	$(ALLOC_CXX)
$(TEST_DIR)/alloc/detour-targets-nopie: tests/alloc/detour-targets.cc
	$(ALLOC_CXX) -no-pie -fno-pie
$(TEST_DIR)/alloc/own-malloc-own: tests/alloc/own-malloc.cc
	$(ALLOC_CXX) -DOWN -fno-builtin -pthread
$(TEST_DIR)/alloc/own-malloc-static: tests/alloc/own-malloc.cc
	$(ALLOC_CXX) -static -pthread
$(TEST_DIR)/alloc/own-malloc-static-pie: tests/alloc/own-malloc.cc
	$(ALLOC_CXX) -static-pie -fPIE -pthread
$(TEST_DIR)/alloc/own-malloc-static-own: tests/alloc/own-malloc.cc
	$(ALLOC_CXX) -DOWN -fno-builtin -static -no-pie -fno-pie -pthread
$(TEST_DIR)/alloc/own-malloc-jemalloc: tests/alloc/own-malloc.cc
	$(ALLOC_CXX) $(shell $(CC) -print-file-name=libjemalloc.a) -lm -pthread
$(TEST_DIR)/alloc/own-malloc-tcmalloc: tests/alloc/own-malloc.cc
	$(ALLOC_CXX) $(shell $(CC) -print-file-name=libtcmalloc_minimal.a) \
		-pthread
$(TEST_DIR)/alloc/thread.so: tests/alloc/thread.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CFLAGS) -shared -fPIC -o $@ $<
$(TEST_DIR)/alloc/gs-static: tests/alloc/gs.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -static -o $@ $<
$(TEST_DIR)/alloc/no-exec: tests/alloc/no-exec.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -o $@ $<
$(TEST_DIR)/alloc/detour-cost: tests/alloc/detour-cost.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -o $@ $<

$(TEST_DIR)/alloc/news $(TEST_DIR)/alloc/left: $(TEST_DIR)/alloc/%: tests/alloc/%.cc
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -Wall -Wextra $(CFLAGS) -fno-builtin -o $@ $<
$(TEST_DIR)/alloc/plugin-0.so: tests/alloc/plugin.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CFLAGS) -fno-builtin -shared -fPIC -o $@ $<
$(TEST_DIR)/alloc/plugin-1.so: tests/alloc/plugin.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CFLAGS) -fno-builtin -shared -fPIC -DPAD=200 -o $@ $<
$(TEST_DIR)/alloc/plugin-own.so: tests/alloc/plugin-own.cc
	@mkdir -p $(@D)
	$(CXX) -Wall -Wextra $(CFLAGS) -shared -fPIC -static-libstdc++ \
		-static-libgcc -o $@ $<
$(TEST_DIR)/alloc/plugin-%.so: tests/alloc/plugin-%.cc
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -Wall -Wextra $(CFLAGS) -fno-builtin -shared -fPIC \
		-o $@ $< -pthread
$(TEST_DIR)/alloc/calls-jemalloc: tests/alloc/calls.c include/abi/alloc-events.h
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -fno-builtin -o $@ $< -ljemalloc
$(TEST_DIR)/alloc/%-nopie: tests/alloc/%.c include/abi/alloc-events.h
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -fno-builtin -no-pie -fno-pie \
		-o $@ $<
$(TEST_DIR)/alloc/tracing: tests/alloc/tracing.c $(BUILD)/libmocatrace.a
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -o $@ $^ -pthread
$(TEST_DIR)/alloc/%: tests/alloc/%.c include/abi/alloc-events.h
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -fno-builtin -o $@ $<

# Without frame pointers, and each call one: stacks are known.
$(TEST_DIR)/stacks/%: tests/stacks/%.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -O1 -fomit-frame-pointer \
		-fno-optimize-sibling-calls -o $@ $<
$(TEST_DIR)/top/%: tests/top/%.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -pthread -o $@ $<
# Each call stays where it is, and is a call.
PLACE_CFLAGS := -O2 -g -fno-builtin -fno-optimize-sibling-calls -fno-ipa-icf
placed = @mkdir -p $(@D) && $(CC) $(TEST_CPPFLAGS) -std=gnu11 $(WARN) -pthread $(PLACE_CFLAGS) \
	$(1) -o $@ $<
$(TEST_DIR)/place/load: tests/place/load.c
	$(call placed,-Wl$(comma)-z$(comma)lazy)
$(TEST_DIR)/place/load-now: tests/place/load.c
	$(call placed,-Wl$(comma)-z$(comma)relro$(comma)-z$(comma)now)
$(TEST_DIR)/place/load-no-plt: tests/place/load.c
	$(call placed,-fno-plt)
$(TEST_DIR)/place/load-nopie: tests/place/load.c
	$(call placed,-no-pie -fno-pie -Wl$(comma)--build-id=none)
$(TEST_DIR)/place/library.so: tests/place/library.c
	$(call placed,-shared -fPIC)
$(TEST_DIR)/place/spread: tests/place/spread.c tests/vm/each-node.h
	$(call placed,)
$(TEST_DIR)/place/tried: tests/place/tried.c
	$(call placed,)
$(TEST_DIR)/place/news: tests/place/news.cc
	@mkdir -p $(@D)
	$(CXX) -Wall -Wextra $(PLACE_CFLAGS) -o $@ $<
$(TEST_DIR)/rate/%: tests/rate/%.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -o $@ $<
$(TEST_DIR)/coverage/%: tests/coverage/%.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -o $@ $<
$(TEST_DIR)/stress/%: tests/stress/%.c
	@mkdir -p $(@D)
	$(CC) $(TEST_CPPFLAGS) $(TEST_CFLAGS) -o $@ $<
