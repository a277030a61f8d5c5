// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * By frame records, as agent/alloc/unwind-arm64.c has it: code without them is
 * left out of a stack.
 */
#include <stdlib.h>
#include <string.h>

#include "collect/perf/unwind.h"
#include "lib/base/arch.h"

/* Return addresses may be signed (PAC): the bits above user space's addresses.
 */
#define ADDRESS(word) ((word) & ((1ull << MOCA_USER_BITS) - 1))

struct unwinder {
	const struct text *text;
};

struct record {
	uint64_t next, ret;
};

struct unwinder *unwinder_new(const struct text *text)
{
	struct unwinder *u = malloc(sizeof(*u));

	if (u)
		u->text = text;
	return u;
}

void unwinder_free(struct unwinder *u)
{
	free(u);
}

void unwinder_changed(struct unwinder *u)
{
}

static int read_record(const struct user_stack *s, uint64_t at,
		       struct record *r)
{
	uint64_t offset = at - s->sp;

	if (at < s->sp || at & 7 || s->bytes < sizeof(*r) ||
	    offset > s->bytes - sizeof(*r))
		return 0;
	memcpy(r, s->copy + offset, sizeof(*r));
	return 1;
}

uint32_t unwinder_walk(struct unwinder *u, int space,
		       const struct user_stack *s, uint64_t *frames,
		       uint32_t *flags)
{
	uint64_t at = s->bp;
	struct record r = { 0 };
	uint32_t n = 0;

	frames[n++] = s->ip;
	*flags = MOCA_STACK_CUT;
	while (n < MOCA_STACK_FRAMES_MAX && read_record(s, at, &r) &&
	       ADDRESS(r.ret)) {
		frames[n++] = ADDRESS(r.ret);
		if (!r.next)
			*flags = 0;
		if (r.next <= at)
			break;
		at = r.next;
	}
	return n;
}
