/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The system calls that recording by faults must see. The list is in mapcall.c;
 * the seccomp filter (filter.c), what is looked at in attached programs, and who
 * carries a call out follow from it.
 */
#ifndef MOCA_FAULT_CALLS_H
#define MOCA_FAULT_CALLS_H

#include <stddef.h>
#include <stdint.h>

struct ctx;

/* When a program that has our filter stops at the call. Arguments count by their
 * lower 32 bits. */
enum call_when {
	/* By number and place alone. */
	CALL_EACH,	/* always */
	CALL_STUB,	/* when it is our stub's */
	CALL_PROGRAMS,	/* unless it is our stub's */
	/* By an argument, too. */
	CALL_PROGRAMS_BITS,	/* the same, when argument `arg` has any of the
				   bits of `value` */
	CALL_BITS,	/* when argument `arg` has any of the bits of `value` */
	CALL_VALUE,	/* when argument `arg` is `value`, unless it is our stub's;
			   several may follow each other for one number */
	CALL_DESCRIPTOR,	/* the same, when argument `arg` is our descriptor */
};

struct traced_call {
	uint32_t nr;
	enum call_when when;
	unsigned int arg;
	uint32_t value;
	int filter_only;	/* attached programs make it as they like, or
				   somebody else looks at it there */
	/* Does it change anything of moved memory? NULL: `when` says it all. */
	int (*concerns)(const struct ctx *x);
	/* Carry it out: 0 or -errno. NULL: somebody else does what is to be done,
	 * without moved memory too. */
	int (*handle)(struct ctx *x);
};

/* By number of the list, from the most urgent on; ends with NULL. */
const struct traced_call *traced_call_at(size_t i);

#endif
