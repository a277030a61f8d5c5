/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces made touch by touch, and what is said of them. */
#ifndef TESTS_UNIT_ADVICE_TRACE_H
#define TESTS_UNIT_ADVICE_TRACE_H

#include <math.h>

#include "analysis/advice/advice.h"
#include "analysis/phases.h"
#include "lib/base/stripe.h"
#include "lib/format/machine.h"
#include "tests/unit/objects-trace.h"

#define THREADS 2
#define BIG 2048u		/* pages: 8 MiB */
#define TOUCHES 2000000u
#define INTERVAL_NS 20000000ull

struct touch {
	uint32_t task;
	uint32_t interval;
	uint64_t addr;
	uint8_t type;
	uint8_t gone;		/* the sweep before let its page be */
	uint16_t weight;
};

static struct touch *touches;
static size_t touch_count;
static uint32_t interval;
/* From this interval on they are so many times as long; 0: none is. */
static uint32_t long_from;
static unsigned long_times;
/* When interval 0 begins; 0: after all that is told. */
static uint64_t first_ns;
/* Tasks on CPUs of their number, and the node that all pages are on. */
static int recorded_node = MOCA_NODE_UNKNOWN;
/* Not 0: tasks change the CPU after so many intervals. */
static unsigned stays;
static unsigned unknown_of_10;	/* touches whose node is not told */
/* Call stacks, from number 1 on, and which one a touch has; NULL: none. */
static const struct moca_stack *stacks;
static size_t stack_count;
static uint32_t (*stack_of)(const struct touch *t);
/* The instruction of a touch; NULL: one of each task, 16 bytes apart. */
static uint64_t (*ip_of)(const struct touch *t);
static struct moca_profile *profile;
static struct moca_advice *advice;
static struct moca_phases phases;

/* A program of as many threads, with an object of so many pages at HEAP. */
static inline void begin(unsigned threads, uint64_t pages)
{
	unsigned i;

	start_program();
	put_map(0, HEAP + (64 << 20), 256 << 20, "");
	for (i = 1; i < threads; i++)
		start_task(i, 100, 100 + i, 0, MOCA_TASK_THREAD);
	put_stack(0, 1, 1);
	put_alloc(0, HEAP, pages * PAGE, 1, MOCA_ALLOC_MALLOC);
	touch_count = 0;
	interval = 0;
	first_ns = 0;
	if (!touches)
		touches = malloc(TOUCHES * sizeof(*touches));
	if (!touches)
		abort();
}

static inline void touch(uint32_t task, uint64_t page, int type)
{
	if (touch_count == TOUCHES)
		abort();
	touches[touch_count++] = (struct touch){ task, interval,
						 HEAP + page * PAGE + 8,
						 (uint8_t)type, 0, 1 };
}

/* All of [from, to), page by page. */
static inline void sweep(uint32_t task, uint64_t from, uint64_t to, int type)
{
	for (; from < to; from++)
		touch(task, from, type);
}

static inline void next(void)
{
	interval++;
}

/*
 * As sweeps of samples would have seen it, at the level of each interval. What has
 * fewer pages than LARGE in a row is swept whole, and so are stripes of rank `core`.
 * A page that had no entry, as it was not used since a sweep took that, always shows.
 */
#define LARGE 256u

static int is_large(uint64_t page, uint8_t *there, uint64_t pages)
{
	uint64_t from = page, to = page;

	while (from && there[from - 1])
		from--;
	while (to + 1 < pages && there[to + 1])
		to++;
	return to - from + 1 >= LARGE;
}

static inline void thin(unsigned (*level_of)(uint32_t interval), unsigned core)
{
	enum { GONE = 1, OURS = 2 };
	uint64_t pages = (320 << 20) / PAGE, page, key;
	uint8_t *there = calloc(pages, 1), *large = calloc(pages, 1);
	uint8_t *state = malloc(pages);
	uint32_t k = UINT32_MAX;
	unsigned level = 0;
	struct touch *t;
	size_t i;

	if (!there || !large || !state)
		abort();
	memset(state, GONE, pages);
	for (i = 0; i < touch_count; i++)
		there[(touches[i].addr - HEAP) / PAGE] = 1;
	for (page = 0; page < pages; page++)
		large[page] = there[page] &&
			      (page && there[page - 1] ? large[page - 1] :
				       is_large(page, there, pages));
	for (page = 0; page < pages; page++)
		large[page] &= moca_stripe_rank(HEAP + page * PAGE,
						MOCA_STRIPE_CORE_KEY) < core;
	for (i = 0; i < touch_count; i++) {
		t = &touches[i];
		for (; k != t->interval; k++) {
			/* The sweep behind interval k. */
			level = level_of(k + 1);
			key = moca_stripe_key(1, k + 1);
			for (page = 0; page < pages; page++)
				if (state[page] & GONE)
					state[page] = GONE;
				else if (!large[page] ||
					 moca_stripe_rank(HEAP + page * PAGE,
							  key) >= level)
					state[page] = GONE | OURS;
		}
		page = (t->addr - HEAP) / PAGE;
		t->gone = !(state[page] & GONE);
		t->weight = large[page] && state[page] & OURS ?
			    (uint16_t)(1u << level) : 1;
		state[page] = 0;
	}
	free(there);
	free(large);
	free(state);
}

/* When an interval begins, from the first one's begin on. */
static inline uint64_t interval_at(uint32_t k)
{
	uint64_t at = k;

	if (long_from && k > long_from)
		at += (uint64_t)(k - long_from) * (long_times - 1);
	return at * INTERVAL_NS;
}

/* One chunk per task and interval, of at most 65,536. */
static inline void write_touches(struct moca_writer *w)
{
	static struct moca_access a[65536];
	uint64_t start = first_ns ? first_ns : clock_ns + 1000;
	struct moca_chunk_info info;
	uint32_t task, k;
	size_t i, n, from;

	for (task = 0; task < told_count; task++)
		for (from = 0, k = 0; k <= interval; k++) {
			n = 0;
			for (i = from; i < touch_count &&
				       touches[i].interval <= k; i++) {
				if (touches[i].task != task ||
				    touches[i].interval != k ||
				    touches[i].gone)
					continue;
				if (n == 65536)
					abort();
				a[n++] = (struct moca_access){
					.addr = touches[i].addr,
					.ip = ip_of ? ip_of(&touches[i]) :
						      CODE + 16 * task,
					.time_ns = start + interval_at(k) +
						   50 * i % INTERVAL_NS,
					.type = touches[i].type,
					.stack = stack_of ?
						stack_of(&touches[i]) : 0,
					.weight = touches[i].weight,
					.cpu = (uint16_t)(stays ? (task + k / stays) % 2 :
								  task),
					.node = (int16_t)(i % 10 < unknown_of_10 ?
						MOCA_NODE_UNKNOWN : recorded_node),
				};
				/* In order, whatever the number of touches. */
				a[n - 1].time_ns = start + interval_at(k) +
						   20 * (i - from);
			}
			from = i;
			if (!n)
				continue;
			info = (struct moca_chunk_info){
				.task = task, .interval = k,
				.begin_ns = a[0].time_ns,
				.end_ns = a[n - 1].time_ns,
			};
			if (moca_writer_accesses(w, &info, a, n))
				abort();
		}
}

static int via_kernel;
/* In the metadata; 0: neither is there. */
static unsigned sample_core, sample_level;
/* Further metadata, and further files of the directory. */
static void (*put_more)(struct moca_meta *m);
static void (*put_files)(void);

static inline void put_times(void)
{
	struct moca_meta *m = moca_meta_new();
	uint64_t begin_ns = first_ns ? first_ns : clock_ns;

	if (!m || moca_meta_set(m, "state", "complete") ||
	    moca_meta_set(m, "cpus", "2") ||
	    (via_kernel && moca_meta_set(m, "via", "kernel")) ||
	    (sample_core && moca_meta_set(m, "sample_core", "%u", sample_core)) ||
	    (sample_level &&
	     moca_meta_set(m, "sample.levels", "0 2 %u 9", sample_level)) ||
	    moca_meta_set(m, "start_ns", "%llu",
			  (unsigned long long)begin_ns) ||
	    moca_meta_set(m, "intervals", "%u", interval + 1) ||
	    moca_meta_set(m, "end_ns", "%llu",
			  (unsigned long long)(begin_ns + 2000 +
					       interval_at(interval + 1))))
		abort();
	if (put_more)
		put_more(m);
	if (moca_meta_write(m, dirfd_))
		abort();
	moca_meta_free(m);
}

static inline void done(void)
{
	moca_phases_free(&phases);
	moca_advice_free(advice);
	moca_profile_free(profile);
	moca_trace_close(trace);
	advice = NULL;
	profile = NULL;
	trace = NULL;
}

/* CPU 0 on node 0, CPU 1 on node 4. */
static const uint32_t distances[2][2] = { { 10, 20 }, { 20, 10 } };
static const int32_t node_of_cpu[] = { 0, 4 };
static const struct moca_machine_node nodes[] = {
	{ .id = 0, .distances = distances[0] },
	{ .id = 4, .distances = distances[1] },
};
static const struct moca_machine two_nodes = {
	.node_count = 2, .nodes = nodes, .cpu_count = 2,
	.node_of_cpu = node_of_cpu,
};

static const struct moca_machine alone = {
	.node_count = 1, .nodes = nodes, .cpu_count = 1,
	.node_of_cpu = node_of_cpu,
};

/* What hwloc says of that machine; NULL: nothing. */
static const char *with_xml;

/*
 * Write the trace, and look at it; machine: NULL = the trace has two_nodes, "one" =
 * that of one node. 0, or 1 when that fails.
 */
static inline int look(const char *machine)
{
	struct moca_event_writer *mw;
	struct moca_topology topology;
	int one = machine && !strcmp(machine, "one");
	struct moca_machine is = one ? alone : two_nodes;
	struct moca_writer *w;
	uint32_t i;

	machine = one ? NULL : machine;
	is.xml = with_xml;
	is.xml_len = with_xml ? strlen(with_xml) : 0;
	done();
	dir_new();
	put_times();
	if (moca_writer_create(&w, dirfd_) ||
	    moca_event_writer_create(&mw, dirfd_))
		abort();
	put_types(mw);
	if (stack_count && moca_writer_stacks(w, 1, stacks, stack_count))
		abort();
	for (i = 0; i < told_count; i++)
		write_told(w, mw, i);
	write_touches(w);
	moca_writer_destroy(w);
	moca_event_writer_destroy(mw);
	if (put_files)
		put_files();
	if (!machine && moca_machine_write(dirfd_, &is, 0))
		abort();
	return moca_trace_open(&trace, dir) ||
	       (machine && moca_topology_parse(&topology, machine, trace)) ||
	       moca_profile_compute(&profile, trace,
				    machine ? &topology : NULL) ||
	       moca_phases_compute(&phases, profile, -1) ||
	       moca_advice_compute(&advice, trace, profile);
}

/* The object at HEAP: it has most accesses. */
static const struct moca_profile_object *object(void)
{
	return &profile->rows[0];
}

static inline double remote(enum moca_policy p)
{
	return (double)object()->remote[p] / object()->accesses;
}

static inline int near(double x, double y)
{
	return fabs(x - y) < 0.02;
}

static inline int only(enum moca_finding_kind kind)
{
	return advice->count == 1 && advice->findings[0].kind == kind &&
	       advice->findings[0].object == object();
}

static inline const struct moca_check *check(enum moca_finding_kind kind)
{
	size_t i;

	for (i = 0; i < advice->check_count; i++)
		if (advice->checks[i].kind == kind)
			return &advice->checks[i];
	return NULL;
}

/* In how many lines of what the first finding says to try. */
static inline int tries(const char *what)
{
	char *const *line;
	int n = 0;

	for (line = advice->findings[0].try_; *line; line++)
		n += strstr(*line, what) != NULL;
	return n;
}

/* Has one of the lines of a finding this text? */
static inline int has_line(char *const *lines, const char *text)
{
	int i;

	for (i = 0; i < MOCA_FINDING_LINES && lines[i]; i++)
		if (strstr(lines[i], text))
			return 1;
	return 0;
}

/* Three quarters are of thread 1; thread 0 rests meanwhile. Recording has begun. */
static inline void unequal_parts_written(void)
{
	unsigned i;

	for (i = 0; i < 20; i++) {
		sweep(0, 0, BIG / 8, MOCA_ACCESS_WRITE);
		sweep(1, BIG / 8, BIG / 2, MOCA_ACCESS_WRITE);
		next();
		sweep(1, BIG / 2, BIG, MOCA_ACCESS_WRITE);
		next();
	}
}

/* The first finding of that kind; NULL: none. */
static inline const struct moca_finding *finding(enum moca_finding_kind kind)
{
	size_t i;

	for (i = 0; i < advice->count; i++)
		if (advice->findings[i].kind == kind)
			return &advice->findings[i];
	return NULL;
}

static inline int noted(const char *text)
{
	size_t i;

	for (i = 0; i < advice->note_count; i++)
		if (strstr(advice->notes[i], text))
			return 1;
	return 0;
}

/* Threads sweep their own halves, for so many intervals. */
static inline void halves(unsigned intervals, int type)
{
	unsigned i;

	for (i = 0; i < intervals; i++) {
		next();
		sweep(0, 0, BIG / 2, type);
		sweep(1, BIG / 2, BIG, type);
	}
}

#endif
