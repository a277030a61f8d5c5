/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a rule asks for, as a table: so that where it does not hold it can be said
 * which structure came closest, and what it lacked.
 */
#ifndef MOCA_ANALYSIS_ADVICE_CONDITIONS_H
#define MOCA_ANALYSIS_ADVICE_CONDITIONS_H

#include <stddef.h>

#include "analysis/advice/advice.h"

enum condition_unit {
	CONDITION_SHARE,	/* of 1, told in percent */
	CONDITION_PAGES,	/* told in MiB */
	CONDITION_NUMBER,
	CONDITION_HOLDS,	/* 1: yes, 0: no */
};

struct condition {
	const char *what;	/* "accesses from other nodes" */
	enum condition_unit unit;
	double value, needed;	/* value: NAN = not known, does not hold */
	int most;		/* needed is the most, not the least */
};

#define AT_LEAST(what, unit, value, needed) \
	{ (what), CONDITION_##unit, (value), (needed), 0 }
#define AT_MOST(what, unit, value, needed) \
	{ (what), CONDITION_##unit, (value), (needed), 1 }
#define HOLDS(what, value) { (what), CONDITION_HOLDS, (value) != 0, 1, 0 }

#define CONDITIONS_MAX 16

/* The closest miss of one rule so far. */
struct condition_miss {
	size_t looked;		/* at so many objects */
	int held;
	double near;		/* product of what was reached; 0: nothing yet */
	const struct moca_profile_object *object;	/* NULL: all */
	struct condition missed[CONDITIONS_MAX];
	size_t count;
};

struct rules;

/*
 * Do all hold? o: NULL for a rule about the whole program. What is missed is
 * kept in r if nothing came closer.
 */
int conditions_hold(struct rules *r, enum moca_finding_kind kind,
		    const struct moca_profile_object *o,
		    const struct condition *c, size_t n);
/* Fill the advice's checks. */
void conditions_tell(struct rules *r);

#define CONDITIONS(r, kind, o, table) \
	conditions_hold(r, kind, o, table, sizeof(table) / sizeof(*(table)))

#endif
