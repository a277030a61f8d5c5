// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/diff-flame.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "lib/base/err.h"
#include "lib/text/terminal.h"
#include "lib/text/text.h"

#define NODES ((size_t)1 << 20)
#define TOP 20
#define LITTLE 0.0005	/* of a run's accesses: no change that text tells */
#define BY MOCA_FLAME_ACCESSES

int diff_flame_make(struct diff_flame *x, const char *const path[2],
		    struct moca_trace *const trace[2])
{
	int err = 0, run;

	for (run = 0; run < 2; run++)
		if (!moca_trace_stack_count(trace[run])) {
			moca_error("diff: '%s' has no call stacks, which '--flame' compares: record both runs with 'moca record --stacks'",
				   path[run]);
			return EXIT_USAGE;
		}
	for (run = 0; run < 2 && !err; run++) {
		err = moca_callers_open(&x->callers[run], trace[run], NULL);
		if (!err)
			err = moca_flame_tree_build(&x->tree[run], trace[run],
						    x->callers[run], NODES, 0);
		if (err)
			moca_error("diff: cannot read the call stacks of '%s': %s",
				   path[run], strerror(-err));
	}
	if (err)
		return 1;
	err = moca_flame_changes_make(&x->changes, &x->tree[0], &x->tree[1],
				      BY);
	if (err)
		moca_error("diff: cannot compare the call stacks: %s",
			   strerror(-err));
	return err ? 1 : 0;
}

void diff_flame_free(struct diff_flame *x)
{
	moca_flame_changes_free(&x->changes);
	for (int run = 0; run < 2; run++) {
		moca_flame_tree_free(&x->tree[run]);
		moca_callers_close(x->callers[run]);
	}
}

/* Shares of both runs; own: of the function's own code. Their difference. */
static double shares(const struct moca_flame_changes *x,
		     const struct moca_flame_change *c, int own, double out[2])
{
	for (int run = 0; run < 2; run++)
		out[run] = moca_flame_share(x, run, BY,
					    own ? c->in[run].self[BY] :
						  c->in[run].total[BY]);
	return out[1] - out[0];
}

static void print_shares(const struct moca_flame_changes *x,
			 const struct moca_flame_change *c, int own)
{
	double s[2], change = shares(x, c, own, s);

	printf(" %6.1f %% -> %5.1f %% ", 100 * s[0], 100 * s[1]);
	if (fabs(change) < LITTLE) {
		printf(" %6s", "=");
		return;
	}
	terminal_style(change > 0 ? STYLE_WARN : STYLE_GOOD);
	printf(" %+6.1f", 100 * change);
	terminal_style(STYLE_NONE);
}

void diff_flame_print(const struct diff_flame *x, int width)
{
	const struct moca_flame_changes *c = &x->changes;
	int name = width >= 110 ? 44 : width >= 90 ? 30 : 22;
	size_t shown = 0, left = 0;
	double s[2];

	printf("\n%-*s %25s %25s\n", name, "Function, of all accesses",
	       "with what it calls", "in its own code");
	for (size_t i = 0; i < c->count; i++) {
		if (fabs(shares(c, &c->list[i], 0, s)) < LITTLE &&
		    fabs(shares(c, &c->list[i], 1, s)) < LITTLE)
			continue;
		if (shown == TOP) {
			left++;
			continue;
		}
		shown++;
		terminal_name(c->list[i].name, name);
		print_shares(c, &c->list[i], 0);
		print_shares(c, &c->list[i], 1);
		printf("\n");
	}
	if (!shown)
		printf("  No function's share changed by %.2f %% or more.\n",
		       100 * LITTLE);
	if (left)
		printf("... and %zu more whose shares changed: --json has all\n",
		       left);
}

static const char *const counts[MOCA_FLAME_COUNTS] = {
	[MOCA_FLAME_ACCESSES] = "accesses",
	[MOCA_FLAME_READS] = "reads",
	[MOCA_FLAME_WRITES] = "writes",
	[MOCA_FLAME_TOUCHES] = "first_touches",
	[MOCA_FLAME_FAULTS] = "records",
};

static void put_counts(struct json *j, const char *key,
		       const uint64_t values[MOCA_FLAME_COUNTS])
{
	json_open(j, key, '{');
	for (int i = 0; i < MOCA_FLAME_COUNTS; i++)
		json_uint(j, counts[i], values[i]);
	json_close(j, '}');
}

void diff_flame_json(const struct diff_flame *x, struct json *j)
{
	static const char *const sides[] = { "a", "b" };
	const struct moca_flame_changes *c = &x->changes;

	json_open(j, "flame", '{');
	for (int run = 0; run < 2; run++) {
		json_open(j, sides[run], '{');
		put_counts(j, "all", c->all[run]);
		json_uint(j, "without", x->tree[run].without);
		json_uint(j, "cut", x->tree[run].cut);
		json_uint(j, "shortened", x->tree[run].shortened);
		json_close(j, '}');
	}
	json_open(j, "functions", '[');
	for (size_t i = 0; i < c->count; i++) {
		json_open(j, NULL, '{');
		json_string(j, "name", c->list[i].name);
		for (int run = 0; run < 2; run++) {
			json_open(j, sides[run], '{');
			put_counts(j, "total", c->list[i].in[run].total);
			put_counts(j, "self", c->list[i].in[run].self);
			json_close(j, '}');
		}
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}
