# SPDX-License-Identifier: GPL-2.0-or-later
#
# make          build/moca, libmoca, the test programs' prerequisites
# make demo     install what is missing, build, record a real program, show it
# make check    install what is missing, build, run every test
# make check-long  the same with what needs large packages
# make bench    the figures of doc/costs.md and NEWS
# make dist     build/dist/moca-VERSION.tar.gz of the commit, with its checksum
# make deb      Debian packages of the commit, in build/deb
# make static   build/one-file/moca, which needs no library where it runs
# make kmod     the kernel module; kmod-arm64, vm-debug, check-kasan: kmod/vm/README.md
# make ARCH=arm64   the same for arm64, into build/arm64; on x86-64 by a cross compiler
# make install  PREFIX=/usr/local DESTDIR= LIBDIR=lib PYTHONDIR=; make uninstall removes that
VERSION := 0.2.0
PREFIX ?= /usr/local
# Where the linker finds libraries, below PREFIX.
LIBDIR ?= lib
# Where Python finds packages, below PREFIX: in /usr/local by its version.
PYTHONDIR ?= lib/$(if $(filter /usr/local,$(PREFIX)),$(or $(shell python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])' 2>/dev/null),python3),python3)/dist-packages
# What it is for, x86_64 or arm64, and whether a cross compiler makes it.
ARCH ?= $(shell uname -m)
MACHINE := $(if $(filter arm64 aarch64,$(ARCH)),arm64,x86_64)
CROSS := $(if $(filter-out arm64_aarch64 x86_64_x86_64,$(MACHINE)_$(shell uname -m)),yes)
BUILD ?= build$(if $(CROSS),/$(MACHINE))
# One name for one folder: rules of dependencies hold for the name that they were
# written with, and objects of another one would stay as they are.
override BUILD := $(patsubst $(CURDIR)/%,%,$(abspath $(BUILD)))
ifneq ($(and $(CROSS),$(filter-out clean,$(or $(MAKECMDGOALS),all))),)
SYSROOT := $(abspath $(BUILD)/sysroot)
CROSS_PREFIX := $(shell tools/arm64 '$(BUILD)')
ifeq ($(CROSS_PREFIX),)
$(error there is no compiler for $(MACHINE): see above)
endif
CC := $(CROSS_PREFIX)gcc
AR := $(CROSS_PREFIX)ar
# How a program of that machine is run on this one.
RUN := qemu-aarch64 -L $(SYSROOT)
endif
CC ?= gcc
CXX ?= g++
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wno-unused-parameter -Wmissing-prototypes \
	-Wstrict-prototypes -Wshadow -Wvla -Wformat=2
CPPFLAGS += -I. -Iinclude -D_GNU_SOURCE -DMOCA_VERSION='"$(VERSION)"'
# What a trace says is the same on each machine, to the last digit and byte.
MACHINE_CFLAGS := $(if $(filter arm64,$(MACHINE)),-fsigned-char -ffp-contract=off)
ALL_CFLAGS := -std=gnu11 $(CFLAGS) $(WARN) -fno-strict-aliasing -pthread \
	$(MACHINE_CFLAGS) -MMD -MP

# What works on x86-64 alone so far; what stands in its place elsewhere has a
# name that ends in -arm64. doc/design/arm64.md
X86_ONLY := lib/x86/% lib/code/cfi.c lib/code/relocate.c lib/code/zydis.c \
	collect/exact/% collect/native/% compile/% cli/cmd-as.c agent/place/dlopen.S \
	$(addprefix collect/perf/,instruction.c unwind.c) \
	$(addprefix collect/ptrace/,refault.c frames.c inject.c static-agent.S stub.S) \
	$(addprefix agent/alloc/,cfi.c custom.c hook.c install.c patch.c thunk.S unwind.c)
ifeq ($(MACHINE),arm64)
ours = $(filter-out $(X86_ONLY),$(wildcard $(1)))
else
ours = $(filter-out %-arm64.c %-arm64.S,$(wildcard $(1)))
endif

# libmoca: with what lib/format uses of lib/base. The recorder's quota is no part
# of it, nor of its license.
FORMAT_SRC := $(filter-out lib/format/quota.c,$(wildcard lib/format/*.c)) \
	lib/base/strings.c lib/base/table.c
BASE_SRC := $(call ours,lib/base/*.c lib/code/*.c lib/x86/*.c)
CLI_SRC := $(call ours,cli/*.c doctor/*.c lib/cmdline/*.c lib/text/*.c) lib/format/quota.c
# Each way of seeing is a folder of it.
COLLECT_SRC := $(call ours,collect/*/*.c collect/*/*.S)
EXPORT_SRC := $(wildcard export/*.c)
IMPORT_SRC := $(wildcard import/*.c)
QUERY_SRC := $(wildcard query/*.c)
ANALYSIS_SRC := $(wildcard analysis/*.c analysis/*/*.c)
COMPILE_SRC := $(call ours,compile/*.c)
TRY_SRC := $(wildcard try/*.c)
PLACE_SRC := $(wildcard place/*.c)
REPORT_SRC := $(wildcard report/*.c report/html/*.c) $(wildcard report/html/*.S)

obj = $(patsubst %,$(BUILD)/obj/%.o,$(basename $(1)))
LIB_OBJ := $(call obj,$(FORMAT_SRC))
$(call obj,cli/record-own.c): CPPFLAGS += '-DMOCA_LIBDIR="$(LIBDIR)"'
# libsupc++: only for its demangler.
MOCA_LIBS := -lZydis -lzstd -lz -lsqlite3 -lhwloc -lm -ldw -lelf -lsupc++
# The tracer: what programs link with, and what its collector shares with them.
RING_SRC := $(wildcard lib/ring/*.c)
MOCA_OBJ := $(sort $(LIB_OBJ) $(call obj,$(BASE_SRC) $(RING_SRC) $(CLI_SRC) \
	$(COLLECT_SRC) $(EXPORT_SRC) $(IMPORT_SRC) $(QUERY_SRC) $(ANALYSIS_SRC) $(REPORT_SRC) \
	$(COMPILE_SRC) $(TRY_SRC) $(PLACE_SRC)))
TRACE_SRC := $(wildcard agent/trace/*.c) \
	$(addprefix lib/ring/,producer.c registry.c filter.c describe.c)
TRACE_OBJ := $(call obj,$(TRACE_SRC))
# What `moca record` preloads: allocations.
ALLOC_SRC := $(call ours,agent/alloc/*.c agent/alloc/*.S lib/code/*.c)
ALLOC_OBJ := $(call obj,$(ALLOC_SRC))
# What `moca place` preloads: a plan for the program's memory.
PLACE_AGENT_OBJ := $(call obj,$(call ours,agent/place/*.c agent/place/*.S))
TRACE_OBJ32 := $(patsubst $(BUILD)/obj/%,$(BUILD)/obj32/%,$(TRACE_OBJ))
# More flags for what is of the tool alone (debian/rules): what runs inside other
# programs is compiled as it was tested.
HARDENING ?=
ifneq ($(HARDENING),)
# private: what these are made of may be an agent.
$(filter-out $(TRACE_OBJ) $(ALLOC_OBJ),$(MOCA_OBJ)): private ALL_CFLAGS += $(HARDENING)
endif
# All but main(), for the tests that link against the tool's own parts.
PARTS_OBJ := $(filter-out $(BUILD)/obj/cli/moca.o,$(MOCA_OBJ))

# As many jobs as CPUs, unless make was told how many: for make demo and check.
PARALLEL := $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

.DEFAULT_GOAL := all
ifeq ($(MACHINE),x86_64)
include agent/count/count.mk
endif

# For the shells, made of the tables of options.
COMPLETIONS := $(addprefix $(BUILD)/completions/,moca.bash _moca moca.fish)
completion = @mkdir -p $(@D) && $(RUN) $(BUILD)/moca completion $(1) >$@.new && mv $@.new $@
$(BUILD)/completions/moca.bash: $(BUILD)/moca
	$(call completion,bash)
$(BUILD)/completions/_moca: $(BUILD)/moca
	$(call completion,zsh)
$(BUILD)/completions/moca.fish: $(BUILD)/moca
	$(call completion,fish)

.PHONY: all demo check bench install uninstall clean deps
all: $(BUILD)/moca $(BUILD)/libmoca.a $(BUILD)/libmoca.so \
	$(BUILD)/libmocatrace.a $(BUILD)/libmocatrace.so \
	$(BUILD)/libmoca-alloc.so $(BUILD)/libmoca-place.so $(CC_FILES) $(COMPLETIONS)

$(BUILD)/moca: $(MOCA_OBJ)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ $(MOCA_LIBS)

$(BUILD)/libmoca.a: $(LIB_OBJ)
	rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/libmoca.so: $(LIB_OBJ) lib/format/libmoca.map
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libmoca.so.0 \
		-Wl,--version-script=lib/format/libmoca.map \
		-o $@ $(LIB_OBJ) -lzstd
	ln -sf libmoca.so $(BUILD)/libmoca.so.0

$(BUILD)/libmocatrace.a: $(TRACE_OBJ)
	rm -f $@
	$(AR) rcs $@ $^

# Each segment is a stop of each program that is executed below moca record.
FEW_SEGMENTS := -Wl,-z,noseparate-code

$(BUILD)/libmocatrace.so: $(TRACE_OBJ) agent/trace/libmocatrace.map
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -pthread \
		-Wl,-soname,libmocatrace.so.0 -Wl,-z,nodelete $(FEW_SEGMENTS) \
		-Wl,--version-script=agent/trace/libmocatrace.map \
		-o $@ $(TRACE_OBJ)
	ln -sf libmocatrace.so $(BUILD)/libmocatrace.so.0

# In a library: as quick as in the program itself, and without calls.
$(TRACE_OBJ) $(TRACE_OBJ32): ALL_CFLAGS += -ftls-model=initial-exec

# Where it finds libmocatrace: empty for libraries where the linker looks anyway.
ALLOC_RPATH ?= $$ORIGIN:$$ORIGIN/../../$(LIBDIR)
comma := ,
# Preloaded: a program that uses libmocatrace itself shares that copy of it.
# Versions of symbols would keep ours from being found.
$(BUILD)/libmoca-alloc.so: $(ALLOC_OBJ) agent/alloc/libmoca-alloc.map \
		$(BUILD)/libmocatrace.so
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -pthread -static-libgcc \
		-Wl,-soname,libmoca-alloc.so -Wl,-z,nodelete -Wl,-z,now -Wl,-z,defs \
		$(FEW_SEGMENTS) -Wl,--version-script=agent/alloc/libmoca-alloc.map \
		$(if $(ALLOC_RPATH),-Wl$(comma)-rpath$(comma)'$(ALLOC_RPATH)') \
		-o $@ $(ALLOC_OBJ) -L$(BUILD) -lmocatrace

# Its constructor runs before all others, the C library's included.
$(BUILD)/libmoca-place.so: $(PLACE_AGENT_OBJ) agent/place/libmoca-place.map
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -static-libgcc \
		-Wl,-soname,libmoca-place.so -Wl,-z,nodelete -Wl,-z,now -Wl,-z,defs \
		-Wl,-z,initfirst -Wl,--version-script=agent/place/libmoca-place.map \
		-o $@ $(PLACE_AGENT_OBJ)
$(PLACE_AGENT_OBJ): ALL_CFLAGS += -fvisibility=hidden -fexceptions

# Without builtins: the compiler must not know what malloc is.
$(call obj,$(wildcard agent/alloc/*.c)): ALL_CFLAGS += -ftls-model=initial-exec -fvisibility=hidden \
	-fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc \
	-fno-builtin-free -fno-omit-frame-pointer -fexceptions

# At the begin and end of a detoured call nobody has kept the vectors.
$(call obj,agent/alloc/custom.c agent/alloc/enter.c): \
	ALL_CFLAGS += -mgeneral-regs-only

# What the recorder puts into static programs: without a C library, and with
# thread-local storage at %gs, as %fs is the program's.
STATIC_SRC := $(wildcard agent/alloc/static/*.c) $(addprefix agent/alloc/, \
	bounds.c cfi.c config.c custom.c emit.c enter.c hook.c record.c stack.c \
	thin.c thread.c unwind.c) $(filter-out %/ltt.c,$(wildcard agent/trace/*.c)) \
	$(addprefix lib/ring/,producer.c registry.c filter.c describe.c) lib/code/cfi.c
STATIC_OBJ := $(patsubst %.c,$(BUILD)/static/%.o,$(STATIC_SRC)) \
	$(BUILD)/static/agent/alloc/static/entry.o \
	$(BUILD)/static/agent/alloc/thunk.o
# It has no runtime library of sanitizers or profilers, whatever CFLAGS says.
INSTRUMENTING := -fsanitize% -fno-sanitize% --coverage -fprofile% -ftest-coverage -pg -fcoverage%
STATIC_CFLAGS := -ftls-model=local-exec -fPIE -fvisibility=hidden \
	-ffreestanding -fno-stack-protector -fno-omit-frame-pointer \
	-mgeneral-regs-only \
	-fno-tree-loop-distribute-patterns -fno-asynchronous-unwind-tables \
	'-D__builtin_thread_pointer()=(void *)moca_static_thread_pointer()' \
	-include agent/alloc/static/static.h
$(BUILD)/static/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(filter-out $(INSTRUMENTING),$(ALL_CFLAGS)) \
		$(STATIC_CFLAGS) -MF $(@:.o=.d) -MT $@ \
		-S -o $(@:.o=.fs) $<
	sed 's/%fs:/%gs:/g' $(@:.o=.fs) >$(@:.o=.s)
	$(CC) -c -o $@ $(@:.o=.s)
$(BUILD)/static/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -DMOCA_STATIC=1024*4096 -MMD -MP -c -o $@ $<
$(call obj,collect/ptrace/static-agent.S): $(BUILD)/static-agent
$(call obj,collect/ptrace/static-agent.S): \
	CPPFLAGS += '-DSTATIC_AGENT="$(BUILD)/static-agent"'
$(BUILD)/static-agent: $(STATIC_OBJ)
	$(CC) $(filter-out $(INSTRUMENTING),$(CFLAGS)) -nostdlib -static-pie \
		-Wl,--no-dynamic-linker -Wl,-e,moca_static_entry -Wl,-z,norelro -Wl,-z,noexecstack \
		-Wl,-z,defs -Wl,--build-id=none -o $@ $(STATIC_OBJ)

# Exact mode's translator, which runs inside programs: no C library, and no
# registers but the general ones, as the program's are live around it.
EXACT_AGENT_SRC := $(wildcard agent/exact/*.c) $(wildcard agent/exact/*.S) \
	lib/code/link.c $(wildcard lib/x86/*.c)
EXACT_AGENT_OBJ := $(patsubst %,$(BUILD)/exact/%.o,$(basename $(EXACT_AGENT_SRC)))
EXACT_AGENT_CFLAGS := -O2 -fPIE -ffreestanding -mgeneral-regs-only \
	-fno-stack-protector -fvisibility=hidden \
	-fno-tree-loop-distribute-patterns -fno-asynchronous-unwind-tables \
	-mno-red-zone
EXACT_AGENT_LDFLAGS := -nostdlib -static-pie -Wl,--no-dynamic-linker \
	-Wl,-e,moca_exact_entry -Wl,-z,norelro -Wl,-z,noexecstack \
	-Wl,-z,defs -Wl,--build-id=none
$(BUILD)/exact/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(EXACT_AGENT_CFLAGS) -c -o $@ $<
$(BUILD)/exact/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -MMD -MP -c -o $@ $<
$(call obj,collect/exact/agent-image.S): $(BUILD)/exact-agent
$(call obj,collect/exact/agent-image.S): \
	CPPFLAGS += '-DEXACT_AGENT="$(BUILD)/exact-agent"'
$(BUILD)/exact-agent: $(EXACT_AGENT_OBJ)
	@mkdir -p $(@D)
	$(if $(EXACT_AGENT_OBJ),$(CC) $(CFLAGS) $(EXACT_AGENT_LDFLAGS) -o $@ $^,: >$@)

# The page of moca report, which needs npm; without it, moca says so.
PAGE := $(BUILD)/report/template.html
PAGE_SRC := $(wildcard report/web/*.mjs report/web/*.json report/web/src/*)
$(PAGE): $(PAGE_SRC) tools/build-page $(shell test -s $(PAGE) || echo FORCE)
	@tools/build-page $@
$(BUILD)/obj/report/html/template.o: CPPFLAGS += -DMOCA_PAGE_TEMPLATE='"$(PAGE)"'
$(BUILD)/obj/report/html/template.o: $(PAGE)
.PHONY: FORCE
FORCE:

# For 32-bit programs; they write into the same traces. Needs gcc-multilib.
.PHONY: lib32
lib32: $(BUILD)/lib32/libmocatrace.a $(BUILD)/lib32/libmocatrace.so
$(BUILD)/lib32/libmocatrace.a: $(TRACE_OBJ32)
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/lib32/libmocatrace.so: $(TRACE_OBJ32) agent/trace/libmocatrace.map
	@mkdir -p $(@D)
	$(CC) -m32 $(CFLAGS) $(LDFLAGS) -shared -pthread \
		-Wl,-soname,libmocatrace.so.0 -Wl,-z,nodelete \
		-Wl,--version-script=agent/trace/libmocatrace.map \
		-o $@ $(TRACE_OBJ32)
	ln -sf libmocatrace.so $(BUILD)/lib32/libmocatrace.so.0

$(BUILD)/obj32/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -m32 $(CPPFLAGS) $(ALL_CFLAGS) -fPIC -c -o $@ $<

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -fPIC -c -o $@ $<

$(BUILD)/obj/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -MMD -MP -c -o $@ $<

# build/vm has a kernel's sources, deb and roots have trees of their own: what is
# called so there is none of ours.
NOT_OURS := -path $(BUILD)/vm -o -path $(BUILD)/deb -o -path $(BUILD)/roots -o -path $(BUILD)/arm64 -o -path $(BUILD)/sysroot
-include $(shell find $(BUILD) \( $(NOT_OURS) \) -prune -o -name '*.d' -type f -print 2>/dev/null)

include tests/tests.mk
include tests/bench/bench.mk
include tools/package.mk

deps:
	@tools/install-deps build

demo:
	@tools/install-deps demo
	@$(MAKE) --no-print-directory -s $(PARALLEL) all
	@tools/demo

# One list says what goes where: tools/install-files.
install_files = @PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' LIBDIR='$(LIBDIR)' \
	BUILD='$(BUILD)' VERSION='$(VERSION)' PYTHONDIR='$(PYTHONDIR)' \
	MACHINE='$(MACHINE)' tools/install-files
install: all
	$(install_files) install
uninstall:
	$(install_files) uninstall

# The sources as one file, the same byte for byte whoever makes it of a commit.
# The umask and the compression are said, as git's settings may differ.
DIST := moca-$(VERSION)
# The key that signs the checksums; without one they are not signed.
SIGN ?= $(shell git config --get user.signingkey 2>/dev/null)
.PHONY: dist
dist:
	@git diff --quiet HEAD -- || { echo "make dist: the tree has changes that are not committed; commit or stash them" >&2; exit 1; }
	@mkdir -p $(BUILD)/dist
	@git -c tar.umask=0022 archive --format=tar --prefix=$(DIST)/ \
		-o $(BUILD)/dist/$(DIST).tar HEAD
	@gzip -9nf $(BUILD)/dist/$(DIST).tar
	@cd $(BUILD)/dist && rm -f SHA256SUMS.asc && sha256sum $(DIST).tar.gz >SHA256SUMS && cat SHA256SUMS
	@if [ -n "$(SIGN)" ]; then \
		cd $(BUILD)/dist && gpg --batch --yes --local-user "$(SIGN)" --armor --detach-sign SHA256SUMS && \
		echo "signed: SHA256SUMS.asc"; \
	else echo "not signed: name a key of gpg as SIGN=KEY, or as git's user.signingkey"; fi

clean:
	rm -rf $(BUILD)
