// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/fault/asked.h"
#include "collect/fault/attached.h"
#include "collect/fault/collector.h"
#include "collect/fault/filter.h"
#include "collect/fault/freeze.h"
#include "collect/fault/image.h"
#include "collect/fault/mapcall.h"
#include "collect/fault/mm.h"
#include "collect/fault/task-clock.h"
#include "collect/fault/zap.h"
#include "collect/perf/refused.h"
#include "collect/ptrace/way.h"
#include "collect/run/attach-check.h"
#include "collect/run/recording.h"
#include "collect/run/target.h"
#include "lib/base/arch.h"
#include "lib/base/err.h"
#include "lib/base/plural.h"

#define EXIT_OURS 125

static struct collector *collector;

static void describe_sampler(struct moca_meta *m, const struct sampler *s)
{
	const char *names[] = { "tracepoint", "instruction", "instruction" };

	moca_meta_set(m, "read_write_source", "%s", names[sampler_source(s)]);
	moca_meta_set(m, "ring_bytes", "%zu", sampler_ring_bytes(s));
	moca_meta_set(m, "mappings_told", "all");
	if (sampler_source(s) == SAMPLER_USER_ONLY)
		moca_meta_add(m, "note",
			      "accesses inside system calls cannot be seen by "
			      "this user: pages that only the kernel touches "
			      "count as touched and not seen (root, or sysctl "
			      "kernel.perf_event_paranoid=1, would show them)");
}

static void summary(struct recorder *r)
{
	struct collector_totals t;
	char seen[512], empty[64] = "";
	const struct moca_certificate *k = &t.certificate;
	char cost[320];

	collector_cost(collector, cost, sizeof(cost));
	if (r->opt->quiet)
		return;
	collector_totals(collector, &t);
	if (t.filled < t.intervals)
		snprintf(empty, sizeof(empty), " (%lu with accesses)", t.filled);
	moca_say("%s: %s, %lu record%s, %lu lost, %lu of %lu chunk%s lossy; "
		 "%u task%s, %lu interval%s%s%s%s, %.1f MB; %s.",
		 r->dir, certify_sentence(t.blind, k, seen, sizeof(seen)),
		 k->records, PLURAL(k->records), k->lost, k->lossy_chunks,
		 k->chunks, PLURAL(k->chunks), t.tasks, PLURAL(t.tasks),
		 t.intervals, PLURAL(t.intervals), empty,
		 *t.shares ? ", samples: " : "", t.shares, t.bytes / 1e6, cost);
	if (k->lost)
		moca_say("samples were lost as there was no room for them until "
			 "the recorder got a CPU: leave it one, or let less come at a time (%s)",
			 r->opt->stack_bytes ? "--stack-bytes 512, or no --stacks" :
					       "a longer --interval");
}

static void explain_sampler(const struct recorder *rec, int err,
			    const char *what)
{
	int rights = err == -EACCES || err == -EPERM;

	if (rec->attach && (err == -ESRCH ||
			    (rights && !refused_by_sysctl(err))))
		attach_refused(rec->opt->attach, err);
	else
		refused_explain(err, what);
}

static pid_t *list_threads(const struct recorder *rec, size_t *count)
{
	pid_t *tids = NULL;

	if (!rec->attach) {
		tids = malloc(sizeof(*tids));
		if (tids)
			tids[0] = rec->root;
		*count = tids != NULL;
		return tids;
	}
	return target_threads(rec->opt->attach, count);
}

static int prepare(struct recorder *r, struct moca_meta *meta,
			 struct moca_writer *writer)
{
	struct task_clock *clock = NULL;
	struct sampler *sampler = NULL;
	const char *what = "trace the program";
	pid_t *tids;
	size_t n = 0;
	int err;

	recording_describe_budget(r->opt, meta);
	tids = list_threads(r, &n);
	err = n ? sampler_open(&sampler, tids, n, !r->attach,
			       r->opt->tracepoints, r->opt->stack_bytes,
			       &what) : -ESRCH;
	if (!err)
		clock = task_clock_open(tids, n, !r->attach);
	free(tids);
	if (err) {
		explain_sampler(r, err, what);
		return EXIT_OURS;
	}
	moca_debug("%.1f ms: events open", (moca_now_ns() - r->start_ns) / 1e6);
	if (r->opt->tracepoints && sampler_source(sampler) != SAMPLER_TRACEPOINT)
		moca_warn("--tracepoints: this user may not read the page-fault tracepoints; read or write is told by the instruction instead ('moca doctor' says what is missing)");
	describe_sampler(meta, sampler);
	err = collector_create(&collector, r, sampler, writer, meta,
			       clock);
	if (err)
		moca_error("cannot begin the trace in %s: %s", r->dir,
			   strerror(-err));
	return err ? EXIT_OURS : 0;
}

static void collect(struct recorder *r, atomic_int *done)
{
	collector_run(collector, done);
}

static int forks_share(const struct space *s)
{
	return ((const struct mm *)s)->state == MM_MOVED;
}

/* What a fork froze is told of the process that goes on, too. */
static void space_left(struct recorder *rec, struct task *t)
{
	zap_tell(rec, mm_of(t->space), t);
	freeze_told(rec, mm_of(t->space), t);
}

static void child_announced(struct recorder *rec, struct task *child)
{
	const struct mm *mm = mm_of(child->space);
	char text[200];

	if (mm->freeze.bytes)
		freeze_tell(rec, child);
	if (mm->untold)
		task_event_unmapped(rec, child, "the mappings of the program "
				    "that forked it are not told: real faults "
				    "only");
	if (!mm->refused)
		return;
	snprintf(text, sizeof(text), "the memory of a fork's child could not be "
		 "moved (%s): real faults only", strerror(mm->refused));
	task_event_unmapped(rec, child, text);
}

/* What it did before has neither a task nor mappings that it could be of. */
static void attach(struct recorder *rec, struct space *s, struct task *t)
{
	collector_attached(collector);
	attached_begin(rec, s, t);
}

/* The mappings that it makes from now on are not told. */
static void detach(struct recorder *rec)
{
	collector_detached(collector);
	attached_end(rec);
}

static const struct trace_way traced = {
	.filtered = 1,
	.space_bytes = sizeof(struct mm),
	.space_begin = mm_begin,
	.space_left = space_left,
	.space_end = mm_end,
	.space_free = mm_free,
	.is_copy = mm_is_copy,
	.after_exec = image_after_exec,
	.forks_share = forks_share,
	.after_fork = image_after_fork,
	.child_announced = child_announced,
	.call_wanted = mapcall_wanted,
	.call = mapcall_handle,
	.asked = asked_now,
	.waits = asked_waits,
	.give = asked_give,
	.attach = attach,
	.detach = detach,
};

static const struct record_way fault_way = {
	.collector = "fault",
	.killed = "its memory needs looking after while it is traced",
	RECORD_TRACED(&traced),
	.before_exec = filter_install,
	.prepare = prepare,
	.collect = collect,
	.summary = summary,
};

/* What this machine cannot have, told. */
static int is_refused(const struct moca_record_options *opt)
{
	long page = sysconf(_SC_PAGESIZE);

	if (page != (long)PAGE_SIZE) {
		moca_error(
			"recording page accesses from user space takes a "
			"kernel "
			"with pages of %lu bytes; those of this one have %ld",
			PAGE_SIZE, page);
		return 1;
	}
	if (MOCA_IS_X86 || !opt->attach)
		return 0;
	moca_error("-p from user space " MOCA_X86_ONLY
		   "; load the kernel module "
		   "and say --via kernel (`make kmod` builds it), or start the "
		   "program by moca record");
	return 1;
}

int moca_fault_run(const struct moca_record_options *opt)
{
	if (is_refused(opt))
		return EXIT_OURS;
	return record_run(opt, &fault_way);
}
