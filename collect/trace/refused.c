// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads without a buffer: how many, why, and what they dropped. */
#include <stdio.h>
#include <string.h>

#include "collect/trace/tracer.h"
#include "lib/base/plural.h"
#include "lib/ring/refused.h"

#define EVENTS_MAX (1ull << 48)		/* more is no count */
#define THREADS_MAX (1ull << 32)

static uint64_t read_count(const uint64_t *at, uint64_t most)
{
	uint64_t n = __atomic_load_n(at, __ATOMIC_RELAXED);

	return n > most ? 0 : n;
}

void tracer_refused_sum(const struct tracer_session *s,
			struct tracer_refused *out)
{
	const struct moca_refused *r = moca_refused_in(s->shm.doorbell);
	const struct tracer_totals *t = &s->totals;
	uint64_t threads[MOCA_REFUSALS];
	unsigned int i;

	*out = (struct tracer_refused){
		.events = atomic_load(&t->lost_outside),
		.threads = atomic_load(&t->refused),
		.error = s->refused_error,
	};
	for (i = 0; i < MOCA_REFUSALS; i++) {
		threads[i] = read_count(&r->by[i].threads, THREADS_MAX);
		out->threads += threads[i];
		out->events += read_count(&r->by[i].events, EVENTS_MAX);
	}
	out->rights = threads[MOCA_REFUSED_RIGHTS];
	out->away = threads[MOCA_REFUSED_AWAY];
}

static int is_some(const struct tracer_refused *r)
{
	return r->threads || r->events;
}

/* Adds ", N REASON" or " (N REASON". */
static size_t put_reason(char *buf, size_t size, size_t n, int first,
			 uint64_t count, const char *reason)
{
	if (!count || n >= size)
		return n;
	return n + (size_t)snprintf(buf + n, size - n, "%s%llu %s",
				    first ? " (" : ", ",
				    (unsigned long long)count, reason);
}

int tracer_refused_text(const struct tracer_refused *r, char *buf, size_t size)
{
	uint64_t other = r->threads - r->rights - r->away;
	char refused[128];
	size_t begin, n;

	*buf = 0;
	if (!is_some(r))
		return 0;
	n = (size_t)snprintf(buf, size, "%llu thread%s had no buffer for "
			     "events", (unsigned long long)r->threads,
			     PLURAL(r->threads));
	begin = n;
	n = put_reason(buf, size, n, 1, r->rights,
		       "of processes that run as another user, who may not "
		       "reach the collector");
	n = put_reason(buf, size, n, n == begin, r->away,
		       "could not find the collector: another root directory, "
		       "or it had ended");
	snprintf(refused, sizeof(refused), "%s%s",
		 r->error ? "were refused: " : "had no answer in time",
		 r->error ? strerror(-r->error) : "");
	n = put_reason(buf, size, n, n == begin, other, refused);
	if (n < size)
		n += (size_t)snprintf(buf + n, size - n, "%s; %llu of their "
				      "events are counted as lost",
				      n == begin ? "" : ")",
				      (unsigned long long)r->events);
	return 1;
}
