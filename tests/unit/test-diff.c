// SPDX-License-Identifier: GPL-2.0-or-later
/* The conditions of `moca diff --fail-if`, and which structures are compared. */
#include "analysis/comparison.h"
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

/* A row of a run: its accesses, its name, and the function that allocates it. */
struct row {
	uint64_t accesses;
	const char *name, *function;
};

static struct moca_profile *profile_of(const struct row *rows, size_t n)
{
	struct moca_profile *p = calloc(1, sizeof(*p));
	struct moca_object *o = calloc(n, sizeof(*o));
	struct moca_site *s = calloc(n, sizeof(*s));
	size_t i;

	p->rows = calloc(n, sizeof(*p->rows));
	p->count = n;
	for (i = 0; i < n; i++) {
		s[i] = (struct moca_site){ .function = rows[i].function,
					   .file = "x.c" };
		o[i] = (struct moca_object){ .name = rows[i].name,
			.accesses = rows[i].accesses,
			.alloc = rows[i].function ? &s[i] : NULL };
		p->rows[i] = (struct moca_profile_object){ .object = &o[i],
			.data = 1, .accesses = rows[i].accesses, .pages = 1 };
	}
	return p;
}

static int matched(void)
{
	static const struct row a[] = {
		{ 5, "u", NULL }, { 7, "u", "f" },	/* one name, two sites */
		{ 100, "main() x.c:10", "main" },	/* moved to line 12 */
		{ 40, "f() x.c:20", "f" },		/* there still, or is */
		{ 30, "f() x.c:21", "f" },		/* it the other one? */
		{ 9, "g() x.c:30", "g" }, { 8, "g() x.c:31", "g" },
	};
	static const struct row b[] = {
		{ 13, "u", NULL },
		{ 101, "main() x.c:12", "main" },
		{ 41, "f() x.c:20", "f" }, { 31, "f() x.c:25", "f" },
		{ 9, "g() x.c:33", "g" },		/* which of the two? */
		{ 3, "new", NULL },
	};
	static const struct {
		const char *name, *name_a;
		double a, b;
	} pairs[] = {
		{ "main() x.c:12", "main() x.c:10", 100, 101 },
		{ "f() x.c:20", "f() x.c:20", 40, 41 },
		{ "f() x.c:25", "f() x.c:25", 0, 31 },
		{ "f() x.c:21", "f() x.c:21", 30, 0 },
		{ "u", "u", 12, 13 },
		{ "g() x.c:30", "g() x.c:30", 9, 0 },
		{ "g() x.c:33", "g() x.c:33", 0, 9 },
		{ "g() x.c:31", "g() x.c:31", 8, 0 },
		{ "new", "new", 0, 3 },
	};
	struct comparison c = { .profile = {
		profile_of(a, sizeof(a) / sizeof(*a)),
		profile_of(b, sizeof(b) / sizeof(*b)) } };
	const size_t n = sizeof(pairs) / sizeof(*pairs);
	size_t i;

	CHECK(!comparison_match(&c) && c.count == n);
	for (i = 0; i < n; i++) {
		const struct comparison_pair *x = &c.pairs[i];

		if (strcmp(x->name, pairs[i].name) ||
		    strcmp(x->name_a, pairs[i].name_a) ||
		    x->value[0][DIFF_ACCESSES] != pairs[i].a ||
		    x->value[1][DIFF_ACCESSES] != pairs[i].b ||
		    x->in[0] != (pairs[i].a > 0) ||
		    x->in[1] != (pairs[i].b > 0)) {
			snprintf(why, sizeof(why), "pair %zu is %s, %s", i,
				 x->name, x->name_a);
			return 1;
		}
		CHECK(comparison_find(&c, x->name) == x);
		CHECK(comparison_find(&c, x->name_a) == x);
	}
	CHECK(!comparison_find(&c, "main() x.c:11"));
	return 0;
}

int main(void)
{
	run("diff: conditions", conditions);
	run("diff: names", names);
	run("diff: structures of one name, or of one function", matched);
	return failures != 0;
}
