// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cache lines that one thread writes while others use them. What counts shows is
 * that two threads meet in a line in one slice, not whether they use the same
 * bytes of it; that it is false sharing is said only where what lies on both sides
 * of the line belongs to two threads alone.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/advice/internal.h"
#include "analysis/counts/counts.h"

/* Moving a line from one core's cache to another's, at least. */
#define TRANSFER_NS 100
/* Of the time: less of a line is data that is handed over, not fought about. */
#define LINE_MIN 0.001
/* In one alone, one thread may have come after the other. */
#define SLICES_MIN 2
/* Of the time, all such lines of an object together. */
#define OBJECT_MIN 0.05

struct found {
	uint64_t lines, contended, false_lines;
	const struct moca_counts_line *top;
};

/* Whose line it is alone; MOCA_COUNTS_MANY: several use it; NO_TASK: nobody. */
static uint32_t only(const struct moca_counts_table *t,
		     const struct moca_counts_line *l, int by)
{
	const struct moca_counts_line *n =
		moca_counts_line(t, l->space, l->granule + (uint64_t)(int64_t)by);

	return n ? n->only : MOCA_NO_TASK;
}

/* Do the parts of two threads meet here? */
static int is_border(const struct moca_counts_table *t,
		     const struct moca_counts_line *l)
{
	uint32_t a = only(t, l, -1), b = only(t, l, 1);

	return a < MOCA_COUNTS_MANY && b < MOCA_COUNTS_MANY && a != b &&
	       ((a == l->tasks[0] && b == l->tasks[1]) ||
		(a == l->tasks[1] && b == l->tasks[0]));
}

static void look(const struct moca_counts_table *t, uint32_t object,
		 double least, struct found *f)
{
	const struct moca_counts_line *l;

	for (l = t->lines; l < t->lines + t->line_count; l++) {
		if (l->object != object || l->slices < SLICES_MIN ||
		    (double)l->contended < least)
			continue;
		f->lines++;
		f->contended += l->contended;
		f->false_lines += is_border(t, l) ? l->contended : 0;
		if (!f->top || l->contended > f->top->contended)
			f->top = l;
	}
}

static void say_where(struct rules *r, struct moca_finding *f,
		      const struct moca_profile_object *o,
		      const struct found *x)
{
	char a[96], b[96];
	uint64_t addr = x->top->granule * MOCA_COUNTS_LINE;

	task_text(r, x->top->tasks[0], a, sizeof(a));
	task_text(r, x->top->tasks[1], b, sizeof(b));
	if (o->object->addr && addr - o->object->addr < o->object->size &&
	    o->object->instances == 1)
		finding_line(r, f->evidence,
			     "most in the line at its byte %" PRIu64 " (0x%" PRIx64 "): %s and %s, in %" PRIu32 " of %" PRIu64 " slices%s",
			     addr - o->object->addr, addr, a, b,
			     x->top->slices, r->p->counts->slices,
			     x->top->writers > 1 ? "; both write it" : "");
	else
		finding_line(r, f->evidence,
			     "most in the line at 0x%" PRIx64 ": %s and %s, in %" PRIu32 " of %" PRIu64 " slices%s",
			     addr, a, b, x->top->slices, r->p->counts->slices,
			     x->top->writers > 1 ? "; both write it" : "");
}

static void say(struct rules *r, struct moca_finding *f,
		const struct moca_profile_object *o, const struct found *x,
		uint64_t run_ns)
{
	int is_false = 2 * x->false_lines >= x->contended;
	int several = x->top->several || o->object->kind == MOCA_OBJECT_SMALL;
	const char *name = name_text(r, o);

	f->confidence = is_false ? MOCA_CONFIDENCE_HIGH :
			several ? MOCA_CONFIDENCE_MEDIUM : MOCA_CONFIDENCE_LOW;
	finding_set(r, &f->title, is_false ?
		    "parts of different threads meet in cache lines of %s (false sharing)" :
		    "threads write to cache lines of %s that others use at the same time (true or false sharing)",
		    name);
	finding_line(r, f->evidence,
		     "%" PRIu64 " cache line%s of %d bytes: some %" PRIu64 " accesses may have found the line in another CPU's cache, which is %.0f %% of the time of one thread",
		     x->lines, x->lines == 1 ? "" : "s", MOCA_COUNTS_LINE,
		     x->contended,
		     100. * x->contended * TRANSFER_NS / run_ns);
	say_where(r, f, o, x);
	if (is_false)
		finding_line(r, f->evidence,
			     "the lines before and behind are each used by one of the two threads alone");
	else if (several)
		finding_line(r, f->evidence,
			     "several objects lie in one line: likely each thread uses its own, but bytes were not told apart");
	else
		finding_line(r, f->evidence,
			     "whether they use the same bytes was not recorded");
	finding_set(r, &f->cause,
		    "A CPU that writes to a line takes it away from all others: each access of another thread then waits for it, about %d ns.",
		    TRANSFER_NS);
	finding_set(r, &f->fix, is_false || several ?
		    "Give what each thread writes cache lines of its own: align and pad it to 64 bytes, or let each thread work on a local copy and write it back at the end." :
		    "If each thread has bytes of its own there, pad them to 64 bytes; if they are the same, write less often: count in a local variable and add it once, or divide the data among the threads.");
	finding_line(r, f->try_,
		     "struct part { ... } __attribute__((aligned(64)));   /* or alignas(64) */");
	finding_line(r, f->try_, is_false || several ?
		     "aligned_alloc(64, size)   /* for each thread's part */" :
		     "#pragma omp parallel for reduction(+:sum)");
}

int rule_shared_lines(struct rules *r, const struct moca_profile_object *o)
{
	const struct moca_counts_table *t = r->p->counts;
	struct found x = { 0 };
	struct moca_finding *f;
	uint64_t run_ns;

	/* Threads that meet in all of the run may have come one by one. */
	if (!t || t->granularity != MOCA_COUNTS_LINE || !moca_counts_sliced(t))
		return 0;
	run_ns = t->end_ns > t->begin_ns ? t->end_ns - t->begin_ns : 1;
	if (t->contended[o->object->id] * TRANSFER_NS < OBJECT_MIN * run_ns)
		return 0;
	look(t, o->object->id, LINE_MIN * run_ns / TRANSFER_NS, &x);
	if (!x.top || x.contended * TRANSFER_NS < OBJECT_MIN * run_ns)
		return 0;
	f = finding_add(r, MOCA_FINDING_SHARED_LINES, o,
			(double)x.contended / r->p->accesses);
	if (f)
		say(r, f, o, &x, run_ns);
	return f != NULL;
}
