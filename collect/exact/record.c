// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/exact/record.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "collect/exact/collector.h"
#include "collect/ptrace/way.h"
#include "collect/run/target.h"
#include "lib/base/err.h"
#include "lib/base/plural.h"
#include "lib/ring/layout.h"

#define EXIT_OURS 125
#define FSGSBASE 2		/* in AT_HWCAP2 */

struct exact moca_exact_recording;
const char *const exact_reason_names[EXACT_REASONS] = {
	[EXACT_32BIT] = "32-bit program",
	[EXACT_SECCOMP] = "seccomp",
	[EXACT_RIGHTS] = "rights",
	[EXACT_LIMIT] = "address space limited",
	[EXACT_MACHINE] = "machine",
	[EXACT_INJECTION] = "injection",
	[EXACT_GRANULARITY] = "other granularity",
	[EXACT_SANITIZER] = "sanitizer",
	[EXACT_HOSTILE] = "damaged counters",
	[EXACT_UNWRITTEN] = "not written",
};
static const char *const gap_names[] = { MOCA_EXACT_GAP_NAMES };
_Static_assert(sizeof(gap_names) / sizeof(*gap_names) == MOCA_EXACT_GAP_COUNT,
	       "each gap has a name");

const char *moca_exact_missing(void)
{
	struct exact_image im;

	if (!(getauxval(AT_HWCAP2) & FSGSBASE))
		return "this CPU or kernel has no FSGSBASE (Linux 5.9 or newer "
		       "on a CPU of 2013 or newer has it)";
	if (exact_image_agent(&im))
		return "moca was built without its translator (agent/exact)";
	if (exact_image_zydis(&im))
		return "libZydis cannot be read";
	return NULL;
}

/* --- the certificate ---------------------------------------------------------- */

static void add(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

uint64_t exact_gaps(const struct exact_totals *t)
{
	uint64_t sum = 0;

	for (int i = 0; i < MOCA_EXACT_GAP_COUNT; i++)
		add(&sum, t->gaps[i]);
	for (int i = 0; i < EXACT_REASONS; i++)
		add(&sum, atomic_load(&moca_exact_recording.reasons[i]));
	return sum;
}

/* As a key has it: lower-case letters, digits, '_'. */
static void set_gap(struct moca_meta *m, const char *name, uint64_t n)
{
	char key[64] = "exact.gap.";
	size_t at = strlen(key);

	if (!n)
		return;
	for (; *name && at + 1 < sizeof(key); name++)
		key[at++] = isalnum((unsigned char)*name) ? *name : '_';
	key[at] = 0;
	moca_meta_set(m, key, "%lu", n);
}

/* A program that takes more by brk is out of memory, and would not be by itself. */
static void tell_heap(struct moca_meta *m)
{
	const char *why = atomic_load(&moca_exact_recording.heap_stays);
	char text[240];

	if (!why || moca_exact_recording.heap_told)
		return;
	moca_exact_recording.heap_told = 1;
	snprintf(text, sizeof(text), "the heap (brk) of a program that is not "
		 "position-independent grows up to translated code, to 1.7 GiB "
		 "at most, and was not moved: %s", why);
	moca_meta_add(m, "note", text);
}

void exact_describe_totals(struct moca_meta *m, const struct exact_totals *t)
{
	moca_meta_set(m, "intervals", "%lu", t->slices);
	moca_meta_set(m, "certificate.loads", "%lu", t->loads);
	moca_meta_set(m, "certificate.stores", "%lu", t->stores);
	moca_meta_set(m, "certificate.gaps", "%lu", exact_gaps(t));
	moca_meta_set(m, "certificate.pages_seen", "%lu", t->pages);
	moca_meta_set(m, "certificate.pages_touched", "%lu", t->pages);
	if (t->pages_unknown && !moca_meta_get(m, "exact.pages_unknown")) {
		moca_meta_set(m, "exact.pages_unknown", "1");
		moca_meta_add_loss(m, "the number of touched pages is the "
				   "least that it can be: there was no memory "
				   "to count some");
	}
	moca_meta_set(m, "exact.chunks", "%lu", t->chunks);
	moca_meta_set(m, "exact.rows", "%lu", t->rows);
	moca_meta_set(m, "exact.regions", "%lu", t->regions);
	moca_meta_set(m, "exact.blocks", "%lu", t->blocks);
	moca_meta_set(m, "exact.instructions", "%lu", t->instructions);
	moca_meta_set(m, "exact.code_bytes", "%lu", t->code_bytes);
	moca_meta_set(m, "exact.invalidated", "%lu", t->invalidated);
	moca_meta_set(m, "exact.loops", "%lu", t->loops);
	moca_meta_set(m, "exact.memory", "%lu", t->memory);
	for (int i = 0; i < MOCA_EXACT_GAP_COUNT; i++)
		set_gap(m, gap_names[i], t->gaps[i]);
	for (int i = 0; i < EXACT_REASONS; i++)
		set_gap(m, exact_reason_names[i],
			atomic_load(&moca_exact_recording.reasons[i]));
	tell_heap(m);
}

/* --- the way of recording ------------------------------------------------------ */

static int prepare(struct recorder *rec, struct moca_meta *meta,
		   struct moca_writer *writer)
{
	int err;

	moca_meta_set(meta, "exact.granularity", "%lu",
		      moca_exact_recording.opt.granularity);
	moca_meta_set(meta, "exact.slice_ns", "%lu", moca_exact_recording.opt.slice_ns);
	moca_meta_set(meta, "interval_ns", "%lu", moca_exact_recording.opt.slice_ns);
	if (tracer_clock_choose() != MOCA_CLOCK_TSC)
		moca_meta_add(meta, "note", "this machine's time stamp counter "
			      "may stop, or differ between CPUs: times of first "
			      "touches and of mappings may be wrong");
	err = harvest_new(&moca_exact_recording.harvest, rec, meta, writer);
	if (err)
		moca_error("cannot begin the trace in %s: %s", rec->dir,
			   strerror(-err));
	if (!err)
		harvest_begin(moca_exact_recording.harvest, rec->root);
	return err ? EXIT_OURS : 0;
}

static void collect(struct recorder *rec, atomic_int *finished)
{
	harvest_run(moca_exact_recording.harvest, finished);
}

static void summary(struct recorder *rec)
{
	const struct exact_totals *t = harvest_totals(moca_exact_recording.harvest);
	const char *left = moca_exact_recording.left;
	uint64_t gaps = exact_gaps(t);
	char cost[320];

	harvest_cost(moca_exact_recording.harvest, cost, sizeof(cost));
	if (rec->opt->quiet)
		return;
	if (!t->loads && !t->stores)
		moca_say("%s: nothing can be certified: no instruction was "
			 "counted%s%s.", rec->dir, *left ? "; " : "", left);
	moca_say("%s: %lu load%s and %lu store%s counted, %lu gap%s%s; "
		 "%u task%s, %lu slice%s, %lu row%s, %.1f MB; counting took %.1f MB of "
		 "memory; %s.", rec->dir, t->loads, PLURAL(t->loads), t->stores,
		 PLURAL(t->stores), gaps, PLURAL(gaps),
		 gaps ? " (moca info says which)" : "", rec->task_count,
		 PLURAL(rec->task_count), t->slices, PLURAL(t->slices), t->rows,
		 PLURAL(t->rows), t->bytes / 1e6, t->memory / 1e6,
		 cost);
	harvest_say_natives(moca_exact_recording.harvest);
}

static const struct trace_way traced = {
	.space_bytes = sizeof(struct exact_space),
	.after_exec = exact_after_exec,
	.before_child = exact_before_child,
	.after_fork = exact_after_fork,
};

static const struct record_way exact_way = {
	.collector = "exact",
	.killed = "nobody would take over what is counted in it",
	RECORD_TRACED(&traced),
	.prepare = prepare,
	.collect = collect,
	.summary = summary,
};

/*
 * The granule, where the program counts itself (moca cc): as it was built. 0, or
 * -EINVAL after a message: asked for was another, and it would run uncounted.
 */
static int choose_granularity(const char *program,
			      struct moca_exact_options *exact)
{
	char path[4096];
	unsigned int shift = target_find(program, path, sizeof(path)) ? 0 :
				     exact_built_for(path);

	if (!exact->granularity)
		exact->granularity = 1ull << (shift ? shift : 12);
	if (!shift || exact->granularity == 1ull << shift)
		return 0;
	moca_error("'%s' was built by moca cc to count by %u bytes, and cannot "
		   "by the %lu of --granularity: leave --granularity out, or "
		   "build it with --moca-granularity=%lu", program, 1u << shift,
		   exact->granularity, exact->granularity);
	return -EINVAL;
}

int moca_exact_run(const struct moca_record_options *opt,
		   const struct moca_exact_options *exact)
{
	const char *missing = moca_exact_missing();

	if (missing) {
		moca_error("--exact does not work here: %s; see moca doctor",
			   missing);
		return EXIT_OURS;
	}
	moca_exact_recording.opt = *exact;
	if (choose_granularity(opt->argv[0], &moca_exact_recording.opt))
		return EXIT_OURS;
	moca_exact_recording.shift = (unsigned int)
		__builtin_ctzll(moca_exact_recording.opt.granularity);
	return record_run(opt, &exact_way);
}
