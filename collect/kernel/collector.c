// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel/collector.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/kernel/heat.h"
#include "collect/kernel/merge.h"
#include "collect/kernel/trace.h"
#include "collect/run/certificate.h"
#include "collect/run/control.h"
#include "collect/run/recording.h"
#include "lib/base/err.h"
#include "lib/base/plural.h"
#include "lib/format/meta.h"
#include "lib/format/writer.h"

/* What waits for its interval to end. More is written in pieces. */
#define WAITING_BYTES (512ul << 20)
/* A record adds that much of a false fault to one that comes anyway. */
#define NATURAL_SHARE 0.22

struct kernel_collector {
	struct recorder *rec;
	struct recording recording;
	struct kernel_device dev;
	struct kernel_merge *merge;
	struct kernel_trace *trace;
	struct kernel_heat *heat;	/* NULL: not asked for, or written */
	struct control control;
	struct moca_totals totals;
	uint64_t monitor_ns, cpu_ns;	/* accounted already */
	uint64_t account_ns;
	int running;		/* the module records */
	int early;		/* an interval was written in pieces */
};

/* The module shall look no more; what it saw until now is in the rings. */
static void halt(void *arg)
{
	struct kernel_collector *c = arg;

	if (!c->running)
		return;
	c->running = 0;
	if (kernel_device_stop(&c->dev))
		moca_warn("cannot stop the module's recording: %s",
			  strerror(errno));
	kernel_device_totals(&c->dev, &c->totals);
}

static void take_until(struct kernel_collector *c, uint64_t interval)
{
	struct kernel_item item;

	while (kernel_merge_next(c->merge, interval, &item))
		kernel_trace_take(c->trace, &item);
}

static void take_interval(struct kernel_collector *c, uint64_t interval)
{
	uint64_t begin, end;

	kernel_merge_ahead(c->merge, interval, kernel_trace_ahead, c->trace);
	take_until(c, interval);
	kernel_merge_close(c->merge, interval, &begin, &end);
	kernel_trace_cut(c->trace, interval, end);
}

/* Write what has ended; but of the last, unless it is the very last, wait for
 * what came right after it. */
static void pump(struct kernel_collector *c, int all)
{
	uint64_t interval;
	int err = 0;

	if (c->dev.ring_count)
		err = kernel_merge_fill(c->merge, c->dev.rings);
	if (err == -EBADMSG)
		recording_fail(&c->recording, err, "understand the module's rings while recording");
	while (kernel_merge_ready(c->merge, &interval) &&
	       (all || kernel_merge_is_behind(c->merge, interval)))
		take_interval(c, interval);
	/* Order between the rings is then known a little less well. */
	if (err == -ENOMEM || kernel_merge_bytes(c->merge) > WAITING_BYTES) {
		c->early = 1;
		take_until(c, interval);
	}
	err = kernel_trace_error(c->trace);
	if (err)
		recording_fail(&c->recording, err, "write the trace");
	recording_check_size(&c->recording);
}

/* Bring what was spent up to date. */
static void account(struct kernel_collector *c)
{
	struct kernel_trace_faults f;
	uint64_t cpu = moca_thread_cpu_ns(), now = moca_now_ns();
	struct control_window w = { 0 };

	if (c->running)
		kernel_device_totals(&c->dev, &c->totals);
	kernel_trace_busiest(c->trace, &f);
	w.busiest_ns = f.repeated * c->control.fault_ns +
		       f.natural * c->control.natural_ns;
	/* All CPUs are taken to be busy with the program. */
	w.busiest_ns += (double)(estimate_since(cpu, c->cpu_ns) +
				 estimate_since(c->totals.monitor_ns,
						c->monitor_ns)) /
			c->control.cpus;
	w.wall_ns = estimate_since(now, c->account_ns);
	control_settle(&c->control, &w);
	c->cpu_ns = cpu;
	c->monitor_ns = c->totals.monitor_ns;
	c->account_ns = now;
}

static int second(void *arg, uint64_t now, struct status_now *s)
{
	struct kernel_collector *c = arg;

	account(c);
	s->records = kernel_trace_records(c->trace);
	s->slowdown = control_slowdown(&c->control, now);
	s->intervals = c->totals.interval + 1;
	s->lost = kernel_trace_certificate(c->trace)->lost;
	return 1;
}

static void describe(void *arg, uint64_t now)
{
	struct kernel_collector *c = arg;
	const struct moca_certificate k = certificate_after(
		kernel_trace_certificate(c->trace), c->recording.failed);
	const struct moca_totals *n = &c->totals;
	struct moca_meta *m = c->recording.meta;

	if (control_wall(&c->control, now).told)
		moca_meta_set(m, "slowdown_estimate", "%.4f",
			      control_slowdown(&c->control, now));
	moca_meta_set(m, "fault_ns", "%.0f", c->control.fault_ns);
	moca_meta_set(m, "intervals", "%lu", (uint64_t)n->interval + 1);
	moca_meta_set(m, "phys_source", "%s",
		      kernel_trace_has_phys(c->trace) ? "kernel" : "none");
	if (c->recording.failed)
		moca_meta_set(m, "certificate.reason", "%s", CERTIFICATE_FAILED);
	certificate_describe(&k, m);
	moca_meta_set(m, "kernel.faults", "%lu", (uint64_t)n->faults);
	moca_meta_set(m, "kernel.false_faults", "%lu",
		      (uint64_t)n->false_faults);
	moca_meta_set(m, "kernel.injected", "%lu", (uint64_t)n->injected);
	moca_meta_set(m, "kernel.swept", "%lu", kernel_trace_swept(c->trace));
	moca_meta_set(m, "kernel.held", "%lu", (uint64_t)n->held);
	moca_meta_set(m, "kernel.skipped", "%lu", (uint64_t)n->skipped);
	moca_meta_set(m, "kernel.monitor_ns", "%lu", (uint64_t)n->monitor_ns);
	if (!c->rec->opt->heat_ns)
		return;
	moca_meta_set(m, "heat.looks", "%lu", (uint64_t)n->looks);
	moca_meta_set(m, "heat.looked", "%lu", (uint64_t)n->looked);
	moca_meta_set(m, "heat.touched", "%lu", (uint64_t)n->hot);
	moca_meta_set(m, "heat.held", "%lu", (uint64_t)n->looks_held);
	moca_meta_set(m, "heat.lost", "%lu", (uint64_t)n->looks_lost);
	moca_meta_set(m, "heat.look_ns", "%lu", (uint64_t)n->look_ns);
}

static const struct recording_ops ops = {
	.halt = halt,
	.second = second,
	.describe = describe,
};

static void wait_for_work(struct kernel_collector *c)
{
	struct pollfd p[3] = { { c->running ? c->dev.fd : -1, POLLIN, 0 } };

	recording_wait(&c->recording, p, 1, UINT64_MAX);
	/* A device that cannot say when would be readable for ever. */
	if (p[0].revents & (POLLERR | POLLHUP | POLLNVAL))
		usleep(1000);
}

/* Is there nothing that could still do something? */
static int is_over(struct kernel_collector *c, atomic_int *finished)
{
	struct recorder *rec = c->rec;

	if (rec->attach && atomic_load(&rec->stop_recording))
		return 1;
	if (!atomic_load(finished))
		return 0;
	/* What is left of a rank that was killed goes on, unrecorded. */
	if (atomic_load(&rec->rank_ended))
		return 1;
	if (!c->running)	/* we ended early: of its children we know no more */
		return 1;
	return kernel_device_totals(&c->dev, &c->totals) ||
	       !c->totals.processes;
}

/* What was lost behind the last chunk is told in the sums only. */
static void settle_lost(struct kernel_collector *c)
{
	uint64_t told = kernel_trace_certificate(c->trace)->lost;

	if (c->totals.lost > told)
		kernel_trace_lost(c->trace, c->totals.lost - told);
}

static void finish_heat(struct kernel_collector *c)
{
	uint64_t lost = kernel_heat_lost(c->heat);
	int err = kernel_heat_close(c->heat);
	char text[160];

	c->heat = NULL;
	if (err)
		snprintf(text, sizeof(text), "not all looks at heat are here: "
			 "they could not be written: %s", strerror(-err));
	else if (lost)
		snprintf(text, sizeof(text), "not all heat is here: there was "
			 "no room for what sweeps found of %lu stretch%s of "
			 "2 MB", lost, lost == 1 ? "" : "es");
	if (err || lost)
		moca_meta_add_loss(c->recording.meta, text);
}

static void finish(struct kernel_collector *c)
{
	uint64_t interval, damaged;

	halt(c);
	pump(c, 1);
	/* The last interval ends here, whatever the module says of it. */
	kernel_merge_ready(c->merge, &interval);
	take_until(c, UINT64_MAX);
	kernel_trace_cut(c->trace, interval, moca_now_ns());
	settle_lost(c);
	kernel_trace_cut(c->trace, interval + 1, moca_now_ns());
	if (kernel_trace_error(c->trace))
		recording_fail(&c->recording, kernel_trace_error(c->trace), "write the trace");
	finish_heat(c);
	damaged = kernel_merge_damaged(c->merge);
	if (damaged)
		moca_meta_add_loss(c->recording.meta, "the module handed over chunks "
			      "that made no sense: what was in them is lost");
	if (c->early)
		moca_meta_add(c->recording.meta, "note", "an interval had too much for "
			      "the recorder's memory: it was written in pieces, "
			      "and times may be late by as much");
	if (kernel_trace_held(c->trace) || c->totals.held)
		moca_meta_add(c->recording.meta, "note", "the rings were full: in some "
			      "intervals pages were not looked at again");
}

void kernel_collector_run(struct kernel_collector *c, atomic_int *finished)
{
	int last, halted;

	c->cpu_ns = moca_thread_cpu_ns();
	c->control.start_ns = c->account_ns = moca_now_ns();
	do {
		last = is_over(c, finished);
		halted = !c->running;
		pump(c, 0);
		/* We ended before the program: it shall run as if alone. */
		if (halted)
			kernel_device_close(&c->dev);
		recording_tick(&c->recording, moca_now_ns());
		if (!last)
			wait_for_work(c);
	} while (!last);
	finish(c);
	account(c);
	kernel_device_close(&c->dev);
	recording_end(&c->recording);
}

void kernel_collector_summary(const struct kernel_collector *c)
{
	struct estimate e = control_wall(&c->control, moca_now_ns());
	char seen[512], cost[96];
	const struct moca_certificate after = certificate_after(
		kernel_trace_certificate(c->trace), c->recording.failed);
	const struct moca_certificate *k = &after;
	uint64_t intervals = c->totals.interval;
	uint32_t tasks = kernel_trace_tasks(c->trace);

	estimate_wall(&e, cost, sizeof(cost));
	moca_say("%s: %s, %lu record%s, %lu lost, %lu of %lu chunk%s lossy; "
		 "%u task%s, %lu interval%s, %.1f MB; %s, of faults and sweeps "
		 "alone; by the kernel module.", c->rec->dir,
		 certificate_sentence(k, c->recording.failed ?
			CERTIFICATE_FAILED : NULL, seen, sizeof(seen)),
		 k->records, PLURAL(k->records), k->lost, k->lossy_chunks,
		 k->chunks, PLURAL(k->chunks), tasks, PLURAL(tasks), intervals,
		 PLURAL(intervals), moca_writer_bytes(c->recording.writer) / 1e6, cost);
}

static int is_wanted(void *arg, pid_t pid, const char *path)
{
	return record_wanted(arg, pid, path);
}

int kernel_collector_create(struct kernel_collector **out,
			    struct recorder *rec, struct kernel_device *dev,
			    struct moca_writer *writer, struct moca_meta *meta,
			    double fault_ns)
{
	struct kernel_collector *c = calloc(1, sizeof(*c));
	uint64_t now = moca_now_ns();
	struct kernel_trace_options o = {
		.jit = rec->jit,
		.writer = writer, .own_faults = &rec->own_faults,
		.start_ns = rec->start_ns, .root = rec->root,
		.attach = rec->attach, .injects = rec->opt->zap,
		.wanted = is_wanted, .arg = rec,
	};

	int err = 0;

	if (!c)
		return -ENOMEM;
	c->rec = rec;
	c->running = 1;
	c->dev.fd = -1;
	if (rec->opt->heat_ns)
		err = kernel_heat_create(&c->heat, rec);
	o.heat = c->heat;
	c->merge = kernel_merge_new(dev->ring_count);
	c->trace = kernel_trace_new(&o);
	if (recording_init(&c->recording, rec, meta, writer, &ops, c) ||
	    !c->merge || !c->trace)
		err = -ENOMEM;
	if (err) {
		kernel_collector_destroy(c);
		return err;
	}
	control_init(&c->control, rec->opt->budget, rec->opt->interval_ns,
		     fault_ns, (unsigned int)sysconf(_SC_NPROCESSORS_ONLN), now);
	c->control.natural_ns = fault_ns * NATURAL_SHARE;
	c->dev = *dev;
	*out = c;
	return 0;
}

void kernel_collector_destroy(struct kernel_collector *c)
{
	if (!c)
		return;
	kernel_device_close(&c->dev);
	kernel_heat_close(c->heat);
	kernel_merge_free(c->merge);
	kernel_trace_free(c->trace);
	recording_free(&c->recording);
	free(c);
}
