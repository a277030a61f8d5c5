// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of conditions, and what came closest to holding. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/rules.h"
#include "lib/base/vec.h"

/* What a condition that holds or not is worth where it does not, or is not known. */
#define NOT_SO 0.25
/* Digits that a number is told with at most, besides those that it usually has. */
#define DIGITS_MAX 6

static int holds(const struct condition *c)
{
	return c->most ? c->value <= c->needed : c->value >= c->needed;
}

/* From 0, nothing of it, to 1, nearly. */
static double reached(const struct condition *c)
{
	double x;

	if (c->unit == CONDITION_HOLDS || isnan(c->value))
		return NOT_SO;
	if (c->most)
		x = c->value > 0 ? c->needed / c->value : 1;
	else
		x = c->needed > 0 ? c->value / c->needed : 1;
	return x > 0 ? x : 0;
}

int conditions_hold(struct rules *r, enum moca_finding_kind kind,
		    const struct moca_profile_object *o,
		    const struct condition *c, size_t n)
{
	struct condition_miss *m = &r->miss[kind];
	struct condition missed[CONDITIONS_MAX];
	size_t i, count = 0;
	double near = 1;

	m->looked++;
	for (i = 0; i < n && i < CONDITIONS_MAX; i++)
		if (!holds(&c[i])) {
			near *= reached(&c[i]);
			missed[count++] = c[i];
		}
	if (!count) {
		m->held = 1;
		return 1;
	}
	/* The first one is kept, however far it is. */
	if (m->count && near <= m->near)
		return 0;
	m->near = near;
	m->object = o;
	m->count = count;
	memcpy(m->missed, missed, sizeof(missed));
	return 0;
}

/* With so many digits behind the point more than it usually has. */
static void number(const struct condition *c, double v, int more, char *buf,
		   size_t len)
{
	switch (c->unit) {
	case CONDITION_SHARE:
		snprintf(buf, len, "%.*f %%", more + (v < 0.1), 100 * v);
		break;
	case CONDITION_PAGES:
		if (v < 256)
			snprintf(buf, len, "%.*f KiB", more, 4 * v);
		else
			snprintf(buf, len, "%.*f MiB", 1 + more, v / 256);
		break;
	default:
		snprintf(buf, len, "%.*f", more + (v < 10 && v != (int)v), v);
	}
}

/*
 * As many digits as tell the value from the number that it does not reach: compared as
 * numbers, as "1.0" does not tell 0.98 from "1".
 */
static void numbers(const struct condition *c, char *is, char *needed, size_t len)
{
	int more = 0;

	do {
		number(c, c->value, more, is, len);
		number(c, c->needed, more, needed, len);
	} while (strtod(is, NULL) == strtod(needed, NULL) &&
		 more++ < DIGITS_MAX);
}

/* "accesses from other nodes 12 %, not 20 % at least" */
static void tell(const struct condition *c, char *buf, size_t len)
{
	char is[32], needed[32];

	if (c->unit == CONDITION_HOLDS) {
		snprintf(buf, len, "not so: %s", c->what);
		return;
	}
	if (isnan(c->value)) {
		snprintf(buf, len, "%s: not known, as too few of the same pages were looked at in each interval",
			 c->what);
		return;
	}
	numbers(c, is, needed, sizeof(is));
	snprintf(buf, len, "%s %s, not %s at %s", c->what, is, needed,
		 c->most ? "most" : "least");
}

void conditions_tell(struct rules *r)
{
	struct moca_advice *a = r->a;
	struct moca_check *check;
	char text[512], one[128];
	unsigned k;
	size_t i, at;

	for (k = 0; k < MOCA_FINDING_KINDS; k++) {
		const struct condition_miss *m = &r->miss[k];

		if (!m->looked)
			continue;
		check = moca_vec_add(a->checks, a->check_count, a->check_cap);
		if (!check) {
			r->err = -ENOMEM;
			return;
		}
		*check = (struct moca_check){
			.kind = (enum moca_finding_kind)k,
			.looked = m->looked, .found = m->held,
			.near = m->near, .object = m->object,
		};
		for (at = 0, i = 0; i < m->count && at < sizeof(text); i++) {
			tell(&m->missed[i], one, sizeof(one));
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "%s%s", i ? "; " : "", one);
		}
		if (m->count)
			finding_set(r, &check->missed, "%s", text);
	}
}
