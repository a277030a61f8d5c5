// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cache lines in which two threads write different bytes all the time, as far as
 * records of pages tell: of each interval they have the exact address and
 * instruction of who came first. How often the line moves they do not tell: the
 * finding has the command that does.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/advice/rules.h"
#include "analysis/profile/where.h"

/* Seen less often, two threads may have come once each by chance. */
#define WRITES_MIN 3
#define WRITES_SURE 10
/* Of the intervals: a line that is fought about is used in all of them. */
#define INTERVALS_USED 0.3

/* From the first to the last byte that a mutex or a barrier of glibc has written, at
 * most; of two mutexes side by side these are farther apart. */
#define LOCK_BYTES 28

/* Two users of a line, and what it takes to be about them. */
struct meeting {
	const struct moca_line_user *a, *b;
	const struct moca_profile_object *o;
	uint64_t seen;		/* samples of the line */
	double used;		/* share of the time in whose intervals it is */
};

/* A number is used from its first byte on. */
static int apart(const struct moca_line_user *a, const struct moca_line_user *b)
{
	return !((a->read_bytes | a->write_bytes) &
		 (b->read_bytes | b->write_bytes));
}

static int is_data(const struct moca_profile_object *o)
{
	return o->object->kind == MOCA_OBJECT_HEAP ||
	       o->object->kind == MOCA_OBJECT_SMALL ||
	       o->object->kind == MOCA_OBJECT_STATIC ||
	       o->object->kind == MOCA_OBJECT_ANONYMOUS;
}

int advice_synchronizes(const char *function)
{
	static const char *const prefixes[] = {
		"pthread_", "lll_", "futex_", "sem_", "mtx_", "cnd_",
		"condvar_",
		"gomp_barrier_", "gomp_team_barrier_", "gomp_mutex_",
	};

	if (!function)
		return 0;
	function += strspn(function, "_");
	/* glibc's name for its own calls: __GI___pthread_mutex_unlock. */
	if (!strncmp(function, "GI_", 3))
		function += strspn(function + 3, "_") + 3;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(function, prefixes[i], strlen(prefixes[i])))
			return 1;
	return 0;
}

/* NULL: not known. */
static const char *function_of(struct rules *r, const struct moca_line_user *u)
{
	struct moca_location at;
	const char *path;

	return moca_where_code(r->p, r->trace, u->task, u->ip, u->ip_ns, &at,
			       &path) ? NULL : at.function;
}

static int is_condition(const char *function)
{
	return strstr(function, "cond_") || strstr(function, "condvar_") ||
	       strstr(function, "cnd_");
}

int advice_is_one_lock(const char *a, const char *b, uint64_t bytes)
{
	if (!bytes || !advice_synchronizes(a) || !advice_synchronizes(b))
		return 0;
	/* Who waits for a condition, or tells it, has its mutex as well. */
	if (is_condition(a) || is_condition(b))
		return 1;
	return bytes >> __builtin_ctzll(bytes) < 1ull << LOCK_BYTES;
}

/*
 * A lock, a barrier, a semaphore: all threads are to write it, and it is the C
 * library that does.
 */
static int is_one_lock(struct rules *r, const struct moca_line_user *a,
		       const struct moca_line_user *b)
{
	return advice_is_one_lock(function_of(r, a), function_of(r, b),
				  a->write_bytes | b->write_bytes);
}

static int meets(struct rules *r, const struct moca_line_user *u, size_t n,
		 struct meeting *m)
{
	size_t i;

	*m = (struct meeting){ .a = &u[0], .b = &u[1] };
	m->o = advice_row(r, u[0].key);
	/* What lies in a system library nobody can lay out anew. */
	if (!m->o || !is_data(m->o) || is_of_system(m->o->object))
		return 0;
	for (i = 0; i < n; i++) {
		m->seen += u[i].reads + u[i].writes;
		m->used += (double)u[i].weight;
	}
	m->used /= (double)r->p->lines.unit * (double)r->p->intervals;
	const struct condition needed[] = {
		AT_LEAST("writes by each of two threads, seen", NUMBER,
			 u[1].writes, WRITES_MIN),
		AT_LEAST("intervals in which the line is used", SHARE,
			 m->used, INTERVALS_USED),
		AT_MOST("size", PAGES, m->o->pages, MOCA_LINES_PAGES),
		HOLDS("they use different bytes", apart(&u[0], &u[1])),
		HOLDS("it is more than one lock or barrier",
		      !is_one_lock(r, &u[0], &u[1])),
	};

	return CONDITIONS(r, MOCA_FINDING_SHARED_LINES, m->o, needed);
}

/* "#1 writes args[0].sum in run() f.c:31" */
static void side(struct rules *r, const struct moca_line_user *u, char *buf,
		 size_t len)
{
	const struct moca_profile_object *o = advice_row(r, u->key);
	char what[120] = "?", where[160];
	unsigned byte = (unsigned)__builtin_ctzll(u->write_bytes);

	if (o)
		moca_where_byte(o->object, u->line * MOCA_LINE + byte, what,
				sizeof(what));
	moca_where_code_text(r->p, r->trace, u->task, u->ip, u->ip_ns, where,
			     sizeof(where));
	snprintf(buf, len, "#%" PRIu32 " writes %s (byte %u)%s%s", u->task,
		 what, byte, *where ? " in " : "", where);
}

static void say(struct rules *r, struct moca_finding *f,
		const struct meeting *m, unsigned lines)
{
	char a[340], b[340];
	struct moca_location at;
	const char *path;

	if (!moca_where_code(r->p, r->trace, m->a->task, m->a->ip, m->a->ip_ns,
			     &at, &path)) {
		f->function = at.function;
		f->file = at.file;
		f->line = at.line;
	}
	side(r, m->a, a, sizeof(a));
	side(r, m->b, b, sizeof(b));
	finding_set(r, &f->title,
		    "threads write different parts of one cache line of %s (false sharing is likely)",
		    name_text(r, m->o));
	finding_line(r, f->evidence, "line 0x%" PRIx64 ": %s; %s",
		     m->a->line * MOCA_LINE, a, b);
	finding_line(r, f->evidence,
		     "seen %" PRIu64 " times in %" PRIu64 " intervals, %" PRIu32 " and %" PRIu32 " of these such writes%s",
		     m->seen, r->p->intervals, m->a->writes, m->b->writes,
		     lines > 1 ? "; the table of lines has more" : "");
	finding_set(r, &f->cause,
		    "A CPU that writes to a line takes it away from all others. Each interval shows only who came first, so how often that happens is not known.");
	finding_set(r, &f->fix,
		    "Give what each thread writes cache lines of its own (align and pad it to %u bytes), or let it work on a local variable and write that back at the end. How often they meet, and so what that gains, is told by:",
		    MOCA_LINE);
	finding_line(r, f->try_,
		     "moca record --exact --granularity 64 --slice 100ms -- %s",
		     command_text(r));
	try_own_lines(r, f, 1);
}

/* One finding for each object: its line that was seen most. */
static int add(struct rules *r, const struct meeting *m, unsigned lines)
{
	struct moca_finding *f;

	f = finding_add(r, MOCA_FINDING_SHARED_LINES, m->o,
			m->used * (double)r->p->intervals /
				(double)r->p->accesses);
	if (!f)
		return 0;
	f->confidence = m->b->writes >= WRITES_SURE ? MOCA_CONFIDENCE_MEDIUM :
						      MOCA_CONFIDENCE_LOW;
	f->after = NAN;
	say(r, f, m, lines);
	return 1;
}

int rule_line_turns(struct rules *r)
{
	const struct moca_lines *l = &r->p->lines;
	struct meeting best[3], m;
	unsigned lines[3], count = 0, k;
	size_t i, n;

	if (r->p->intervals < INTERVALS_MIN)
		return 0;
	for (i = 0; i < l->count; i += n) {
		n = moca_line_users(l, i);
		if (!l->users[i + 1].writes ||
		    !meets(r, &l->users[i], n, &m))
			continue;
		for (k = 0; k < count && best[k].o != m.o; k++)
			;
		if (k == sizeof(best) / sizeof(*best))
			continue;
		if (k == count) {
			count++;
			lines[k] = 0;
			best[k] = m;
		}
		lines[k]++;
		if (m.seen > best[k].seen)
			best[k] = m;
	}
	for (k = 0; k < count && !r->err; k++)
		add(r, &best[k], lines[k]);
	return count != 0;
}
