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
#define LITTLE 0.0005	/* of all of a run: no change that text tells */

/* Both runs have something of it; or neither counts. */
static int have_both(const struct diff_flame *x, int count)
{
	return x->tree[0].all[count] && x->tree[1].all[count];
}

static int read_run(struct diff_flame *x, int run, struct moca_trace *t)
{
	const struct moca_objects_options o = {
		.size = sizeof(o), .heap_stacks = 1, .events_only = 1,
	};
	int err = moca_objects_compute(&x->objects[run], t, &o);

	if (!err)
		err = moca_callers_open(&x->callers[run], t,
					moca_objects_symbols(x->objects[run]));
	if (!err)
		err = moca_flame_tree_build(&x->tree[run], t, x->callers[run],
					    x->objects[run], NODES, 0);
	return err;
}

/* What of the two can be compared. 0, or an exit code after a message. */
static int choose(struct diff_flame *x, const char *const path[2],
		  struct moca_trace *const trace[2])
{
	int stacks[2], run;

	for (run = 0; run < 2; run++)
		stacks[run] = moca_trace_stack_count(trace[run]) != 0;
	x->by = stacks[0] && stacks[1] ? MOCA_FLAME_ACCESSES :
					 MOCA_FLAME_BYTES;
	if (x->by == MOCA_FLAME_ACCESSES ||
	    (stacks[0] == stacks[1] && have_both(x, MOCA_FLAME_BYTES)))
		return 0;
	run = stacks[0] && !stacks[1];
	moca_error("diff: '%s' has no call stacks%s, which '--flame' compares: record both runs with 'moca record --stacks'",
		   path[run], stacks[!run] ? " of accesses, as the other run has" : "");
	return EXIT_USAGE;
}

int diff_flame_make(struct diff_flame *x, const char *const path[2],
		    struct moca_trace *const trace[2])
{
	int err = 0, run, code;

	for (run = 0; run < 2 && !err; run++) {
		err = read_run(x, run, trace[run]);
		if (err)
			moca_error("diff: cannot read the call stacks of '%s': %s",
				   path[run], strerror(-err));
	}
	if (err)
		return 1;
	code = choose(x, path, trace);
	if (code)
		return code;
	err = moca_flame_changes_make(&x->changes, &x->tree[0], &x->tree[1],
				      x->by);
	if (!err && x->by != MOCA_FLAME_BYTES && have_both(x, MOCA_FLAME_BYTES))
		err = moca_flame_changes_make(&x->bytes, &x->tree[0],
					      &x->tree[1], MOCA_FLAME_BYTES);
	if (err)
		moca_error("diff: cannot compare the call stacks: %s",
			   strerror(-err));
	return err ? 1 : 0;
}

void diff_flame_free(struct diff_flame *x)
{
	moca_flame_changes_free(&x->changes);
	moca_flame_changes_free(&x->bytes);
	for (int run = 0; run < 2; run++) {
		moca_flame_tree_free(&x->tree[run]);
		moca_callers_close(x->callers[run]);
		moca_objects_free(x->objects[run]);
	}
}

/* Shares of both runs; own: of the function's own code. Their difference. */
static double shares(const struct moca_flame_changes *x,
		     const struct moca_flame_change *c, int by, int own,
		     double out[2])
{
	for (int run = 0; run < 2; run++)
		out[run] = moca_flame_share(x, run, by,
					    own ? c->in[run].self[by] :
						  c->in[run].total[by]);
	return out[1] - out[0];
}

static void print_shares(const struct moca_flame_changes *x,
			 const struct moca_flame_change *c, int by, int own)
{
	double s[2], change = shares(x, c, by, own, s);

	printf(" %6.1f %% -> %5.1f %% ", 100 * s[0], 100 * s[1]);
	if (fabs(change) < LITTLE) {
		printf(" %6s", "=");
		return;
	}
	terminal_style(change > 0 ? STYLE_WARN : STYLE_GOOD);
	printf(" %+6.1f", 100 * change);
	terminal_style(STYLE_NONE);
}

static void print_changes(const struct moca_flame_changes *c, int by, int width)
{
	int name = width >= 110 ? 44 : width >= 90 ? 30 : 22;
	size_t shown = 0, left = 0;
	double s[2];

	printf("\n%-*s %25s %25s\n", name,
	       by == MOCA_FLAME_BYTES ?
		       width >= 90 ? "Function, of allocated bytes" :
				     "Function, of allocated" :
		       "Function, of all accesses",
	       "with what it calls", "in its own code");
	for (size_t i = 0; i < c->count; i++) {
		if (fabs(shares(c, &c->list[i], by, 0, s)) < LITTLE &&
		    fabs(shares(c, &c->list[i], by, 1, s)) < LITTLE)
			continue;
		if (shown == TOP) {
			left++;
			continue;
		}
		shown++;
		terminal_name(c->list[i].name, name);
		print_shares(c, &c->list[i], by, 0);
		print_shares(c, &c->list[i], by, 1);
		printf("\n");
	}
	if (!shown)
		printf("  No function's share changed by %.2f %% or more.\n",
		       100 * LITTLE);
	if (left)
		printf("... and %zu more whose shares changed: --json has all\n",
		       left);
}

void diff_flame_print(const struct diff_flame *x, int width)
{
	print_changes(&x->changes, x->by, width);
	if (x->bytes.count)
		print_changes(&x->bytes, MOCA_FLAME_BYTES, width);
}

static const char *const counts[MOCA_FLAME_COUNTS] = {
	[MOCA_FLAME_ACCESSES] = "accesses",
	[MOCA_FLAME_READS] = "reads",
	[MOCA_FLAME_WRITES] = "writes",
	[MOCA_FLAME_TOUCHES] = "first_touches",
	[MOCA_FLAME_FAULTS] = "records",
	[MOCA_FLAME_BYTES] = "allocated_bytes",
	[MOCA_FLAME_AT_PEAK] = "peak_bytes",
	[MOCA_FLAME_AT_END] = "end_bytes",
	[MOCA_FLAME_ALLOCATIONS] = "allocations",
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
