// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/heat.h"

#include <errno.h>
#include <string.h>

#include "analysis/trace.h"
#include "lib/format/rate-writer.h"

enum { PID, SINCE, ADDR, TOUCHED, WRITTEN, PAGES_FIELDS };
enum { LOOK_TOUCHED = 3 };

static int is_event(const struct moca_event *e, const char *name)
{
	return trace_is_heat(e->type) && !strcmp(e->type->name, name);
}

static uint64_t number(const struct moca_event *e, size_t field)
{
	struct moca_value v;

	return moca_event_value(e, field, &v) || !v.count ? 0 :
							    moca_value_integer(&v, 0);
}

static uint64_t words(const struct moca_event *e, size_t field)
{
	struct moca_value v;

	return moca_event_value(e, field, &v) ? 0 : v.count;
}

int moca_heat_run(struct moca_heat_run *r, const struct moca_event *e)
{
	uint64_t n;

	if (!is_event(e, "pages"))
		return 0;
	if (e->type->field_count < PAGES_FIELDS)
		return -EBADMSG;
	n = words(e, TOUCHED);
	*r = (struct moca_heat_run){
		.time_ns = e->time_ns, .since_ns = number(e, SINCE),
		.addr = number(e, ADDR), .pid = (uint32_t)number(e, PID),
		.pages = 64 * n, .event = e,
	};
	return n && n <= MOCA_HEAT_WORDS_MAX && words(e, WRITTEN) == n &&
	       r->addr < 1ull << 57 && !(r->addr % 4096) &&
	       r->since_ns <= r->time_ns ? 1 : -EBADMSG;
}

static int has(const struct moca_heat_run *r, size_t field, size_t page)
{
	struct moca_value v;

	return page < r->pages && !moca_event_value(r->event, field, &v) &&
	       moca_value_integer(&v, page / 64) >> (page % 64) & 1;
}

int moca_heat_touched(const struct moca_heat_run *r, size_t page)
{
	return has(r, TOUCHED, page);
}

int moca_heat_written(const struct moca_heat_run *r, size_t page)
{
	return has(r, WRITTEN, page);
}

int moca_heat_look_end(const struct moca_event *e, uint64_t *touched)
{
	if (!is_event(e, "look") || e->type->field_count <= LOOK_TOUCHED)
		return 0;
	*touched = number(e, LOOK_TOUCHED);
	return 1;
}
