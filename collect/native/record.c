// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/native/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/native/collector.h"
#include "collect/native/inject.h"
#include "collect/native/rwp.h"
#include "collect/native/space.h"
#include "collect/perf/refused.h"
#include "collect/ptrace/way.h"
#include "collect/run/recording.h"
#include "lib/base/err.h"
#include "lib/format/meta.h"

#define EXIT_OURS 125
/*
 * What perf's sample adds to a page that is protected and faults, as instructions of
 * all (409 + 1,504, and 1,310 for the sample, in QEMU): times are taken without one.
 */
#define SAMPLE_SHARE 1.7
/* Where nothing can be measured. */
#define DEFAULT_NS 1500.0

static struct native_collector *collector;

void moca_native_try(struct moca_native_check *c)
{
	int err = rwp_probe();

	memset(c, 0, sizeof(*c));
	c->error = -err;
	if (!err)
		return;
	if (err == -EOPNOTSUPP) {
		snprintf(c->why, sizeof(c->why), "this kernel's userfaultfd has no "
			 "read-write protection (RWP: Linux 7.3 and newer, built "
			 "with CONFIG_USERFAULTFD)");
		c->fix = "record with --via user, which moves the memory; or boot "
			 "a newer kernel";
	} else if (err == -ENOSYS) {
		snprintf(c->why, sizeof(c->why), "this kernel has no userfaultfd, "
			 "or a seccomp filter forbids it");
		c->fix = "record with --via user";
	} else {
		snprintf(c->why, sizeof(c->why), "cannot protect memory by "
			 "userfaultfd: %s", strerror(-err));
		c->fix = "record with --via user";
	}
}

static void describe(struct recorder *rec, struct moca_meta *m,
		     const struct sampler *s)
{
	const char *names[] = { "tracepoint", "instruction", "instruction" };

	moca_meta_set(m, "via", "native");
	recording_describe_budget(rec->opt, m);
	moca_meta_set(m, "read_write_source", "%s", names[sampler_source(s)]);
	moca_meta_set(m, "ring_bytes", "%zu", sampler_ring_bytes(s));
	moca_meta_set(m, "phys_source", "none");
	moca_meta_add(m, "note", "a page has one record in an interval, of its first "
		      "touch: a write after a read is not seen; files on disk "
		      "(code, initialised variables) show their first touches "
		      "alone; nodes of pages are unknown");
	if (sampler_source(s) == SAMPLER_USER_ONLY)
		moca_meta_add(m, "note", "accesses inside system calls cannot be "
			      "seen by this user: pages that only the kernel "
			      "touches count as touched and not seen (root, or "
			      "sysctl kernel.perf_event_paranoid=1, would show "
			      "them)");
}

static int prepare(struct recorder *rec, struct moca_meta *meta,
		   struct moca_writer *writer)
{
	double price_ns = SAMPLE_SHARE * rwp_price_ns();
	const char *what = "trace the program";
	struct sampler *sampler;
	int err;

	err = sampler_open(&sampler, &rec->root, 1, 1, rec->opt->tracepoints, 0,
			   &what);
	if (err) {
		refused_explain(err, what);
		return EXIT_OURS;
	}
	describe(rec, meta, sampler);
	err = native_collector_create(&collector, rec, sampler, writer, meta,
				      price_ns > 0 ? price_ns : DEFAULT_NS);
	if (err) {
		sampler_close(sampler);
		moca_error("cannot begin the trace in %s: %s", rec->dir,
			   strerror(-err));
	}
	return err ? EXIT_OURS : 0;
}

static void collect(struct recorder *rec, atomic_int *finished)
{
	native_collector_run(collector, finished);
}

static void summary(struct recorder *rec)
{
	if (!rec->opt->quiet)
		native_collector_summary(collector);
}

static const struct trace_way traced = {
	.survives = 1,
	.space_bytes = sizeof(struct native_space),
	.space_begin = native_space_begin,
	.space_free = native_space_free,
	.after_exec = native_after_exec,
	.after_fork = native_after_fork,
	.child_announced = native_child_announced,
	.exiting = native_exiting,
	.call = native_call,
};

static const struct record_way native_way = {
	.collector = "fault",	/* page accesses, for who reads it */
	RECORD_TRACED(&traced),
	.before_exec = native_filter,
	.prepare = prepare,
	.collect = collect,
	.summary = summary,
};

int moca_native_run(const struct moca_record_options *opt)
{
	struct moca_native_check check;

	moca_native_try(&check);
	if (check.error) {
		moca_error("--via native: %s; %s", check.why, check.fix);
		return EXIT_OURS;
	}
	return record_run(opt, &native_way);
}
