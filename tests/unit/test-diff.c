// SPDX-License-Identifier: GPL-2.0-or-later
/* The conditions of `moca diff --fail-if`. */
#include "analysis/condition.h"
#include "tests/unit/trace-util.h"

/* One line per rule: the condition, before, after, whether it holds. */
static const struct {
	const char *text;
	double a, b;
	int holds;
} table[] = {
	{ "remote>+5%", .10, .16, 1 },	/* shares: percentage points */
	{ "remote>+5%", .10, .14, 0 },
	{ "remote>+5%", .90, .10, 0 },
	{ "remote<-5%", .90, .10, 1 },
	{ "remote > 20%", .90, .21, 1 },
	{ "remote>20%", .10, .19, 0 },
	{ "remote>0.2", .10, .21, 1 },
	{ "remote>+0.05", .10, .16, 1 },
	{ "shared(u)>=50%", 0, .5, 1 },
	{ "pages(u)>+10%", 100, 111, 1 }, /* others: of what it was */
	{ "pages(u)>+10%", 100, 110, 0 },
	{ "pages(u)>=+10%", 100, 110, 1 },
	{ "pages>+10%", 0, 1, 1 },
	{ "pages>+10%", 0, 0, 0 },
	{ "pages<-10%", 100, 89, 1 },
	{ "pages<-10%", 100, 90, 0 },
	{ "accesses>+1k", 5000, 6001, 1 },
	{ "accesses>1M", 0, 999999, 0 },
	{ "accesses>.5", 0, 1, 1 },
	{ "findings>0", 2, 0, 0 },
	{ "findings>=+1", 0, 1, 1 },
	{ " wss <= 100 ", 7, 100, 1 },
	{ "threads>+0", 2, 2, 0 },
};

static int conditions(void)
{
	struct condition c;
	const char *reason;
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++) {
		CHECK(!condition_parse(&c, table[i].text, &reason));
		if (condition_holds(&c, table[i].a, table[i].b) !=
		    table[i].holds) {
			snprintf(why, sizeof(why), "%s of %g and %g",
				 table[i].text, table[i].a, table[i].b);
			return 1;
		}
		condition_free(&c);
	}
	return 0;
}

static int names(void)
{
	struct condition c;
	const char *reason;

	CHECK(!condition_parse(&c, "pages(u)>1", &reason));
	CHECK(c.metric == DIFF_PAGES && !strcmp(c.name, "u"));
	condition_free(&c);
	/* Names have brackets, and signs. */
	CHECK(!condition_parse(&c, "remote(f() at a<b>.c:12 (x)) > 5%",
				    &reason));
	CHECK(!strcmp(c.name, "f() at a<b>.c:12 (x)"));
	condition_free(&c);
	CHECK(!condition_parse(&c, "reads>1", &reason) && !c.name);
	condition_free(&c);
	return 0;
}

int main(void)
{
	run("diff: conditions", conditions);
	run("diff: names", names);
	return failures != 0;
}
