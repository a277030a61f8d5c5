// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cache lines that one thread writes while others use them. What counts shows is
 * that two threads meet in a line in one slice, not whether they use the same
 * bytes of it; that it is false sharing is said only where what lies on both sides
 * of the line belongs to two threads alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/advice/rules.h"
#include "analysis/counts/counts.h"
#include "analysis/profile/where.h"
#include "lib/base/plural.h"
#include "lib/base/vec.h"

/* Moving a line from one core's cache to another's, at least. */
#define TRANSFER_NS 100
/* Of the time: less of a line is data that is handed over, not fought about. */
#define LINE_MIN 0.001
/* In one alone, one thread may have come after the other. */
#define SLICES_MIN 2
/*
 * Without slices, when threads met is not known: of all accesses, the least that
 * a line must have, and of its own the least that each of two threads must have.
 */
#define UNSLICED_MIN 0.01
#define UNSLICED_USER 0.05
/* Of the time, all such lines of an object together. */
#define OBJECT_MIN 0.05

/* Of all accesses to these lines: less is told as a number of threads. */
#define USER_MIN 0.001
#define USERS_SHOWN 4

/* A thread's accesses to all these lines. */
struct user {
	uint32_t task;
	uint64_t accesses, stores;
};

struct found {
	uint64_t lines, contended, false_lines;
	const struct moca_counts_line *top;
	struct user *users;	/* most accesses first */
	size_t user_count, user_cap, seldom;
	uint64_t accesses;	/* of all these */
};

/* Whose line it is, but for a few accesses; MANY: several use it; NO_TASK: nobody. */
static uint32_t owner(const struct moca_counts_table *t,
		      const struct moca_counts_line *l, int by)
{
	const struct moca_counts_line *n =
		moca_counts_line(t, l->space, l->granule + (uint64_t)(int64_t)by);

	return n ? moca_counts_owner(t, n) : MOCA_NO_TASK;
}

/* Do the parts of two threads meet here? */
static int is_border(const struct moca_counts_table *t,
		     const struct moca_counts_line *l)
{
	uint32_t a = owner(t, l, -1), b = owner(t, l, 1);
	const struct moca_counts_user *u;
	size_t n;

	if (a >= MOCA_COUNTS_MANY || b >= MOCA_COUNTS_MANY || a == b)
		return 0;
	u = moca_counts_users(t, l, &n);
	return n > 1 && ((a == u[0].task && b == u[1].task) ||
			 (a == u[1].task && b == u[0].task));
}

static int add_user(struct found *f, const struct moca_counts_user *u)
{
	size_t i;

	for (i = 0; i < f->user_count && f->users[i].task != u->task; i++)
		;
	if (i == f->user_count) {
		if (moca_vec_fit(f->users, f->user_cap, i + 1))
			return -ENOMEM;
		f->users[f->user_count++] = (struct user){ .task = u->task };
	}
	f->users[i].accesses += u->loads + u->stores;
	f->users[i].stores += u->stores;
	f->accesses += u->loads + u->stores;
	return 0;
}

static int by_use(const void *a, const void *b)
{
	const struct user *x = a, *y = b;

	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

static const struct moca_task *task_of(const struct rules *r, uint32_t id)
{
	size_t i, n = moca_trace_task_count(r->trace);

	for (i = 0; i < n; i++)
		if (moca_trace_task(r->trace, i)->id == id)
			return moca_trace_task(r->trace, i);
	return NULL;
}

/* Did they live at the same time for half of the shorter life? */
static int lived_together(const struct rules *r, uint32_t one, uint32_t other)
{
	const struct moca_task *a = task_of(r, one), *b = task_of(r, other);
	uint64_t until = r->p->counts->end_ns, ae, be, begin, end, shorter;

	if (!a || !b)
		return 0;
	ae = a->end_ns ? a->end_ns : until;
	be = b->end_ns ? b->end_ns : until;
	begin = a->start_ns > b->start_ns ? a->start_ns : b->start_ns;
	end = ae < be ? ae : be;
	shorter = ae - a->start_ns < be - b->start_ns ? ae - a->start_ns :
							be - b->start_ns;
	return end > begin && 2 * (end - begin) >= shorter;
}

/*
 * Without slices: what two threads that lived at one time did to the line, each
 * all the time. A first thread may prepare for the others and wait for them; it
 * counts only where it works as they do, in OpenMP.
 */
static uint64_t met(struct rules *r, const struct moca_counts_line *l)
{
	const struct moca_counts_table *t = r->p->counts;
	const struct moca_counts_user *u, *two[2] = { NULL, NULL };
	uint64_t all = l->loads + l->stores, stores, less;
	const struct moca_task *task;
	size_t i, n;

	if ((double)all < UNSLICED_MIN * (double)r->p->accesses)
		return 0;
	u = moca_counts_users(t, l, &n);
	for (i = 0; i < n && !two[1]; i++) {
		task = task_of(r, u[i].task);
		if (task && (task->tid != task->pid || advice_openmp(r)))
			two[two[0] != NULL] = &u[i];
	}
	if (!two[1] || !lived_together(r, two[0]->task, two[1]->task))
		return 0;
	less = two[1]->loads + two[1]->stores;
	stores = two[0]->stores + two[1]->stores;
	if ((double)less < UNSLICED_USER * (double)all)
		return 0;
	return less < stores ? less : stores;
}

/* Accesses to the line that may have found it in another CPU's cache. */
static uint64_t contended(struct rules *r, const struct moca_counts_line *l,
			  double least)
{
	uint64_t n = moca_counts_sliced(r->p->counts) ?
		     (l->slices < SLICES_MIN ? 0 : l->contended) : met(r, l);

	return (double)n < least ? 0 : n;
}

static int look(struct rules *r, uint32_t object, double least,
		struct found *f)
{
	const struct moca_counts_table *t = r->p->counts;
	const struct moca_counts_user *u;
	const struct moca_counts_line *l;
	uint64_t count, most = 0;
	size_t i, n;
	int err = 0;

	for (l = t->lines; !err && l < t->lines + t->line_count; l++) {
		count = l->object == object && l->contended ?
			contended(r, l, least) : 0;
		if (!count)
			continue;
		f->lines++;
		f->contended += count;
		f->false_lines += is_border(t, l) ? count : 0;
		if (count > most)
			f->top = l;
		if (count > most)
			most = count;
		u = moca_counts_users(t, l, &n);
		for (i = 0; !err && i < n; i++)
			err = add_user(f, &u[i]);
	}
	if (f->user_count)
		qsort(f->users, f->user_count, sizeof(*f->users), by_use);
	/* Who prepared them, say, does not share them with those that use them. */
	for (; f->user_count > 2 &&
	       (double)f->users[f->user_count - 1].accesses <
		       USER_MIN * (double)f->accesses; f->user_count--)
		f->seldom++;
	return err;
}

/* Who: all threads by their share of the accesses to these lines. */
static void say_who(struct rules *r, struct moca_finding *f,
		    const struct found *x)
{
	char text[USERS_SHOWN * 128 + 64], name[96];
	size_t i, at = 0, shown = 0;

	for (i = 0; i < x->user_count && shown < USERS_SHOWN; i++, shown++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "%s%s %.1f %% (%" PRIu64 " stores)",
				       i ? ", " : "",
				       task_text(r, x->users[i].task, name,
						 sizeof(name)),
				       100. * x->users[i].accesses /
					       x->accesses,
				       x->users[i].stores);
	if (x->user_count > shown)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       " and %zu more", x->user_count - shown);
	if (x->seldom)
		snprintf(text + at, sizeof(text) - at,
			 "; %zu other%s less than %.1f %% each", x->seldom,
			 PLURAL(x->seldom), 100 * USER_MIN);
	finding_line(r, f->evidence,
		     "accesses to these lines in all of the time, by thread: %s",
		     text);
}

static void say_where(struct rules *r, struct moca_finding *f,
		      const struct moca_profile_object *o,
		      const struct found *x)
{
	char at[64], there[200];
	uint64_t addr = x->top->granule * MOCA_COUNTS_LINE;
	unsigned apart;

	if (o->object->addr && addr - o->object->addr < o->object->size &&
	    o->object->instances == 1)
		snprintf(at, sizeof(at), "its byte %" PRIu64 " (0x%" PRIx64 ")",
			 addr - o->object->addr, addr);
	else
		snprintf(at, sizeof(at), "0x%" PRIx64, addr);
	if (!moca_counts_sliced(r->p->counts))
		finding_line(r, f->evidence,
			     "most in the line at %s; the threads lived at the same time, but whether they used it at one moment was not recorded: --slice 100ms tells",
			     at);
	else
		finding_line(r, f->evidence,
			     "most in the line at %s: in %" PRIu32 " of %" PRIu64 " slices%s",
			     at, x->top->slices, r->p->counts->slices,
			     x->top->writers > 1 ?
				     "; several threads write it" : "");
	moca_where_line(r->p, o->object, addr, there, sizeof(there), &apart);
	if (apart > 1)
		finding_line(r, f->evidence,
			     "in that line lie %s: threads that use different ones of these share it falsely",
			     there);
}

/*
 * What it may take, at most: all of it only if each such access waits. Threads
 * cannot wait for longer than they are there.
 */
static void say_cost(struct rules *r, struct moca_finding *f,
		     const struct found *x, uint64_t run_ns)
{
	double share = 100. * x->contended * TRANSFER_NS /
		       ((double)run_ns * (x->user_count ? x->user_count : 1));

	if (share > 100)
		share = 100;
	finding_line(r, f->evidence,
		     "%" PRIu64 " cache line%s of %d bytes: up to %" PRIu64 " accesses may have found the line in another CPU's cache, at %d ns each at most %.0f %% of the time of the %zu threads that use them",
		     x->lines, x->lines == 1 ? "" : "s", MOCA_COUNTS_LINE,
		     x->contended, TRANSFER_NS, share, x->user_count);
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
	if (!moca_counts_sliced(r->p->counts))
		f->confidence = MOCA_CONFIDENCE_LOW;
	finding_set(r, &f->title, is_false ?
		    "parts of different threads meet in cache lines of %s (false sharing)" :
		    "threads write to cache lines of %s that others use at the same time (true or false sharing)",
		    name);
	say_cost(r, f, x, run_ns);
	say_where(r, f, o, x);
	say_who(r, f, x);
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
	try_own_lines(r, f, is_false || several);
}

int rule_shared_lines(struct rules *r, const struct moca_profile_object *o)
{
	const struct moca_counts_table *t = r->p->counts;
	struct found x = { 0 };
	struct moca_finding *f = NULL;
	uint64_t run_ns;

	if (!t || t->granularity != MOCA_COUNTS_LINE)
		return 0;
	run_ns = t->end_ns > t->begin_ns ? t->end_ns - t->begin_ns : 1;
	if (t->contended[o->object->id] * TRANSFER_NS < OBJECT_MIN * run_ns)
		return 0;
	if (look(r, o->object->id, LINE_MIN * run_ns / TRANSFER_NS, &x))
		r->err = -ENOMEM;
	if (!r->err && x.top &&
	    x.contended * TRANSFER_NS >= OBJECT_MIN * run_ns)
		f = finding_add(r, MOCA_FINDING_SHARED_LINES, o,
				(double)x.contended / r->p->accesses);
	if (f)
		say(r, f, o, &x, run_ns);
	free(x.users);
	return f != NULL;
}
