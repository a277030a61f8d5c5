/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The seccomp filter that stops the program's calls that change memory. */
#ifndef MOCA_FAULT_FILTER_H
#define MOCA_FAULT_FILTER_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_MAX 512

struct recorder;

struct filter {
	size_t len;
	struct sock_filter code[FILTER_MAX];
};

/* From the list of calls.h, for a program in which our descriptor has that
 * number. 0; -E2BIG: the list is too long. */
int filter_build(struct filter *f, uint32_t descriptor);

/* record_way.before_exec: have it from here on, and in all children. */
int filter_install(const struct recorder *rec, const char **what);

#endif
