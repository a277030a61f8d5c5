// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An access is to memory that its process had mapped at that time, or of which the
 * mapping is told later: a recorder tells the mappings of a program when it has
 * looked at them, and what a call maps when the call returns; until then the
 * kernel, and what recording makes the program execute, may have touched it. A
 * main thread's stack grows below what was told.
 */
#include <inttypes.h>

#include "analysis/check/rules.h"

/* Mappings looked at for accesses outside of mappings, in all: a hostile trace
 * may have many of both. */
#define STEPS_MAX (100ull << 20)

/* The first mapping of a process that begins after that time. */
static size_t first_after(const struct moca_mapping *maps, size_t count,
			  uint32_t pid, uint64_t time_ns)
{
	size_t low = 0, high = count, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (maps[mid].pid < pid || (maps[mid].pid == pid &&
					    maps[mid].begin_ns <= time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int within_budget(struct meaning *m)
{
	if (m->steps++ < STEPS_MAX)
		return 1;
	meaning_skip(m, RULE_MAPPING, "not all accesses outside of mappings were compared with stacks that grow and mappings that come: there are too many");
	return 0;
}

/* A program that is left alone has records and no mappings. */
static int has_mappings(struct meaning *m, uint32_t pid)
{
	const struct moca_mapping *maps;
	size_t i, count;

	if (moca_trace_mappings(m->t, &maps, &count))
		return 0;
	i = first_after(maps, count, pid, 0);
	return i < count && maps[i].pid == pid;
}

/* Below the process's stack, and above all else that it has there. */
static int is_grown_stack(struct meaning *m, uint32_t pid,
			  const struct moca_access *a)
{
	const struct moca_mapping *maps, *above = NULL, *map;
	size_t i, count;

	if (moca_trace_mappings(m->t, &maps, &count))
		return 0;
	for (i = first_after(maps, count, pid, 0); i < count; i++) {
		map = &maps[i];
		if (map->pid != pid || map->begin_ns > a->time_ns)
			break;
		if (!within_budget(m))
			return 1;
		if ((!map->end_ns || map->end_ns > a->time_ns) &&
		    map->addr > a->addr && (!above || map->addr < above->addr))
			above = map;
	}
	return above && above->flags & MOCA_MAP_STACK;
}

static int is_told_later(struct meaning *m, uint32_t pid,
			 const struct moca_access *a)
{
	const struct moca_mapping *maps;
	size_t i, count;

	if (moca_trace_mappings(m->t, &maps, &count))
		return 0;
	for (i = first_after(maps, count, pid, a->time_ns);
	     i < count && maps[i].pid == pid; i++) {
		if (a->addr - maps[i].addr < maps[i].len)
			return 1;
		if (!within_budget(m))
			return 1;
	}
	return 0;
}

/* The kernel's half has no mappings of the process: [vsyscall]. */
static int is_kernels(uint64_t addr)
{
	return addr > INT64_MAX;
}

static int holds(const struct moca_mapping *map, const struct moca_access *a)
{
	return map && a->addr - map->addr < map->len &&
	       a->time_ns >= map->begin_ns &&
	       (!map->end_ns || a->time_ns < map->end_ns);
}

void mapping_chunk(struct meaning *m, const struct moca_chunk *c,
		   const struct moca_task *task)
{
	const struct moca_mapping *map = NULL;
	const struct moca_access *a;
	char file[64];
	size_t i;

	for (i = 0; i < c->count; i++) {
		a = &c->accesses[i];
		if (holds(map, a) || is_kernels(a->addr))
			continue;
		map = moca_trace_find_mapping(m->t, task->pid, a->addr,
					      a->time_ns);
		if (map || !has_mappings(m, task->pid) ||
		    is_told_later(m, task->pid, a) ||
		    is_grown_stack(m, task->pid, a))
			continue;
		meaning_wrong(m, RULE_MAPPING, "%s, chunk %" PRIu64 ", record %zu: the access to %#" PRIx64 " is to no mapping of process %" PRIu32,
			      meaning_file(c->task, file, sizeof(file)),
			      c->number, i, a->addr, task->pid);
	}
}
