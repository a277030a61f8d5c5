// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/record-companion.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/objects/filter.h"
#include "cli/record-answer.h"
#include "collect/rate/rate.h"
#include "collect/run/own.h"
#include "collect/trace/beside.h"
#include "lib/base/err.h"
#include "lib/base/plural.h"

static struct companion {
	const struct string_list *objects;
	const int *quiet;
	const char *dir;
	const int *no_summary;
	const uint64_t *pid;	/* 0: a command is recorded */
	const uint64_t *hz;	/* of samples; 0: none */
	struct moca_trace_session *events;
	struct rate_beside *rates;
	uint64_t cpu_ns[2];	/* of both, once they have ended */
} companion;

static void start(void *arg, const char *dir, struct moca_quota *quota)
{
	struct companion *c = arg;
	int err = 0;

	c->dir = dir;
	/* First: it describes its events while nobody else writes such. */
	if (*c->hz)
		err = rate_beside_start(&c->rates, dir, 1000000000ull / *c->hz);
	if (err)
		moca_warn("cannot start the sampler of page faults and CPU "
			  "time: %s", strerror(-err));
	if (*c->pid)
		return;
	err = moca_trace_session_start(&c->events, dir, quota);
	if (err)
		moca_warn("cannot start the collector of events: %s",
			  strerror(-err));
}

static const char *session(void *arg)
{
	const struct companion *c = arg;

	return c->events ? moca_trace_session_id(c->events) : NULL;
}

static void ready(void *arg, pid_t pid)
{
	struct companion *c = arg;

	if (c->rates)
		rate_beside_begin(c->rates, pid, !*c->pid);
	if (*c->pid)
		return;
	if (c->events && !moca_trace_session_ready(c->events)) {
		own_memory(moca_trace_session_page(c->events));
		return;
	}
	c->events = NULL;
	moca_warn("the recording goes on without the program's allocations "
		  "and the events that it may emit through libmocatrace");
}

static void halt(void *arg)
{
	struct companion *c = arg;

	if (c->rates)
		rate_beside_stop(c->rates);
	if (c->events)
		moca_trace_session_stop(c->events);
}

static void finish_events(struct companion *c,
			  const struct moca_record_notes *notes)
{
	struct tracer_result r;
	char note[PATH_MAX + 256];
	int err;

	if (c->events)
		c->cpu_ns[1] = moca_trace_session_cpu_ns(c->events);
	err = c->events ? moca_trace_session_finish(c->events, &r) : -ECANCELED;
	c->events = NULL;
	if (err == -ECANCELED) {
		notes->lose(notes->arg, "allocations and events of libmocatrace "
			   "were not recorded: their collector could not be "
			   "started");
		return;
	}
	if (!*c->quiet && r.streams)
		moca_say("%lu event%s (allocations and the program's own), %lu "
			 "lost, %lu torn.", r.events, PLURAL(r.events), r.lost,
			 r.torn);
	if (tracer_refused_text(&r.refused, note, sizeof(note))) {
		if (!*c->quiet)
			moca_say("%s", note);
		notes->add(notes->arg, note);
		notes->set(notes->arg, "trace.outside", r.refused.events);
		notes->set(notes->arg, "trace.refused", r.refused.threads);
		notes->set(notes->arg, "trace.refused_rights",
			   r.refused.rights);
		notes->set(notes->arg, "trace.refused_away", r.refused.away);
	}
	if (!err)
		return;
	if (err == -EOWNERDEAD)
		snprintf(note, sizeof(note), "not all events of libmocatrace "
			 "are here: their collector was killed; get what was "
			 "in its buffers with: moca trace recover %s", c->dir);
	else
		snprintf(note, sizeof(note), "not all events of libmocatrace "
			 "are here: %s", err == -EPIPE ?
				 "their collector ended before its time (killed, or without files or memory)" :
				 strerror(-err));
	moca_warn("%s", note);
	notes->lose(notes->arg, note);
}

/* What is left out of the trace is said in it. */
static void filter_objects(struct companion *c,
			   const struct moca_record_notes *notes)
{
	const struct string_list *list = c->objects;
	struct object_filter_result r = { 0 };
	char names[128] = "", note[512];
	size_t n = 0, i;
	int err;

	/* If we are killed meanwhile, the trace says that it is no whole. */
	notes->set(notes->arg, "filter.begun", 1);
	err = notes->write(notes->arg);
	if (!err)
		err = object_filter(c->dir, list, &r);
	notes->set(notes->arg, "filter.begun", 0);
	for (i = 0; i < list->count && n < sizeof(names); i++)
		n += snprintf(names + n, sizeof(names) - n, "%s%s",
			      i ? ", " : "", list->items[i]);
	if (err)
		snprintf(note, sizeof(note), "--object %s: accesses to other "
			 "objects could not be taken out: %s%s", names,
			 strerror(-err), err == -EIO ? "; some were" : "");
	else if (!r.objects)
		snprintf(note, sizeof(note), "--object %s: no object has such "
			 "a name, so all accesses were kept; moca objects "
			 "lists the names", names);
	else
		snprintf(note, sizeof(note), "--object %s: %lu accesses to %lu "
			 "objects are here, %lu to others were taken out; the "
			 "certificate is of all", names, r.kept, r.objects,
			 r.dropped);
	if (!err || err == -EIO)
		notes->set(notes->arg, "filter.dropped", r.dropped);
	if (err || !r.objects)
		moca_warn("%s", note);
	else if (!*c->quiet)
		moca_say("%s", note);
	(err ? notes->lose : notes->add)(notes->arg, note);
}

static void finish_rates(struct companion *c,
			 const struct moca_record_notes *notes)
{
	struct rate_beside_result r;
	char note[256];
	int err;

	if (!*c->hz)
		return;
	if (!c->rates) {
		notes->lose(notes->arg, "page faults and CPU time were not "
			   "sampled: the sampler could not be started");
		return;
	}
	err = rate_beside_finish(c->rates, &r);
	c->rates = NULL;
	c->cpu_ns[0] = r.cpu_ns;
	notes->set(notes->arg, "rate.period_ns", 1000000000ull / *c->hz);
	notes->set(notes->arg, "rate.rounds", r.rounds);
	notes->set(notes->arg, "rate.missed", r.missed);
	notes->set(notes->arg, "rate.sampler_cpu_ns", r.cpu_ns);
	if (!err)
		return;
	snprintf(note, sizeof(note), "not all samples of page faults and CPU "
		 "time are here: %s", err == -EPIPE ? "the sampler was killed" :
		 err == -ETIMEDOUT ? "the sampler did not end in time" :
		 strerror(-err));
	moca_warn("%s", note);
	notes->lose(notes->arg, note);
}

static void finish(void *arg, const struct moca_record_notes *notes)
{
	struct companion *c = arg;

	finish_rates(c, notes);
	if (*c->pid)
		return;
	finish_events(c, notes);
	if (c->objects->count)
		filter_objects(c, notes);
}

static void answer(void *arg, const char *dir, uint64_t run_ns)
{
	const struct companion *c = arg;

	if (!*c->quiet && !*c->no_summary)
		record_answer(dir, run_ns);
}

static struct moca_meter *meter(void *arg)
{
	struct companion *c = arg;

	return c->events ? moca_trace_session_meter(c->events) : NULL;
}

static uint64_t cpu_ns(void *arg, int which)
{
	struct companion *c = arg;

	if (!which)
		return c->rates ? rate_beside_cpu_ns(c->rates) : c->cpu_ns[0];
	return c->events ? moca_trace_session_cpu_ns(c->events) : c->cpu_ns[1];
}

static pid_t pid_of(void *arg, int which)
{
	struct companion *c = arg;

	if (!which)
		return c->rates ? rate_beside_pid(c->rates) : 0;
	return c->events ? moca_trace_session_pid(c->events) : 0;
}

struct moca_record_companion
record_companion(const struct string_list *objects, const int *quiet,
		 const uint64_t *pid, const uint64_t *hz,
		 const int *no_summary)
{
	companion = (struct companion){ .objects = objects, .quiet = quiet,
					.pid = pid, .hz = hz,
					.no_summary = no_summary };
	return (struct moca_record_companion){
		.start = start, .session = session, .ready = ready,
		.halt = halt, .finish = finish, .answer = answer, .meter = meter,
		.cpu_ns = cpu_ns, .pid = pid_of, .arg = &companion,
	};
}
