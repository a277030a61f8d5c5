/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stub: two areas mapped at a fixed address into every traced address
 * space. The code runs lists of system calls on behalf of the tracer, and is
 * the body of the zapper task. The data is shared with the recorder.
 *
 * This header is read by the assembler too.
 */
#ifndef MOCA_PTRACE_STUB_H
#define MOCA_PTRACE_STUB_H

#include "include/abi/stub-place.h"

/*
 * getpgrp(2), on arm64 getppid(2): reached in the stub, it stops the task for us. A
 * number that no call has would not: filters of containers refuse those, which goes
 * before any stop.
 */
#ifdef __x86_64__
#define STUB_NR_DONE 111
#else
#define STUB_NR_DONE 173
#endif

/* Flags of a call: take values from the result of the call before. */
#define STUB_CALL_ADDR 1	/* add it to the first argument */
#define STUB_CALL_OFFSET 2	/* add it to the sixth argument */
#define STUB_CALL_MUST 4	/* end the list when this call fails */

#define STUB_CALL_BYTES 72
#define STUB_CALL_RET 56
#define STUB_CALL_FLAGS 64

/* Offsets in the data area; the zapper's part comes first. */
#define STUB_ZAP_SEQ 0
#define STUB_ZAP_DONE 4
#define STUB_ZAP_COUNT 8
#define STUB_ZAP_EXIT 12
#define STUB_ZAP_ADVICE 16
#define STUB_ZAP_LIST 64
#define STUB_ZAP_MAX 1000
#define STUB_ARGS (STUB_ZAP_LIST + STUB_ZAP_MAX * 24)	/* clone3.c */
#define STUB_ARGS_BYTES 256
#define STUB_ARGS_MAX 2
#define STUB_CALLS 0x6000
#define STUB_CALLS_MAX ((STUB_DATA_SIZE - STUB_CALLS) / STUB_CALL_BYTES)

#ifdef __ASSEMBLER__

/* What the code of each machine begins with. */
#define PR_SET_NAME 15
#define WALL 0x40000000		/* __WALL */
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define CLOSE_RANGE_UNSHARE 2

	.section .rodata
	.globl moca_stub_code, moca_stub_code_end
	.globl moca_stub_one, moca_stub_list, moca_stub_clone, moca_stub_name, moca_stub_memfd
	.hidden moca_stub_code, moca_stub_code_end
	.hidden moca_stub_one, moca_stub_list, moca_stub_clone, moca_stub_name, moca_stub_memfd

#else
#include <stdint.h>

struct stub_call {
	int64_t nr;
	uint64_t args[6];
	int64_t ret;
	uint64_t flags;
};

struct stub_zap {
	uint64_t addr;
	uint64_t len;
	int64_t ret;
};

struct stub_data {
	uint32_t zap_seq;	/* raised by the recorder, futex */
	uint32_t zap_done;	/* the last seq carried out, futex */
	uint32_t zap_count;
	uint32_t zap_exit;
	uint32_t zap_advice;
	int32_t child_tid;	/* child-tid.h */
	uint32_t pad[10];
	struct stub_zap zap[STUB_ZAP_MAX];
	uint8_t args[STUB_CALLS - STUB_ARGS];
	struct stub_call calls[STUB_CALLS_MAX];
};

_Static_assert(sizeof(struct stub_call) == STUB_CALL_BYTES, "stub call");
_Static_assert(__builtin_offsetof(struct stub_data, zap) == STUB_ZAP_LIST,
	       "zap list");
_Static_assert(__builtin_offsetof(struct stub_data, args) == STUB_ARGS &&
		       STUB_ARGS + STUB_ARGS_MAX * STUB_ARGS_BYTES <= STUB_CALLS,
	       "arguments");
_Static_assert(__builtin_offsetof(struct stub_data, calls) == STUB_CALLS,
	       "calls");
_Static_assert(sizeof(struct stub_data) <= STUB_DATA_SIZE, "stub data");

/* The code, to be copied into the traced program; entries are offsets. */
extern const uint8_t moca_stub_code[], moca_stub_code_end[];
extern const uint8_t moca_stub_one[], moca_stub_list[], moca_stub_clone[];
extern const uint8_t moca_stub_name[], moca_stub_memfd[];
#define STUB_ENTRY(label) (STUB_BASE + (uint64_t)((label) - moca_stub_code))
#endif
#endif
