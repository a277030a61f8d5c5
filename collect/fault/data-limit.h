/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RLIMIT_DATA. The kernel counts private, writable memory; what lies on the
 * memfd is shared to it, and the limit would not hold. So we count, and refuse
 * as it would. A program without the limit, as nearly all are, costs one
 * prlimit(2) for each call.
 */
#ifndef MOCA_FAULT_DATA_LIMIT_H
#define MOCA_FAULT_DATA_LIMIT_H

#include "collect/fault/mapcall-ctx.h"

/* 1 when the limit of t is not infinite. */
int data_limit_set(const struct task *t);
/*
 * 1 when `more` bytes of private, writable memory would be above the limit of
 * x's task. What is mapped at [start, end) goes for it and does not count.
 */
int data_limit_exceeded(const struct ctx *x, uint64_t start, uint64_t end,
			uint64_t more);
/* The same when what is private at [start, end) becomes writable. */
int data_limit_writable(const struct ctx *x, uint64_t start, uint64_t end);
/* The same when the mapping at addr grows. */
int data_limit_grown(const struct ctx *x, uint64_t addr, uint64_t more);

#endif
