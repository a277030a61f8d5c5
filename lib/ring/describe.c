// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/ring/describe.h"

#include <errno.h>
#include <string.h>

#include <moca/trace.h>

struct text {
	char *buf;
	size_t len, size;	/* len > size: it did not fit */
};

static void put_char(struct text *t, char c)
{
	if (t->len < t->size)
		t->buf[t->len] = c;
	t->len++;
}

static void put_number(struct text *t, uint32_t n)
{
	if (n > 9)
		put_number(t, n / 10);
	put_char(t, '0' + n % 10);
}

static void put_string(struct text *t, const char *s, const uint32_t *counts)
{
	for (; *s; s++)
		if (*s == MOCA_TRACE_COUNT_[0])
			put_number(t, *counts++);
		else
			put_char(t, *s);
	put_char(t, 0);
}

long moca_event_describe(const struct moca_trace_event *e, char *buf,
			 size_t size)
{
	struct text t = { .buf = buf, .size = size };

	put_string(&t, e->facility, NULL);
	put_string(&t, e->name, NULL);
	put_string(&t, e->fields, e->counts);
	return t.len > size ? -E2BIG : (long)t.len;
}
