// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "collect/run/recorder.h"
#include "lib/format/meta.h"

static const struct {
	const char *key, *label;
} names[COST_KINDS] = {
	[COST_START] = { "start", "start-up" },
	[COST_EXEC] = { "exec", "programs executed" },
	[COST_MEMORY] = { "memory", "stops for memory calls" },
	[COST_THREAD] = { "thread", "stops for new threads" },
	[COST_FORK] = { "fork", "stops for forks" },
	[COST_EXIT] = { "exit", "ends of tasks" },
	[COST_SIGNAL] = { "signal", "stops for signals" },
	[COST_CALL] = { "call", "stops at system calls" },
	[COST_STOP] = { "stop", "other stops" },
	[COST_REPEATED] = { "repeated", "repeated faults" },
	[COST_TOUCH] = { "touch", "dearer first touches" },
	[COST_FREE] = { "free", "ranges of memory given back" },
	[COST_COPIED] = { "copied", "first touches of copied pages" },
	[COST_AGAIN] = { "again", "writes after reads" },
	[COST_SWITCH] = { "switch", "switches of tasks" },
	[COST_BUSY] = { "busy", "faults' waits for a CPU that others used" },
	[COST_TRANSLATE] = { "translate", "pieces of code translated" },
	[COST_COUNT] = { "counting", "loads and stores counted, at least" },
	[COST_LOOP] = { "loops", "accesses in loops, at least" },
	[COST_STRING] = { "strings", "accesses of strings, at least" },
	[COST_HELP] = { "helped", "calls to count, at least" },
	[COST_LOOKUP] = { "lookup", "jumps looked up, at least" },
	[COST_COUNTED] = { "counted", "counting, by samples of CPU time" },
	[COST_SAMPLE] = { "sample", "samples of CPU time" },
	[COST_ALLOC] = { "alloc", "calls of allocators" },
	[COST_SWEEP] = { "sweep", "sweeps" },
	[COST_RATE] = { "rate", "the sampler of faults and CPU time" },
	[COST_EVENTS] = { "events", "the collector of events" },
	[COST_RECORDER] = { "recorder", "the collector of accesses" },
	[COST_WRITE] = { "write", "chunks written" },
	[COST_END] = { "end", "the end of the recording" },
};

const char *cost_key(enum cost_kind kind)
{
	return names[kind].key;
}

const char *cost_label(enum cost_kind kind)
{
	return names[kind].label;
}

void cost_begin(struct costs *c, uint64_t ns)
{
	for (int k = COST_START; k <= COST_STOP; k++) {
		atomic_store(&c->kind[k].count, 0);
		atomic_store(&c->kind[k].ns, 0);
	}
	atomic_store(&c->kind[COST_FREE].count, 0);
	atomic_store(&c->kind[COST_FREE].ns, 0);
	atomic_store(&c->busiest_ns, 0);
	cost_add(c, COST_START, 1, ns);
}

void cost_describe(const struct costs *c, struct moca_meta *m)
{
	unsigned long total = 0;
	char key[64];

	for (int k = 0; k < COST_KINDS; k++) {
		unsigned long count = atomic_load(&c->kind[k].count);
		unsigned long ns = atomic_load(&c->kind[k].ns);

		if (!count && !ns)
			continue;
		snprintf(key, sizeof(key), "cost.%s.count", names[k].key);
		moca_meta_set(m, key, "%lu", count);
		snprintf(key, sizeof(key), "cost.%s.ns", names[k].key);
		moca_meta_set(m, key, "%lu", ns);
		total += ns;
	}
	moca_meta_set(m, "cost.total_ns", "%lu", total);
}

static int is_beside(int kind)
{
	return kind == COST_SWEEP || kind == COST_RATE || kind == COST_EVENTS ||
	       kind == COST_RECORDER || kind == COST_WRITE;
}

enum cost_kind cost_culprit(const struct costs *c, int crowded)
{
	enum cost_kind most = COST_KINDS;
	unsigned long ns = 0;

	for (int k = 0; k < COST_KINDS; k++)
		if (atomic_load(&c->kind[k].ns) > ns &&
		    (crowded || !is_beside(k))) {
			ns = atomic_load(&c->kind[k].ns);
			most = k;
		}
	return most;
}

/* 12,480 */
static void group_digits(unsigned long n, char *buf, size_t size)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%lu", n);
	size_t at = 0;

	for (int i = 0; i < len && at + 2 < size; i++) {
		if (i && (len - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = 0;
}

void cost_phrase(const struct costs *c, enum cost_kind kind, char *buf,
		 size_t size)
{
	char n[32];

	switch (kind) {
	case COST_START:
	case COST_RATE:
	case COST_EVENTS:
	case COST_RECORDER:
	case COST_COUNTED:
	case COST_END:
	case COST_KINDS:
		snprintf(buf, size, "%s", kind == COST_KINDS ? "nothing" :
						  names[kind].label);
		return;
	case COST_BUSY:
		group_digits(atomic_load(&c->kind[kind].count), n, sizeof(n));
		snprintf(buf, size, "waits for a CPU, which others used, at %s faults", n);
		return;
	default:
		group_digits(atomic_load(&c->kind[kind].count), n, sizeof(n));
		snprintf(buf, size, "%s %s", n, names[kind].label);
	}
}

uint64_t cost_reaped_cpu_ns(void)
{
	struct rusage ru;

	if (getrusage(RUSAGE_CHILDREN, &ru))
		return 0;
	return (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000000ull +
	       (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000ull;
}

void cost_reaped_parts(double *user, double *system)
{
	struct rusage ru;

	if (getrusage(RUSAGE_CHILDREN, &ru))
		return;
	*user = (double)ru.ru_utime.tv_sec * 1e9 + (double)ru.ru_utime.tv_usec * 1e3;
	*system = (double)ru.ru_stime.tv_sec * 1e9 +
		  (double)ru.ru_stime.tv_usec * 1e3;
}

uint64_t cost_reaped_switches(void)
{
	struct rusage ru;

	if (getrusage(RUSAGE_CHILDREN, &ru))
		return 0;
	return (uint64_t)ru.ru_nvcsw + (uint64_t)ru.ru_nivcsw;
}
