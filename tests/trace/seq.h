/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event that the tests count: each writer (a thread, or one level of its
 * signal handlers) numbers its events from 0. tests/trace/verify.c checks them.
 */
#ifndef TESTS_TRACE_SEQ_H
#define TESTS_TRACE_SEQ_H

#include <moca/trace.h>

MOCA_EVENT(test, seq, (u32, writer), (u64, n), (x64, check), (string, filler));

static inline uint64_t seq_check(uint32_t writer, uint64_t n)
{
	return (n * 64 + writer + 1) * 0x9e3779b97f4a7c15ull;
}

/* Lengths vary, so that records end everywhere in a subbuffer. */
static inline const char *seq_filler(uint64_t n)
{
	static const char text[] = "abcdefghijklmnopqrstuvwxyz0123456789";

	return text + n * 7 % sizeof(text);
}

static inline void seq_emit(uint32_t writer, uint64_t n)
{
	moca_trace_test_seq(writer, n, seq_check(writer, n), seq_filler(n));
}

#endif
