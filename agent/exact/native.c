// SPDX-License-Identifier: LGPL-2.1-or-later
/* What the trace says of a thread that is not counted any more. */
#include "agent/exact/native.h"

#include <linux/time_types.h>
#include <moca/types.h>

#include "agent/exact/maps.h"
#include "agent/exact/signal.h"

#define THREAD_CPUTIME 3	/* CLOCK_THREAD_CPUTIME_ID */
#define BYTES 8			/* that are told of an instruction */

struct text {
	char buf[400];
	size_t len;
};

struct place_of {
	uint64_t pc;
	struct text *text;
	int found;
};

static void put(struct text *t, const char *s)
{
	while (*s && t->len + 1 < sizeof(t->buf))
		t->buf[t->len++] = *s++;
	t->buf[t->len] = 0;
}

static void put_hex(struct text *t, uint64_t v, int digits)
{
	char digit[2] = { 0 };

	for (int shift = 60; shift >= 0; shift -= 4) {
		if (shift / 4 >= digits && !(v >> shift))
			continue;
		digit[0] = "0123456789abcdef"[v >> shift & 15];
		put(t, digit);
	}
}

static void put_mapping(void *arg, const struct moca_maps_line *l)
{
	const char *name = l->name, *p;
	struct place_of *w = arg;

	if (w->found || w->pc < l->start || w->pc >= l->end)
		return;
	w->found = 1;
	for (p = l->name; *p; p++)
		if (*p == '/')
			name = p + 1;
	put(w->text, *name ? name : "anonymous memory");
	put(w->text, "+0x");
	put_hex(w->text, w->pc - l->start + (l->ino ? l->offset : 0), 1);
}

static void put_bytes(struct text *t, uint64_t pc)
{
	uint8_t bytes[BYTES];

	if (moca_exact_peek(bytes, pc, sizeof(bytes)))
		return;
	for (int i = 0; i < BYTES; i++) {
		put(t, i ? " " : " (");
		put_hex(t, bytes[i], 2);
	}
	put(t, ")");
}

uint64_t moca_exact_cpu_ns(void)
{
	struct __kernel_timespec now = { 0 };

	moca_exact_call(__NR_clock_gettime, THREAD_CPUTIME, (long)&now,
			0, 0, 0, 0);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void moca_exact_tell_native(struct context *c, enum moca_exact_gap gap,
			    uint64_t pc, const char *why)
{
	struct text text = { .len = 0 };
	struct place_of w = { pc, &text, 0 };

	if (c->native)
		return;
	c->native = 1;
	moca_exact_gap(c, gap, pc);
	put(&text, why);
	put(&text, ", at ");
	moca_exact_lock();
	moca_exact_maps(put_mapping, &w);
	moca_exact_unlock();
	if (!w.found) {
		put(&text, "0x");
		put_hex(&text, pc, 1);
	}
	if (gap == MOCA_EXACT_GAP_NATIVE)
		put_bytes(&text, pc);
	moca_exact_event(c, MOCA_CHANGE_GAP, pc, moca_exact_cpu_ns(), 0, MOCA_GAP_NATIVE,
			 0, text.buf);
}
