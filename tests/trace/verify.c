// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Read test:seq events and say, for each writer of each thread, what is there:
 * a line "PID TID WRITER COUNT FIRST LAST MISSING" each, MISSING being how many
 * numbers between FIRST and LAST are not there. Then "lost N", "torn N", "other N" events.
 *
 * usage: verify DIR. Exits 1 when anything is wrong: an event twice or out of
 * order, contents that were never written, time that goes back, damage.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <moca/reader.h>

#include "seq.h"

#define WRITERS 64

struct writer {
	uint64_t count, first, next, missing;
};

static int bad;

static void wrong(const struct moca_task *t, uint64_t writer, uint64_t n,
		  const char *what)
{
	if (bad++ < 20)
		printf("WRONG pid %u tid %u writer %" PRIu64 " n %" PRIu64
		       ": %s\n", t->pid, t->tid, writer, n, what);
}

static uint64_t integer(const struct moca_event *m, size_t field)
{
	struct moca_value v;

	if (moca_event_value(m, field, &v)) {
		bad++;
		return 0;
	}
	return moca_value_integer(&v, 0);
}

static void check(const struct moca_task *t, const struct moca_event *m,
		  struct writer *writers)
{
	uint64_t w = integer(m, 0), n = integer(m, 1);
	struct moca_value v;

	if (w >= WRITERS) {
		wrong(t, w, n, "no such writer");
		return;
	}
	if (integer(m, 2) != seq_check(w, n))
		wrong(t, w, n, "wrong contents");
	if (moca_event_value(m, 3, &v) || v.count != strlen(seq_filler(n)) ||
	    memcmp(v.data, seq_filler(n), v.count))
		wrong(t, w, n, "wrong string");
	if (!writers[w].count)
		writers[w].first = n;
	else if (n < writers[w].next)
		wrong(t, w, n, "twice, or out of order");
	else
		writers[w].missing += n - writers[w].next;
	writers[w].next = n + 1;
	writers[w].count++;
}

static void print_task(const struct moca_task *t, struct writer *w)
{
	int i;

	for (i = 0; i < WRITERS; i++)
		if (w[i].count)
			printf("%u %u %d %" PRIu64 " %" PRIu64 " %" PRIu64
			       " %" PRIu64 "\n", t->pid, t->tid, i, w[i].count,
			       w[i].first, w[i].next - 1, w[i].missing);
}

static const struct moca_task *find_task(struct moca_trace *t, uint32_t id)
{
	size_t i;

	for (i = 0; i < moca_trace_task_count(t); i++)
		if (moca_trace_task(t, i)->id == id)
			return moca_trace_task(t, i);
	return NULL;
}

static uint64_t walk(struct moca_trace *trace)
{
	static struct writer writers[WRITERS];
	const struct moca_task *task = NULL;
	const struct moca_event *m;
	struct moca_cursor *c;
	uint64_t other = 0, last = 0;
	uint32_t id;
	int ret;

	if (moca_cursor_open(&c, trace, NULL))
		exit(2);
	while ((ret = moca_cursor_event(c, &m, &id)) > 0) {
		if (!task || task->id != id) {
			if (task)
				print_task(task, writers);
			memset(writers, 0, sizeof(writers));
			task = find_task(trace, id);
			last = 0;
		}
		if (m->time_ns < last)
			wrong(task, 0, 0, "time goes back");
		last = m->time_ns;
		if (strcmp(m->type->facility, "test") ||
		    strcmp(m->type->name, "seq"))
			other++;
		else
			check(task, m, writers);
	}
	if (task)
		print_task(task, writers);
	if (ret) {
		printf("WRONG cannot read on: %s\n", strerror(-ret));
		bad++;
	}
	moca_cursor_close(c);
	return other;
}

int main(int argc, char **argv)
{
	uint64_t lost = 0, torn = 0, other;
	struct moca_damage damage;
	struct moca_trace *t;
	size_t i;
	int ret;

	ret = argc == 2 ? moca_trace_open(&t, argv[1]) : -22;
	if (ret) {
		fprintf(stderr, "verify: cannot open: %s\n", strerror(-ret));
		return 2;
	}
	other = walk(t);
	for (i = 0; i < moca_trace_task_count(t); i++) {
		lost += moca_trace_task(t, i)->events_lost;
		torn += moca_trace_task(t, i)->events_torn;
	}
	moca_trace_damage(t, &damage);
	if (damage.files || damage.chunks || damage.tail_bytes) {
		printf("WRONG damage: %" PRIu64 " files, %" PRIu64 " chunks, %"
		       PRIu64 " bytes\n", damage.files, damage.chunks,
		       damage.tail_bytes);
		bad++;
	}
	printf("lost %" PRIu64 "\ntorn %" PRIu64 "\nother %" PRIu64 "\n", lost,
	       torn, other);
	moca_trace_close(t);
	return bad ? 1 : 0;
}
